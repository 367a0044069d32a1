"""A Qwen2-Audio of some hundred thousand random weights with a byte-level tokenizer.

It has every part of the published model (tower, projector, decoder, chat template, processor) and
none of its weights, so that a whole study runs as with a real one, on one core.
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
AUDIO, AUDIO_BEGIN, AUDIO_END = "<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>"


SIZES = {
    "width": (8, 1024),
    "n_encoder_layers": (1, 32),
    "n_decoder_layers": (1, 32),
    "n_mels": (2, 128),
    "window_s": (1, 60),
}
"""Smallest and largest values; the model is trained on one core."""


@dataclass(frozen=True)
class TinyModelSize:
    """The size of the model.

    Attributes:
        width: Of every layer, in tower and decoder.
        n_encoder_layers, n_decoder_layers, n_heads: Numbers of layers and heads.
        n_mels: Mel bands of the audio input.
        hop: Samples at 16 kHz from one frame to the next.
        window_s: The longest clip; whole seconds.
        spread: Standard deviation of first weights. Published models have 0.02; at this width
            training would not progress from that for hundreds of steps.

    Raises:
        InvalidValue: Values that do not fit together.
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
        for name, (low, high) in SIZES.items():
            if not low <= getattr(self, name) <= high:
                raise InvalidValue(
                    f"{name} must be from {low} to {high}, not {getattr(self, name)}"
                )
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


def tiny_audio_model(size: TinyModelSize, seed: int) -> tuple[Any, Any]:
    """Model and processor; the same seed gives the same weights."""
    tokenizer = byte_tokenizer()
    config = transformers.Qwen2AudioConfig(
        audio_config={
            "model_type": "qwen2_audio_encoder",
            "d_model": size.width,
            "encoder_layers": size.n_encoder_layers,
            "encoder_attention_heads": size.n_heads,
            "encoder_ffn_dim": 2 * size.width,
            "num_mel_bins": size.n_mels,
            "max_source_positions": size.n_frames // 2,
            "initializer_range": size.spread,
        },
        text_config={
            "model_type": "qwen2",
            "vocab_size": len(tokenizer),
            "hidden_size": size.width,
            "intermediate_size": 2 * size.width,
            "num_hidden_layers": size.n_decoder_layers,
            "num_attention_heads": size.n_heads,
            "num_key_value_heads": size.n_heads // 2,
            "head_dim": size.width // size.n_heads,
            "max_position_embeddings": MAX_TOKENS,
            "initializer_range": size.spread,
        },
        audio_token_index=tokenizer.convert_tokens_to_ids(AUDIO),
    )
    extractor = transformers.WhisperFeatureExtractor(
        feature_size=size.n_mels, chunk_length=size.window_s, hop_length=size.hop, n_fft=N_FFT
    )
    torch.manual_seed(seed)
    model = transformers.Qwen2AudioForConditionalGeneration(config)
    positions = model.model.audio_tower.embed_positions.weight
    with torch.no_grad():  # as in published towers; new ones have untrained noise
        positions.copy_(sinusoids(*positions.shape))
    return model, transformers.Qwen2AudioProcessor(extractor, tokenizer)


def byte_tokenizer() -> Any:
    """One token for each byte, and the special ones of Qwen2-Audio."""
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
        additional_special_tokens=[START, AUDIO, AUDIO_BEGIN, AUDIO_END],
    )


def sinusoids(n_positions: int, width: int) -> torch.Tensor:
    """Sines and cosines of wave lengths from 2 pi to 20,000 pi, `(n_positions, width)`."""
    half = width // 2
    turns = torch.exp(-torch.log(torch.tensor(1e4)) / (half - 1) * torch.arange(half))
    angles = torch.arange(n_positions)[:, None] * turns
    return torch.cat([angles.sin(), angles.cos()], dim=1)
