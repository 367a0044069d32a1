"""A Qwen2-Audio of some hundred thousand random weights that reads bytes.

It has every part that the published one has (tower, projector, decoder, chat template, processor)
and none of its weights, so that whatever is run with it is run as with a real one, on one core.
"""

from dataclasses import dataclass
from typing import Any

import tokenizers
import torch
import transformers
from tokenizers.pre_tokenizers import ByteLevel

from otoscope.errors import InvalidValue

MAX_TOKENS = 2048
N_FFT = 400
END, PAD, START = "<|im_end|>", "<|endoftext|>", "<|im_start|>"
SOUND, SOUND_BEGINS, SOUND_ENDS = "<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>"


@dataclass(frozen=True)
class Shape:
    """How large the model is.

    Attributes:
        width: Of every layer, in tower and decoder.
        n_encoder_layers, n_decoder_layers, n_heads: As they say.
        n_mels: Bands that it hears.
        hop: Samples at 16 kHz from one frame to the next.
        window_s: The longest clip; whole seconds.
        spread: Standard deviation of first weights. Published models have 0.02; at this width
            nothing would be learnt from that for hundreds of steps.

    Raises:
        ValueError: Parts that do not fit together.
    """

    width: int = 64
    n_encoder_layers: int = 2
    n_decoder_layers: int = 4
    n_heads: int = 4
    n_mels: int = 32
    hop: int = 320
    window_s: int = 8
    spread: float = 0.2

    def __post_init__(self) -> None:
        if self.width % (2 * self.n_heads) or self.width < 8:
            raise InvalidValue(
                f"width {self.width} is not a multiple of twice {self.n_heads} heads, or below 8"
            )
        if self.n_frames % 2:
            raise InvalidValue(
                f"{self.window_s} s in steps of {self.hop} samples are no even number"
            )

    @property
    def n_frames(self) -> int:
        """Frames of the longest clip."""
        return self.window_s * 16_000 // self.hop


def tiny_audio_model(shape: Shape, seed: int) -> tuple[Any, Any]:
    """Model and processor; the same seed gives the same weights."""
    words = byte_tokenizer()
    config = transformers.Qwen2AudioConfig(
        audio_config={
            "model_type": "qwen2_audio_encoder",
            "d_model": shape.width,
            "encoder_layers": shape.n_encoder_layers,
            "encoder_attention_heads": shape.n_heads,
            "encoder_ffn_dim": 2 * shape.width,
            "num_mel_bins": shape.n_mels,
            "max_source_positions": shape.n_frames // 2,
            "initializer_range": shape.spread,
        },
        text_config={
            "model_type": "qwen2",
            "vocab_size": len(words),
            "hidden_size": shape.width,
            "intermediate_size": 2 * shape.width,
            "num_hidden_layers": shape.n_decoder_layers,
            "num_attention_heads": shape.n_heads,
            "num_key_value_heads": shape.n_heads // 2,
            "head_dim": shape.width // shape.n_heads,
            "max_position_embeddings": MAX_TOKENS,
            "initializer_range": shape.spread,
        },
        audio_token_index=words.convert_tokens_to_ids(SOUND),
    )
    extractor = transformers.WhisperFeatureExtractor(
        feature_size=shape.n_mels, chunk_length=shape.window_s, hop_length=shape.hop, n_fft=N_FFT
    )
    torch.manual_seed(seed)
    model = transformers.Qwen2AudioForConditionalGeneration(config)
    places = model.model.audio_tower.embed_positions.weight
    with torch.no_grad():  # published towers have these; a new one has noise that is never trained
        places.copy_(sinusoids(*places.shape))
    return model, transformers.Qwen2AudioProcessor(extractor, words)


def byte_tokenizer() -> Any:
    """One token a byte, and the special ones of Qwen2-Audio."""
    letters = sorted(ByteLevel.alphabet())
    inner = tokenizers.Tokenizer(
        tokenizers.models.BPE(vocab={letter: n for n, letter in enumerate(letters)}, merges=[])
    )
    inner.pre_tokenizer = ByteLevel(add_prefix_space=False)
    inner.decoder = tokenizers.decoders.ByteLevel()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        eos_token=END,
        pad_token=PAD,
        additional_special_tokens=[START, SOUND, SOUND_BEGINS, SOUND_ENDS],
    )


def sinusoids(n_places: int, width: int) -> torch.Tensor:
    """Sines and cosines of wave lengths from 2 pi to 20,000 pi, `(n_places, width)`."""
    half = width // 2
    turns = torch.exp(-torch.log(torch.tensor(1e4)) / (half - 1) * torch.arange(half))
    angles = torch.arange(n_places)[:, None] * turns
    return torch.cat([angles.sin(), angles.cos()], dim=1)
