"""Audio models of a hundred thousand random weights, made on the spot and saved as checkpoints."""

import pytest

WHY = "the extra [models] is not installed"
torch = pytest.importorskip("torch", reason=WHY)
transformers = pytest.importorskip("transformers", reason=WHY)
peft = pytest.importorskip("peft", reason=WHY)
tokenizers = pytest.importorskip("tokenizers", reason=WHY)

torch.set_num_threads(1)  # on matrices this small, threads wait for one another

WORDS = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 2048,
}
TOWER = {"num_mel_bins": 16}
WINDOW_S = 4
END = "<|im_end|>"
CHAT = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'audio' %}PLACEHOLDER{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""Parts as they come, in the frame that the Qwen family of templates uses."""


def tokenizer(*extra, kind=transformers.PreTrainedTokenizerFast, at_24=None, **named):
    """One token a byte, and the special ones; one may stand at a place of its own."""
    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    if at_24 is not None:
        letters.insert(24, at_24)
        extra = (*extra, at_24)
    kinds = (
        {"extra_special_tokens": {"start_token": "<|im_start|>"} | named}
        if named
        else {"additional_special_tokens": ["<|im_start|>", *extra]}
    )
    inner = tokenizers.Tokenizer(
        tokenizers.models.BPE(vocab={letter: n for n, letter in enumerate(letters)}, merges=[])
    )
    inner.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = tokenizers.decoders.ByteLevel()
    return kind(
        tokenizer_object=inner,
        eos_token=END,
        pad_token="<|endoftext|>",
        **kinds,
    )


def qwen2_audio(seed=0):
    words = tokenizer("<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>")
    config = transformers.Qwen2AudioConfig(
        audio_config={
            "model_type": "qwen2_audio_encoder",
            "d_model": 32,
            "encoder_layers": 2,
            "encoder_attention_heads": 4,
            "encoder_ffn_dim": 64,
            "max_source_positions": WINDOW_S * 50,
            **TOWER,
        },
        text_config={"model_type": "qwen2", "vocab_size": len(words), **WORDS},
        audio_token_index=words.convert_tokens_to_ids("<|AUDIO|>"),
    )
    extractor = transformers.WhisperFeatureExtractor(feature_size=16, chunk_length=WINDOW_S)
    torch.manual_seed(seed)
    model = transformers.Qwen2AudioForConditionalGeneration(config)
    return model, transformers.Qwen2AudioProcessor(extractor, words)


def audioflamingo3(seed=0):
    words = tokenizer("<sound>")
    config = transformers.AudioFlamingo3Config(
        audio_config={
            "model_type": "audioflamingo3_encoder",
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "intermediate_size": 64,
            "max_source_positions": WINDOW_S * 50,
            **TOWER,
        },
        text_config={"model_type": "qwen2", "vocab_size": len(words), **WORDS},
        audio_token_id=words.convert_tokens_to_ids("<sound>"),
    )
    extractor = transformers.WhisperFeatureExtractor(feature_size=16, chunk_length=WINDOW_S)
    processor = transformers.AudioFlamingo3Processor(
        extractor,
        words,
        chat_template=CHAT.replace("PLACEHOLDER", "<sound>"),
        max_audio_len=3 * WINDOW_S,
    )
    torch.manual_seed(seed)
    return transformers.AudioFlamingo3ForConditionalGeneration(config), processor


def save(made, folder, scale=20.0):
    """Saves a model and its processor; louder logits, so that answers do not hang on rounding."""
    model, processor = made
    with torch.no_grad():
        model.get_output_embeddings().weight.mul_(scale)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return str(folder)


def adapter(folder, seed=0, made=qwen2_audio, **options):
    """A LoRA with weights that do something (a new one does nothing)."""
    base, _ = made()
    torch.manual_seed(seed)
    config = peft.LoraConfig(r=4, **({"target_modules": r".*language_model.*q_proj"} | options))
    wrapped = peft.get_peft_model(base, config)
    with torch.no_grad():
        for name, weight in wrapped.named_parameters():
            if "lora_B" in name:
                weight.normal_(std=2.0)
    wrapped.save_pretrained(folder)
    return str(folder)
