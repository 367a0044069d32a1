"""Audio encoders: what is computed from a clip before any generative model is called.

    encoder = open_encoder("whisper-tiny.en")
    embeddings(encoder, [clip])["layer.4"]

To add an encoder: write a function `(name, revision) -> AudioEncoder` in a file here, then name it
below. Any audio encoder of transformers needs neither: `transformers:PATH_OR_ID@REV`.
"""

from otoscope.registry import Registry, imported
from otoscope.representations.encoders.base import (
    AudioEncoder as AudioEncoder,
)
from otoscope.representations.encoders.base import (
    ZeroShotEncoder as ZeroShotEncoder,
)
from otoscope.representations.encoders.base import (
    embedding_widths as embedding_widths,
)
from otoscope.representations.encoders.base import (
    embeddings as embeddings,
)

_HERE = "otoscope.representations.encoders"
ENCODERS: Registry[str] = Registry(
    "audio encoder",
    {
        "whisper-tiny.en": f"{_HERE}.whisper:open_whisper_tiny_en",
        "whisper": f"{_HERE}.whisper:open_whisper",
        "clap": f"{_HERE}.clap:open_clap",
        "ast": f"{_HERE}.spectrogram_transformer:open_ast",
        "wavlm-base-plus": f"{_HERE}.waveforms:open_wavlm",
        "transformers": f"{_HERE}.waveforms:open_transformers_encoder",
        "mfcc": f"{_HERE}.mfcc:open_mfcc",
    },
)
"""Name to `module:function`, which takes what stands behind the colon and behind `@`."""


def open_encoder(spec: str) -> AudioEncoder:
    """The encoder that `NAME[:PATH_OR_ID[@REVISION]]` stands for.

    Raises:
        UnknownName: There is no such encoder.
        ModelError: It cannot be opened; the message says why.
    """
    kind, _, rest = spec.partition(":")
    name, _, revision = rest.partition("@")
    encoder: AudioEncoder = imported(ENCODERS[kind])(name or None, revision or None)
    return encoder


def action_prefix(spec: str) -> str:
    """An encoder's name in names of actions: lower case, `_` for everything else.

    >>> action_prefix("whisper-tiny.en"), action_prefix("transformers:microsoft/wavlm-base@1a2b")
    ('whisper_tiny_en', 'wavlm_base')
    >>> action_prefix("whisper-tiny.en:6s")
    'whisper_tiny_en'
    """
    kind, _, rest = spec.partition(":")
    path = rest.partition("@")[0].rstrip("/").rpartition("/")[2]
    name = path if path and kind in ("transformers", "whisper") else kind
    return "".join(c if c.isalnum() else "_" for c in name.lower()).strip("_")
