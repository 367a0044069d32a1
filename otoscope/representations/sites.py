"""Names of places in a model, and how a list of them is written: `mel,pre_llm,text.*`.

    mel            the clip's mel spectrogram: what is in the sound, whatever the model
    pre_llm        what enters the decoder for the clip
    audio.K        hidden state K where the clip is
    text.K         hidden state K where the answer is predicted
    answer         the states that predict each token of the gold answer
    audio.K@a1     hidden state K at the end of the clip's first quarter; up to a4
    text.K@q_attr  hidden state K at the attribute's last token; q_p and q_l are the question's
                   last but one and last token

Hidden state 0 is what enters the decoder, the last one is what enters the head. `mel`, `pre_llm`
and `audio.K` are means over 16 segments one after the other, the others are single states.

Source: VocalGrad, 5.1 and appendix D; positions in table 19.
"""

import difflib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from otoscope.errors import InputError

AUDIO_POSITIONS = ("a1", "a2", "a3", "a4")
QUERY_POSITIONS = ("q_attr", "q_p", "q_l")
OUTPUT_POSITION = "o"


class UnknownSite(InputError, LookupError):
    """A name that fits no site; the message says which there are."""


class Site(NamedTuple):
    """A place in a model.

    Attributes:
        kind: `mel`, `pre_llm`, `audio`, `text`, `answer`, or a name that a model of one's own has.
        layer: Number of the hidden state, counted from 0 = what enters the decoder; None where the
            kind has none.
        position: Where in the sequence, or None for the kind's own: segments of the clip, or the
            place where the answer is predicted.
    """

    kind: str
    layer: int | None = None
    position: str | None = None

    def __str__(self) -> str:
        layer = "" if self.layer is None else f".{self.layer}"
        return f"{self.kind}{layer}" + (f"@{self.position}" if self.position else "")


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
    """Every site of a decoder with so many layers.

    >>> site_names(1)[:6]
    ['mel', 'pre_llm', 'audio.0', 'audio.1', 'text.0', 'text.1']
    """
    layers = range(n_layers + 1)
    states = [Site(kind, k) for kind in ("audio", "text") for k in layers]
    audio = [Site("audio", k, position) for k in layers for position in AUDIO_POSITIONS]
    text = [Site("text", k, position) for k in layers for position in QUERY_POSITIONS]
    sites = [Site("mel"), Site("pre_llm"), *states, Site("answer"), *audio, *text]
    return [str(site) for site in sites]


def parse_sites(requested: str, names: Sequence[str]) -> list[str]:
    """The requested sites, each once, in the order of `names`.

    Args:
        requested: Names with commas between them. `*` stands for anything before or behind `@`,
            `last` for the last layer, `@o` for the position where the answer is predicted,
            which is what `text.K` means without it.
        names: Sites that exist, as from `site_names`.

    Raises:
        UnknownSite: One fits nothing.

    >>> names = site_names(2)
    >>> parse_sites("text.*, mel, audio.last", names)
    ['mel', 'audio.2', 'text.0', 'text.1', 'text.2']
    >>> parse_sites("text.last@q_*, text.1@o", names)
    ['text.1', 'text.2@q_attr', 'text.2@q_p', 'text.2@q_l']
    """
    wanted: set[str] = set()
    for part in requested.split(","):
        found = _fitting(part.strip(), names)
        if not found:
            raise UnknownSite(_unknown(part.strip(), names))
        wanted.update(found)
    return [name for name in names if name in wanted]


def _fitting(pattern: str, names: Sequence[str]) -> list[str]:
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
