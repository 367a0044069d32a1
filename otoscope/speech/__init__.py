"""Speech synthesis: text and the name of a voice in, a waveform out.

To add a voice engine: write a class with the attributes of `VoiceEngine` in a file of its own, then
name it below.
"""

from otoscope.registry import Registry
from otoscope.speech.base import VoiceEngine
from otoscope.speech.kokoro import Kokoro

VOICES: Registry[type[VoiceEngine]] = Registry("voice engine", {"kokoro": Kokoro})
