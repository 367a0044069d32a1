"""Five emotions of speech (English ESD)."""

from otoscope.prompts.tasks.base import ClosedSetTask

ESD = ClosedSetTask(
    "Which emotion does the voice of the speaker in this audio clip convey?",
    {
        "anger": "angry", "happiness": "happy", "joy": "happy", "sadness": "sad",
        "surprise": "surprised",
    },
    ("angry", "happy", "neutral", "sad", "surprised"),
)  # fmt: skip
