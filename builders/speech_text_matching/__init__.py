"""Speech–text matching: does the speech say this sentence? A task that a transcript solves.

python -m builders.speech_text_matching build --help
"""

TASK = "speech_text_matching"
MATCH, NO_MATCH = LABELS = ("match", "no match")
