"""Cost of answers: a dated table of list prices, applied to a server's token counts.

A price holds for one host: a model of the same name on your own server has no known price. A model
that is not in the table has no price, never 0.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from otoscope.errors import short
from otoscope.models.answer_fields import INT64
from otoscope.models.base import ModelError
from otoscope.tables.files import TableError, read_table

CHARACTERS_PER_TOKEN = 4
"""Of English text, as both vendors document it; only for estimates."""

PER = 1_000_000


@dataclass(frozen=True)
class Price:
    """List prices of one model, each for a million tokens.

    Attributes:
        model: Its name in requests.
        host: Where this price holds; empty for anywhere.
        as_of: The day it was read, ISO.
        currency: ISO code.
        text_in, text_out, audio_in: None where the vendor gives none.
        audio_tokens_per_s: As documented by the vendor, or None.
        replaced_by: What to use now that this model is gone, or empty.
    """

    model: str
    host: str
    as_of: str
    currency: str
    text_in: float | None
    text_out: float | None
    audio_in: float | None
    audio_tokens_per_s: float | None
    replaced_by: str

    def cost(self, usage: Mapping[str, Any], audio_s: float) -> float | None:
        """The cost of a server's `usage`, or None where it is not known.

        Audio tokens are priced apart. Where the server does not count them apart, they are taken
        from the documented rate, if there is one. Cached tokens are priced as fresh ones.

        Args:
            usage: Of a chat completion: `prompt_tokens`, `completion_tokens`, details.
            audio_s: Seconds of audio that were sent.
        """
        n_in: Any = usage.get("prompt_tokens")
        n_out: Any = usage.get("completion_tokens")
        if not all(type(n) is int and 0 <= n < INT64 for n in (n_in, n_out)):
            return None
        if self.audio_in == self.text_in:
            return self._total(n_in, 0, n_out)
        details = usage.get("prompt_tokens_details")
        n_audio = details.get("audio_tokens") if isinstance(details, dict) else None
        if type(n_audio) is not int or n_audio < 0 or (n_audio == 0 and audio_s > 0):
            n_audio = self._audio_tokens(audio_s)
        if n_audio is None or (n_audio and self.audio_in is None):
            return None
        n_audio = min(n_audio, n_in)
        return self._total(n_in - n_audio, n_audio, n_out)

    def estimate(
        self, *, n_questions: int, audio_s: float, n_characters: int, n_tokens_out: int
    ) -> float | None:
        """Upper estimate of the cost of requests; None without a rate of audio tokens.

        Args:
            n_questions, audio_s, n_characters: In all, audio in seconds.
            n_tokens_out: The most that one answer may have.
        """
        n_audio = self._audio_tokens(audio_s)
        if n_audio is None or (n_audio and self.audio_in is None):
            return None
        return self._total(n_characters / CHARACTERS_PER_TOKEN, n_audio, n_questions * n_tokens_out)

    def _total(self, n_text: float | int, n_audio: int, n_out: int) -> float | None:
        """The cost of so many tokens; None where one of the prices is not known."""
        if self.text_in is None or self.text_out is None or (n_audio and self.audio_in is None):
            return None
        paid = n_text * self.text_in + n_audio * (self.audio_in or 0) + n_out * self.text_out
        return paid / PER

    def _audio_tokens(self, audio_s: float) -> int | None:
        if audio_s == 0:
            return 0
        return None if self.audio_tokens_per_s is None else round(audio_s * self.audio_tokens_per_s)


def read_prices(path: Path | None = None) -> list[Price]:
    """A table of prices: ours, or a CSV with the same columns (`model` at least).

    Raises:
        ModelError: The file cannot be read, or a price is no number.
    """
    with as_file(files("otoscope.models") / "data" / "prices.csv") as ours:
        try:
            columns, rows = read_table(path or ours)
        except TableError as error:
            raise ModelError(f"prices: {error}") from error
    if "model" not in columns:
        raise ModelError(f"{path}: prices need the column 'model'; it has {columns}")
    return [_price(row, where) for where, row in rows]


def price_of(model: str, host: str, prices: list[Price]) -> Price | None:
    """The latest price of a model at a host; a dated snapshot costs what its model does.

    >>> price_of("gpt-audio-2025-08-28", "api.openai.com", read_prices()).model
    'gpt-audio'
    >>> price_of("gpt-audio", "localhost", read_prices()) is None
    True
    """
    undated = re.sub(r"-\d{4}-\d{2}-\d{2}$", "", model)
    for name in (model, undated):
        known = [p for p in prices if p.model == name and p.host in ("", host)]
        if known:
            return max(known, key=lambda price: price.as_of)
    return None


def price_of_tokens(model: str, price_in: float, price_out: float) -> Price:
    """A price that somebody gives, anywhere: of a million tokens sent and generated."""
    return Price(model, "", "", "", price_in, price_out, price_in, None, "")


def _price(row: Mapping[str, Any], where: str) -> Price:
    texts: dict[str, Any] = {name: row.get(name) or "" for name in ("host", "as_of", "replaced_by")}
    numbers: dict[str, Any] = {
        name: _amount(row.get(name), f"{where}: {name}")
        for name in ("text_in", "text_out", "audio_in", "audio_tokens_per_s")
    }
    currency = row.get("currency") or "USD"
    return Price(row["model"] or "", currency=currency, **texts, **numbers)


def _amount(cell: Any, where: str) -> float | None:
    if cell is None or cell == "":
        return None
    try:
        amount = float(cell)
    except (TypeError, ValueError):
        amount = math.nan
    if not 0 <= amount < math.inf:
        raise ModelError(f"{where} is {short(repr(cell))}, which is not a price")
    return amount
