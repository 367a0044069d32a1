"""A chat server on the loopback whose failures a test chooses, and requests to send to it."""

import base64
import io
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import soundfile

from otoscope.models.base import AudioInput, Request
from otoscope.models.openai_server import open_openai
from otoscope.models.retrying import ON_ERROR
from otoscope.prompts.parts import Clip, Question, Text

PROMPT = "Does the volume increase or decrease over time?"
LONGEST_HANG_S = 5.0


def completion(text="increase", *, finish="stop", usage=(120, 3, 100), **message):
    """A chat completion as servers send it."""
    n_in, n_out, n_audio = usage
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "tiny-lalm-2026",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": text, **message},
            }
        ],
        "usage": {
            "prompt_tokens": n_in,
            "completion_tokens": n_out,
            "total_tokens": n_in + n_out,
            "prompt_tokens_details": {"audio_tokens": n_audio},
        },
    }


class Reply:
    """What the server does with one request."""

    def __init__(self, body=None, status=200, headers=None, *, hang=False, cut=False, drip=False,
                 raw=None):  # fmt: skip
        self.data = raw if raw is not None else json.dumps(body or completion()).encode()
        self.status, self.headers = status, headers or {}
        self.hang, self.cut, self.drip = hang, cut, drip


def failure(status, message="something broke", code=None, **headers):
    return Reply({"error": {"message": message, "code": code, "type": "x"}}, status, headers)


class ChatServer:
    """Answers as `reply_to(n, body, headers)` says, n counting requests from 0."""

    def __init__(self, reply_to=lambda n, body, headers: Reply(), latency_s=0.0):
        self.reply_to, self.latency_s = reply_to, latency_s
        self.bodies, self.headers, self.paths, self.started = [], [], [], []
        self.n_now = self.most_at_once = 0
        self.busy_s = 0.0
        self.lock, self.over = threading.Lock(), threading.Event()

    def __enter__(self):
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                outer.handle(self)

            def log_message(self, *args):
                pass

        class Quiet(ThreadingHTTPServer):
            request_queue_size = 128

            def handle_error(self, request, client_address):
                pass  # clients that hang up are part of some tests

        self.http = Quiet(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.02,))
        self.thread.start()
        self.base_url = f"http://127.0.0.1:{self.http.server_port}/v1"
        return self

    def __exit__(self, *_):
        self.over.set()
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()

    def handle(self, request):
        headers = {name.title(): value for name, value in request.headers.items()}
        body = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        began = time.monotonic()
        with self.lock:
            n = len(self.bodies)
            self.bodies.append(body)
            self.headers.append(headers)
            self.paths.append(request.path)
            self.started.append(began)
            self.n_now += 1
            self.most_at_once = max(self.most_at_once, self.n_now)
        try:
            reply = self.reply_to(n, body, headers)
            self.over.wait(LONGEST_HANG_S if reply.hang else self.latency_s)
        finally:
            with self.lock:
                self.n_now -= 1
                self.busy_s += time.monotonic() - began
        if reply.hang:
            request.close_connection = True
            return
        request.send_response(reply.status)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(reply.data)))
        for name, value in reply.headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.end_headers()
        if reply.cut:
            request.wfile.write(reply.data[: len(reply.data) // 2])
            request.close_connection = True
        elif reply.drip:
            for byte in reply.data[: int(LONGEST_HANG_S / 0.1)]:
                request.wfile.write(bytes([byte]))
                if self.over.wait(0.1):
                    break
            request.close_connection = True
        else:
            request.wfile.write(reply.data)


def sent_parts(body):
    """What a request holds: texts as they are, clips as (PCM, rate)."""
    parts = []
    for part in body["messages"][0]["content"]:
        if part["type"] == "text":
            parts.append(part["text"])
        else:
            data = base64.b64decode(part["input_audio"]["data"])
            parts.append(soundfile.read(io.BytesIO(data), dtype="int16"))
    return parts


def audio_input(clip="a", *, rate=16_000, n=1600, seed=0, **more):
    """Noise whose samples are 16-bit numbers."""
    pcm = np.random.default_rng(seed).integers(-9000, 9000, n)
    return AudioInput(clip, (pcm / 32768).astype(np.float32), rate, f"sha-{clip}", **more)


def request_about(clip="a", *parts, prompt_name="main", labels=("increase", "decrease"), **more):
    """A question about one clip, or made of the parts given."""
    parts = parts or (Text(PROMPT), audio_input(clip))
    known = {"category": "volume", "attribute": "volume", "label": "increase", "parser": "paper"}
    question = Question(
        question_id=f"{clip}|{prompt_name}",
        id=clip,
        prompt_name=prompt_name,
        parts=tuple(Clip(part.id) if isinstance(part, AudioInput) else part for part in parts),
        labels=labels,
        **(known | more),
    )
    return Request(question, parts)


def opened(server, **options):
    quick = {"backoff_s": 0.01, "max_retries": 2, "timeout_s": 5.0}
    return open_openai("tiny-lalm", base_url=server.base_url, **(quick | options))


def one_answer(reply_to, question=None, *, after_success=True, retry=ON_ERROR, **options):
    """The answer to one question, from a server that has answered before."""
    with ChatServer(reply_to) as server:
        model = opened(server, **options).with_retry(retry)
        if after_success:
            model.server_models.add("tiny-lalm-2026")
        (answer,) = model.answer([question or request_about()])
    return answer, server


def always(reply):
    return lambda n, body, headers: reply


def in_turn(*replies):
    return lambda n, body, headers: replies[min(n, len(replies) - 1)]
