"""Questions with a right answer, as they are asked and with the clip first."""

from dataclasses import replace

from asking import ask, clip

from otoscope.models.base import Request
from otoscope.prompts import prompt_text as words


def question(i=0, *, label="increase", attribute="volume", audio_first=False, seconds=None):
    """The main question about a clip of noise; clips have other lengths."""
    sound = clip(i, seconds=seconds or 0.5 + 0.4 * i, rate=16000)
    text = words("main", attribute)
    made = ask(*((sound, text) if audio_first else (text, sound)), name=f"q{i}")
    return Request(replace(made.question, label=label, attribute=attribute), made.parts)


def questions(n=4, **given):
    """Of two attributes, so that prompts differ in length too; labels in turn."""
    return [
        question(
            i,
            label=("increase", "decrease")[i % 2],
            attribute=("volume", "audio distortion")[i // 2 % 2],
            **given,
        )
        for i in range(n)
    ]
