"""Any other set of labels."""

from otoscope.prompts.tasks.base import ClosedSetTask

GENERIC = ClosedSetTask("Which of these labels describes what is heard in this audio clip?")
