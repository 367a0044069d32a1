"""Does the speech say a given sentence?"""

from otoscope.prompts.tasks.base import ClosedSetTask

SPEECH_TEXT_MATCHING = ClosedSetTask(
    "Compare the speech in this audio clip with this sentence: \"{text}\" Does the sentence match "
    "what is said, word for word?",
    {
        "yes": "match", "matches": "match", "matching": "match", "matched": "match",
        "no": "no match", "mismatch": "no match", "not match": "no match",
        "does not match": "no match", "do not match": "no match", "not a match": "no match",
        "does not": "no match", "doesn't match": "no match", "doesn't": "no match",
    },
    ("match", "no match"),
)  # fmt: skip
