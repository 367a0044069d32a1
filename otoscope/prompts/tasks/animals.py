"""Ten animals (ESC-50)."""

from otoscope.prompts.tasks.base import ClosedSetTask

ESC50_ANIMALS = ClosedSetTask(
    "Which animal is heard in this audio clip?",
    {
        "dogs": "dog", "dog barking": "dog", "cockerel": "rooster", "roosters": "rooster",
        "pigs": "pig", "cows": "cow", "frogs": "frog", "cats": "cat", "hens": "hen",
        "insect": "insects", "crows": "crow",
    },
    ("dog", "rooster", "pig", "cow", "frog", "cat", "hen", "insects", "sheep", "crow"),
)  # fmt: skip
