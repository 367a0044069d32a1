"""Answers of earlier runs, by everything that could change them."""

import hashlib
import json
import logging
import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from otoscope.audits.journal import as_plain
from otoscope.models.base import Answer, AudioInput, Request, Status
from otoscope.models.retrying import ON_ERROR, RetryPolicy
from otoscope.prompts.parts import Text

LOG = logging.getLogger(__name__)
WRITE_S = 0.2
"""Longest time before an answer is written; a lost one is still stored in its run."""


class AnswerCache:
    """A file of answers of status `ok`. It can be made again, so its errors never end a run."""

    def __init__(self, path: Path) -> None:
        self._new: dict[str, str] = {}
        self._written = time.monotonic()
        self._database: sqlite3.Connection | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, timeout=5, isolation_level=None)
            self._database.execute("PRAGMA synchronous = OFF")  # a lost cache is only slow
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT)"
            )
        except (sqlite3.Error, OSError) as error:
            self._disable(error)

    def get(self, key: str) -> Answer | None:
        """An earlier answer, or None. It costs nothing and takes no time."""
        text = self._find(key)
        if text is None:
            return None
        stored = json.loads(text)
        try:
            return Answer(**{**stored, "status": Status.OK, "wall_s": 0.0, "cost": None})
        except TypeError:  # version 0.1 stored fields of any type
            return None

    def put(self, key: str, answer: Answer) -> None:
        """Stores an answer of status `ok`."""
        if answer.status is Status.OK:
            plain = {name: value for name, value in vars(answer).items() if name != "status"}
            self._new[key] = json.dumps(plain, default=as_plain)
            if time.monotonic() - self._written > WRITE_S:
                self._write()

    def _write(self) -> None:
        """In batches: a transaction for each would cost more than the line in its run."""
        if self._new and self._database is not None:
            try:
                self._database.execute("BEGIN IMMEDIATE")
                self._database.executemany(
                    "INSERT OR REPLACE INTO answers VALUES (?, ?)", self._new.items()
                )
                self._database.execute("COMMIT")
            except sqlite3.Error as error:
                self._disable(error)
        self._new.clear()
        self._written = time.monotonic()

    def _find(self, key: str) -> str | None:
        if key in self._new or self._database is None:
            return self._new.get(key)
        try:
            rows = self._database.execute("SELECT answer FROM answers WHERE key = ?", (key,))
            return next((text for (text,) in rows), None)
        except sqlite3.Error as error:
            self._disable(error)
            return None

    def _disable(self, error: Exception) -> None:
        self._database = None
        LOG.warning("the answer cache is not used: %s", error)

    def close(self) -> None:
        """Writes what is left, and closes the file."""
        self._write()
        if self._database is not None:
            self._database.close()


def _keyed(part: Text | AudioInput) -> Any:
    if isinstance(part, AudioInput):
        return {"audio": part.sha256, "span_s": part.span_s}
    return part.text if part.role == "user" else {"text": part.text, "role": part.role}


def cache_key(
    request: Request, description: Mapping[str, Any], retry: RetryPolicy = ON_ERROR
) -> str:
    """Hash of a request, the model's description and the retries at once.

    A request is its question's id, labels, text, audio bytes and spans of clips: some models go by
    these.
    """
    parts = [_keyed(part) for part in request.parts]
    question = request.question
    about = [question.question_id, question.attribute, question.labels, parts]
    if retry.recorded:
        own_limit = [] if retry.recorded is True else [retry.recorded]
        about.append([question.parser, "second try", *own_limit])
    content = json.dumps([about, description], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()
