"""Speech recognition: clips in, words out, with how sure the recogniser was.

    recognizer = open_recognizer("whisper-tiny.en")
    recognizer.transcribe([clip], words=True)[0].text

To add a recogniser: write a class with the methods of `Recognizer` in a file of its own and a
function that opens it, then name that below.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from otoscope.models.base import AudioInput
from otoscope.models.opening import parse_spec
from otoscope.registry import Registry, imported
from otoscope.speech.base import SpeechError

RECOGNIZERS: Registry[str] = Registry(
    "recogniser",
    {
        "whisper-tiny.en": "otoscope.speech.whisper_opening:open_whisper_tiny_en",
        "transformers": "otoscope.speech.whisper_opening:open_pretrained_whisper",
    },
)
"""What stands before the colon of `--recognizer` to the function that opens it."""


class Word(NamedTuple):
    """A recognised word and when it is spoken, in seconds from the clip's beginning."""

    text: str
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Transcript:
    """What was recognised in one clip.

    Attributes:
        text: Without space around it; empty where the recogniser's own rule says silence.
        raw_text: As generated, also then.
        avg_logprob: Mean log-probability of a token in nats, the end-of-text token included; at
            most 0.
        no_speech_prob: Within 0 to 1; of a clip of several windows their mean.
        compression_ratio: Bytes of `raw_text` over those of its zlib compression; speech is below
            2.4, loops are above.
        flags: Which of Whisper's thresholds it crossed: `no_speech`, `low_logprob`, `repetitive`;
            `truncated` where it reached the limit on tokens.
        n_tokens: Generated, end-of-text included.
        language: Its code, such as `en`.
        duration_s: Of the clip.
        wall_s: Seconds that recognition took; a batch shares its time evenly.
        words: With their times, of `text`; None where they were not wanted.
    """

    text: str
    raw_text: str
    avg_logprob: float
    no_speech_prob: float
    compression_ratio: float
    flags: tuple[str, ...]
    n_tokens: int
    language: str
    duration_s: float
    wall_s: float
    words: tuple[Word, ...] | None = None

    @property
    def n_words(self) -> int:
        """Words of `text`, apart by white space."""
        return len(self.text.split())

    def as_plain(self) -> dict[str, Any]:
        """Ready for JSON."""
        words = None if self.words is None else [word._asdict() for word in self.words]
        return vars(self) | {"flags": list(self.flags), "words": words}

    @classmethod
    def from_plain(cls, stored: Mapping[str, Any]) -> "Transcript":
        """What `as_plain` gave."""
        words = stored["words"]
        return cls(
            **{
                **stored,
                "flags": tuple(stored["flags"]),
                "words": None if words is None else tuple(Word(**word) for word in words),
            }
        )


@runtime_checkable
class Recognizer(Protocol):
    """Recognises speech.

    Attributes:
        batch_size: Clips recognised at once.
        description: Everything that changes the result, ready for JSON.
        device: Where it runs, such as `cpu`.
    """

    batch_size: int
    description: Mapping[str, Any]
    device: str

    def transcribe(self, clips: Sequence[AudioInput], *, words: bool = False) -> list[Transcript]:
        """A transcript of each clip, in order; the same clips give the same transcripts.

        Args:
            clips: Of any rate and length.
            words: Whether to give the times of words.

        Raises:
            ModelError: A clip is empty, or there is too little memory for it.
        """


def open_recognizer(spec: str, **options: Any) -> Recognizer:
    """Opens the recogniser that a specification names.

    Args:
        spec: `whisper-tiny.en`, or `transformers:PATH_OR_ID@REVISION`, any Whisper.
        options: `batch_size`, `device`, `language`; None means "not given".

    Raises:
        UnknownName: No such recogniser.
        SpeechError: A part of the specification is missing or superfluous.
        ModelError: Its package or its weights cannot be used.
    """
    kind, name, revision = parse_spec(spec)
    opener = imported(RECOGNIZERS[kind])
    if kind == "transformers":
        if name is None:
            raise SpeechError(f"{spec!r} names no model: transformers:PATH_OR_ID@REVISION")
        options |= {"name": name, "revision": revision}
    elif name is not None or revision is not None:
        raise SpeechError(f"{spec!r}: {kind} is one model; leave out what follows its name")
    given = {key: value for key, value in options.items() if value is not None}
    found: Recognizer = opener(**given)
    return found
