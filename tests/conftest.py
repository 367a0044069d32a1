"""Property tests are not timed: a loaded machine is slow, not wrong."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
