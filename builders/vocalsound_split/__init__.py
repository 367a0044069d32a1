"""Six human vocal sounds: Dynamic-SUPERB's 720 rows of VocalSound, and fresh hold-out clips.

python -m builders.vocalsound_split build --help
"""

from otoscope.prompts.tasks import TASKS

TASK = "vocalsound"
LABELS = TASKS[TASK].labels
