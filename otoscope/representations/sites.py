"""Names of sites, places in a model whose activations are extracted: `mel,pre_llm,text.*`.

    mel            the clip's mel spectrogram, which no model has processed
    pre_llm        what enters the decoder for the clip
    audio.K        hidden state K at the clip's tokens
    text.K         hidden state K at the token that predicts the answer
    answer         the hidden states that predict each token of the gold answer
    audio.K@a1     hidden state K at the end of the clip's first quarter; up to a4
    text.K@q_attr  hidden state K at the attribute's last token; q_p and q_l are the question's
                   last but one and last token

Hidden state 0 enters the decoder, the last one enters the output layer. `mel`, `pre_llm` and
`audio.K` are means over 16 segments, concatenated; the others are single hidden states.

A new site is an entry of `SITE_KINDS`, and what it reads in `hooks.py`.

Source: VocalGrad, section 5.1; positions: appendix C.10, Tables 18 and 19.
"""

import difflib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from otoscope.errors import InputError

AUDIO_POSITIONS = ("a1", "a2", "a3", "a4")
QUERY_POSITIONS = ("q_attr", "q_p", "q_l")
OUTPUT_POSITION = "o"


class SiteKind(NamedTuple):
    """Which activations a kind of site consists of.

    Attributes:
        layers: `all` hidden states, one site each; the `first` or `last` one; or `none`, where
            nothing of the model is read.
        read: `segments` of the clip, the `position` that predicts the answer, the `targets`
            (tokens of the gold answer), or the `mel` spectrogram.
        positions: Single tokens at which the same hidden states are sites too.
    """

    layers: Literal["all", "first", "last", "none"]
    read: Literal["segments", "position", "targets", "mel"]
    positions: tuple[str, ...] = ()


SITE_KINDS = {
    "mel": SiteKind("none", "mel"),
    "pre_llm": SiteKind("first", "segments"),
    "audio": SiteKind("all", "segments", AUDIO_POSITIONS),
    "text": SiteKind("all", "position", QUERY_POSITIONS),
    "answer": SiteKind("last", "targets"),
}
"""Kind to what it reads; a user's own model may name others."""


class UnknownSite(InputError, LookupError):
    """A name that matches no site; the message lists the sites."""


class Site(NamedTuple):
    """A place in a model.

    Attributes:
        kind: A key of `SITE_KINDS`, or a name that a user's own model declares.
        layer: Number of the hidden state, from 0 = what enters the decoder; None where the kind
            has none.
        position: A token's name, or None for the kind's own reading.
    """

    kind: str
    layer: int | None = None
    position: str | None = None

    def __str__(self) -> str:
        layer = "" if self.layer is None else f".{self.layer}"
        return f"{self.kind}{layer}" + (f"@{self.position}" if self.position else "")

    def hidden_state(self, n_layers: int) -> int:
        """Number of the decoder's hidden state that a built-in site reads."""
        if self.layer is not None:
            return self.layer
        return n_layers if SITE_KINDS[self.kind].layers == "last" else 0

    @property
    def read(self) -> str:
        """How a built-in site is read, see `SiteKind`."""
        return "position" if self.position else SITE_KINDS[self.kind].read


def site_of(name: str) -> Site:
    """The site behind a full name.

    >>> site_of("text.28@q_l")
    Site(kind='text', layer=28, position='q_l')
    >>> site_of("my.own")
    Site(kind='my.own', layer=None, position=None)
    """
    place, _, position = name.partition("@")
    kind, _, layer = place.rpartition(".")
    if kind and layer.isdecimal():
        return Site(kind, int(layer), position or None)
    return Site(place, None, position or None)


def site_names(n_layers: int) -> list[str]:
    """Every built-in site of a decoder with so many layers.

    >>> site_names(1)[:6]
    ['mel', 'pre_llm', 'audio.0', 'audio.1', 'text.0', 'text.1']
    """
    own, at_positions = [], []
    for name, kind in SITE_KINDS.items():
        for layer in range(n_layers + 1) if kind.layers == "all" else (None,):
            own.append(Site(name, layer))
            at_positions += [Site(name, layer, position) for position in kind.positions]
    return [str(site) for site in own + at_positions]


def parse_sites(pattern: str, names: Sequence[str]) -> list[str]:
    """The sites that a list of names and wildcards means, each once, in the order of `names`.

    Args:
        pattern: Names with commas between them. `*` stands for anything before or behind `@`,
            `last` for the last layer, `@o` for the position that predicts the answer, which is
            what `text.K` means without it.
        names: Sites that exist, as from `site_names`.

    Raises:
        UnknownSite: A name matches none.

    >>> names = site_names(2)
    >>> parse_sites("text.*, mel, audio.last", names)
    ['mel', 'audio.2', 'text.0', 'text.1', 'text.2']
    >>> parse_sites("text.last@q_*, text.1@o", names)
    ['text.1', 'text.2@q_attr', 'text.2@q_p', 'text.2@q_l']
    """
    wanted: set[str] = set()
    for part in pattern.split(","):
        found = _matching(part.strip(), names)
        if not found:
            raise UnknownSite(_unknown(part.strip(), names))
        wanted.update(found)
    return [name for name in names if name in wanted]


def _matching(pattern: str, names: Sequence[str]) -> list[str]:
    place, _, position = pattern.partition("@")
    position = "" if position == OUTPUT_POSITION and place.startswith("text.") else position
    if place.endswith(".last"):
        kind = place.removesuffix(".last")
        layers = [s.layer for s in map(site_of, names) if s.kind == kind and s.layer is not None]
        place = f"{kind}.{max(layers, default='last')}"
    return [
        name
        for name in names
        if fnmatchcase(name.partition("@")[0], place)
        and bool(position) is ("@" in name)
        and fnmatchcase(name.partition("@")[2], position)
    ]


def _unknown(pattern: str, names: Sequence[str]) -> str:
    layers: dict[tuple[str, str | None], list[int]] = {}
    plain = []
    for site in map(site_of, names):
        if site.layer is None:
            plain.append(str(site))
        else:
            layers.setdefault((site.kind, site.position), []).append(site.layer)
    ranges = [
        f"{Site(kind, min(found), position)} … {Site(kind, max(found), position)}"
        for (kind, position), found in layers.items()
    ]
    kinds = {site_of(name).kind for name in names}
    kind = site_of(pattern).kind
    near = [] if kind in kinds else difflib.get_close_matches(kind, kinds, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"no site {pattern!r}; {hint}there are {', '.join(plain + ranges)}"
