"""A Whisper of random weights: 16 wide, one layer a side, characters for tokens."""

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    GenerationConfig,
    WhisperConfig,
    WhisperFeatureExtractor,
    WhisperForConditionalGeneration,
    WhisperTokenizerFast,
)

LETTERS = [chr(ord("a") + n) for n in range(26)]
PIECES = [*LETTERS, *(f"Ġ{letter}" for letter in LETTERS[:23]), "<|endoftext|>"]  # 50 in all
SPECIAL = ["<|startoftranscript|>", "<|nocaptions|>", "<|notimestamps|>"]  # 50, 51, 52
END, START, NO_TIMESTAMPS = 49, 50, 52
N_TOKENS = 60  # the rest are times


def save_tiny_whisper(folder, seed=0):
    """A folder that `transformers:FOLDER` opens."""
    torch.manual_seed(seed)
    config = WhisperConfig(
        vocab_size=N_TOKENS, d_model=16, encoder_layers=1, decoder_layers=1,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=16,
        decoder_ffn_dim=16, max_target_positions=24, decoder_start_token_id=START,
        bos_token_id=END, eos_token_id=END, pad_token_id=END,
    )  # fmt: skip
    model = WhisperForConditionalGeneration(config)
    for weights in model.parameters():  # so that tokens are not all equally likely
        weights.data *= 3
    model.generation_config = GenerationConfig(
        decoder_start_token_id=START, bos_token_id=END, eos_token_id=END, pad_token_id=END,
        no_timestamps_token_id=NO_TIMESTAMPS, is_multilingual=False, max_length=24,
        alignment_heads=[[0, 0], [0, 1]],
    )  # fmt: skip
    model.save_pretrained(folder)
    WhisperFeatureExtractor().save_pretrained(folder)
    vocabulary = {piece: n for n, piece in enumerate(PIECES)}
    inner = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer = WhisperTokenizerFast(
        tokenizer_object=inner, unk_token="<|endoftext|>", bos_token="<|endoftext|>",
        eos_token="<|endoftext|>", additional_special_tokens=SPECIAL,
    )  # fmt: skip
    tokenizer.save_pretrained(folder)
    return folder
