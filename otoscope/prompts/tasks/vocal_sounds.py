"""Six human vocal sounds (VocalSound)."""

from otoscope.prompts.tasks.base import ClosedSetTask

VOCALSOUND = ClosedSetTask(
    "Which human vocal sound is heard in this audio clip?",
    {
        "laugh": "laughter", "laughing": "laughter", "laughs": "laughter",
        "sighing": "sigh", "sighs": "sigh",
        "coughing": "cough", "coughs": "cough",
        "sneezing": "sneeze", "sneezes": "sneeze",
        "sniffing": "sniff", "sniffs": "sniff", "sniffle": "sniff",
        "throatclearing": "throat clearing", "throat clear": "throat clearing",
        "clearing throat": "throat clearing", "clearing the throat": "throat clearing",
        "clearing their throat": "throat clearing",
    },
    ("laughter", "sigh", "cough", "sneeze", "sniff", "throat clearing"),
)  # fmt: skip
