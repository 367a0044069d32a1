"""A Hub of datasets on the loopback: the read endpoints of huggingface.co, in memory.

    with Hub() as hub:
        commit = hub.commit("org/name", files_of(folder))
        subprocess.run(..., env=hub.environment(tmp_path))

A process takes `HF_ENDPOINT` when it imports `huggingface_hub`, so what reads from here runs in a
process of its own. Every commit stays; `main` is the last one.
"""

import hashlib
import json
import os
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

API = re.compile(r"/api/datasets/(?P<repo>[^/]+/[^/]+)(?:/(?P<rest>.*))?")
FILE = re.compile(r"/datasets/(?P<repo>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<path>.+)")
NO_SUCH = {"repo": "RepoNotFound", "revision": "RevisionNotFound", "file": "EntryNotFound"}


def files_of(folder):
    """The files below a folder, by relative path."""
    paths = (path for path in Path(folder).rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def object_id(data):
    """The id that git gives a file of these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class Absent(Exception):
    """What is asked for is not there; the key of `NO_SUCH` says what."""


class Hub:
    """Repositories of commits; `requests` lists method and path of every call."""

    def __init__(self):
        self.repositories = {}
        self.requests = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.hub = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self):
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def commit(self, repo, files):
        """Adds a commit and returns its hash, 40 hexadecimal digits."""
        commits = self.repositories.setdefault(repo, {})
        content = json.dumps([repo, len(commits), {n: object_id(d) for n, d in files.items()}])
        commits[sha := hashlib.sha1(content.encode()).hexdigest()] = dict(files)
        return sha

    def environment(self, home):
        """Variables of a process that reads from here, with caches of its own below `home`."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGING"))}
        return kept | {
            "HF_ENDPOINT": self.url,
            "HF_HOME": str(home / "hf"),
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "OTOSCOPE_CACHE": str(home / "otoscope"),
            "NO_PROXY": "127.0.0.1",
        }

    def at(self, repo, revision):
        """The hash and the files of a commit.

        Raises:
            Absent: There is no such repository or revision.
        """
        if repo not in self.repositories:
            raise Absent("repo")
        commits = self.repositories[repo]
        sha = list(commits)[-1] if revision == "main" else revision
        if sha not in commits:
            raise Absent("revision")
        return sha, commits[sha]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def _answer(self, status, data=b"", headers=None, kind="application/json"):
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": len(data)}.items():
            if name not in (headers or {}):
                self.send_header(name, str(value))
        for name, value in (headers or {}).items():
            self.send_header(name, str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _json(self, value):
        self._answer(200, json.dumps(value).encode())

    def _handle(self):
        url = urlsplit(self.path)
        path = unquote(url.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.hub.requests.append((self.command, path))
        try:
            if match := API.fullmatch(path):
                self._api(match["repo"], match["rest"] or "", parse_qs(url.query), body)
            elif match := FILE.fullmatch(path):
                self._file(**match.groupdict())
            else:
                raise Absent("repo")
        except Absent as error:
            code = NO_SUCH[str(error)]
            headers = {"X-Error-Code": code, "X-Error-Message": code}
            self._answer(404, json.dumps({"error": code}).encode(), headers)

    do_GET = do_HEAD = do_POST = _handle

    def _api(self, repo, rest, query, body):
        kind, _, rest = (rest or "revision/main").partition("/")
        revision, _, below = rest.partition("/")
        sha, files = self.server.hub.at(repo, revision or "main")
        if kind == "revision":
            siblings = [{"rfilename": name} for name in sorted(files)]
            dates = dict.fromkeys(("lastModified", "createdAt"), "2026-01-01T00:00:00.000Z")
            facts = {"private": False, "gated": False, "disabled": False, "tags": []}
            self._json({"_id": "0", "id": repo, "sha": sha, "siblings": siblings} | dates | facts)
        elif kind == "refs":
            main = {"name": "main", "ref": "refs/heads/main", "targetCommit": sha}
            self._json({"branches": [main], "tags": [], "converts": []})
        elif kind == "tree":
            entries = _tree(files, below, query.get("recursive", ["false"])[0].lower() == "true")
            if below and not entries:
                raise Absent("file")
            self._json(entries)
        elif kind == "paths-info":
            names = (
                json.loads(body)["paths"] if body[:1] == b"{" else parse_qs(body.decode())["paths"]
            )
            self._json([e for name in names for e in _tree(files, "", True) if e["path"] == name])
        else:
            raise Absent("file")

    def _file(self, repo, revision, path):
        sha, files = self.server.hub.at(repo, revision)
        if path not in files:
            raise Absent("file")
        data = files[path]
        headers = {"X-Repo-Commit": sha, "ETag": f'"{object_id(data)}"', "Accept-Ranges": "bytes"}
        kind = "application/octet-stream"
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        if self.command == "HEAD" or not wanted:
            self._answer(200, data, headers, kind)
            return
        start, end = int(wanted[1]), min(int(wanted[2] or len(data)), len(data) - 1)
        headers["Content-Range"] = f"bytes {start}-{end}/{len(data)}"
        self._answer(206, data[start : end + 1], headers, kind)


def _tree(files, below, recursive):
    """Entries of a folder as the Hub lists them, folders before what is in them."""
    start = f"{below.rstrip('/')}/" if below else ""
    entries = {}
    for name in sorted(name for name in files if name.startswith(start)):
        parts = name.removeprefix(start).split("/")
        for depth in range(1, len(parts)):
            folder = start + "/".join(parts[:depth])
            if recursive or depth == 1:
                entries[folder] = {"type": "directory", "path": folder, "size": 0, "oid": "0" * 40}
        if recursive or len(parts) == 1:
            size, oid = len(files[name]), object_id(files[name])
            entries[name] = {"type": "file", "path": name, "size": size, "oid": oid}
    return list(entries.values())
