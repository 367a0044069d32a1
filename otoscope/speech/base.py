"""What a voice engine is."""

from collections.abc import Mapping
from typing import ClassVar, Protocol

import numpy as np
from jaxtyping import Float

from otoscope.errors import InputError


class SpeechError(InputError, RuntimeError):
    """Speech that cannot be synthesised; the message names the cause and the remedy."""


class VoiceEngine(Protocol):
    """Synthesises speech. Its libraries are imported when an instance is made, not before.

    Attributes:
        voices: Their names.
        sampling_rate_hz: Of everything it synthesises.
        packages: The packages that decide the samples, and their exact versions.
    """

    voices: ClassVar[tuple[str, ...]]
    sampling_rate_hz: ClassVar[int]
    packages: ClassVar[Mapping[str, str]]

    def __init__(self) -> None: ...

    @classmethod
    def check_packages(cls) -> None:
        """Checks the installed versions; imports none of the packages.

        Raises:
            SpeechError: One is missing or has another version.
        """

    def synthesise(
        self, text: str, voice: str, *, speed: float = 1.0
    ) -> Float[np.ndarray, " n_samples"]:
        """A text as speech, with the voice's own pauses around it.

        Args:
            text: One English sentence.
            voice: One of `voices`.
            speed: Of speaking, as a multiple of the voice's own; above 0.

        Returns:
            float32, mono, at `sampling_rate_hz`; the peak may exceed 1.

        Raises:
            SpeechError: No such voice, or a text that it cannot pronounce.
        """
