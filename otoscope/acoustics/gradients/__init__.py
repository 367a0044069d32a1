"""The nine gradients, in the order in which the benchmark was generated.

To add a gradient: write a file beside these with its `Gradient`, then name it below. Its cue, its
description and its measures are fields of it. A profile is a second function in the same file,
named in the gradient's `profiles`.
"""

from otoscope.acoustics.gradients.audio_distortion import AUDIO_DISTORTION
from otoscope.acoustics.gradients.audio_roughness import AUDIO_ROUGHNESS
from otoscope.acoustics.gradients.background_noise import BACKGROUND_NOISE
from otoscope.acoustics.gradients.base import Gradient
from otoscope.acoustics.gradients.echo import ECHO
from otoscope.acoustics.gradients.speaking_speed import SPEAKING_SPEED
from otoscope.acoustics.gradients.voice_clarity import VOICE_CLARITY
from otoscope.acoustics.gradients.voice_pitch import VOICE_PITCH
from otoscope.acoustics.gradients.voice_vibration import VOICE_VIBRATION
from otoscope.acoustics.gradients.volume import VOLUME
from otoscope.registry import Registry

GRADIENTS: Registry[Gradient] = Registry(
    "category",
    {
        "volume": VOLUME,
        "speaking_speed": SPEAKING_SPEED,
        "voice_pitch": VOICE_PITCH,
        "background_noise": BACKGROUND_NOISE,
        "audio_distortion": AUDIO_DISTORTION,
        "audio_roughness": AUDIO_ROUGHNESS,
        "voice_clarity": VOICE_CLARITY,
        "voice_vibration": VOICE_VIBRATION,
        "echo": ECHO,
    },
)


def beep_categories(profile: str) -> tuple[str, ...]:
    """The categories that a profile renders on pure tones.

    >>> beep_categories("controlled")
    ('volume', 'background_noise', 'voice_vibration')
    """
    return tuple(
        name
        for name, gradient in GRADIENTS.items()
        if (rules := gradient.profiles.get(profile)) is not None and rules.of_tones
    )


def attribute_of(category: str) -> str:
    """The words a question uses for a category.

    >>> attribute_of("audio_distortion")
    'audio distortion'
    """
    return category.replace("_", " ")
