"""Emotions of English speech (ESD), in the paper's earlier and its speaker-disjoint split.

python -m builders.esd_split build --help
"""

from otoscope.prompts.tasks import TASKS

TASK = "esd"
LABELS = TASKS[TASK].labels
