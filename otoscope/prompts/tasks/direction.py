"""Does an acoustic factor rise or fall within the clip?"""

from otoscope.prompts.tasks.base import ClosedSetTask

DIRECTION = ClosedSetTask(
    "Does the loudness, pitch, speed or other quality that changes in this audio clip decrease or "
    "increase over time?",
    {
        "decreases": "decrease", "decreasing": "decrease", "fall": "decrease", "falls": "decrease",
        "increases": "increase", "increasing": "increase", "rise": "increase", "rises": "increase",
    },
    ("decrease", "increase"),
)  # fmt: skip
