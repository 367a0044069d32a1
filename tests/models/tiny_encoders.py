"""Audio encoders of a few thousand random weights in the real architectures, as checkpoints."""

from tiny import tokenizer, torch, transformers

LABELS = ("laughter", "sigh", "cough")


def wavlm(folder, *, norm="group", seed=0):
    torch.manual_seed(seed)
    config = transformers.WavLMConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        conv_dim=(8, 8), conv_stride=(5, 4), conv_kernel=(10, 8), num_conv_pos_embeddings=4,
        num_conv_pos_embedding_groups=2, feat_extract_norm=norm, do_stable_layer_norm=False,
        num_buckets=8, max_bucket_distance=16,
    )  # fmt: skip
    return _saved(
        folder,
        transformers.WavLMModel(config),
        transformers.Wav2Vec2FeatureExtractor(return_attention_mask=norm == "layer"),
    )


def hubert(folder, seed=0):
    torch.manual_seed(seed)
    config = transformers.HubertConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        conv_dim=(8, 8), conv_stride=(5, 4), conv_kernel=(10, 8), num_conv_pos_embeddings=4,
        num_conv_pos_embedding_groups=2, feat_extract_norm="layer",
    )  # fmt: skip
    return _saved(
        folder,
        transformers.HubertModel(config),
        transformers.Wav2Vec2FeatureExtractor(return_attention_mask=True),
    )


def whisper(folder, seed=0):
    torch.manual_seed(seed)
    config = transformers.WhisperConfig(
        vocab_size=20, d_model=16, encoder_layers=2, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, num_mel_bins=8,
        max_source_positions=100, decoder_start_token_id=1, bos_token_id=1, eos_token_id=2,
        pad_token_id=2,
    )  # fmt: skip
    return _saved(
        folder,
        transformers.WhisperModel(config),
        transformers.WhisperFeatureExtractor(feature_size=8, chunk_length=2),
    )


def ast(folder, labels=("Laughter", "Speech", "Giggle", "Sigh", "Cough", "Baby laughter",
                        "Snicker", "Belly laugh", "Chuckle, chortle"), seed=0):  # fmt: skip
    torch.manual_seed(seed)
    config = transformers.ASTConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_length=128, num_mel_bins=32, id2label=dict(enumerate(labels)),
    )  # fmt: skip
    return _saved(
        folder,
        transformers.ASTForAudioClassification(config),
        transformers.ASTFeatureExtractor(num_mel_bins=32, max_length=128),
    )


def clap(folder, *, fusion=False, seed=0):
    torch.manual_seed(seed)
    words = tokenizer("<pad>", "<unk>")
    config = transformers.ClapConfig(
        text_config={
            "vocab_size": len(words), "hidden_size": 16, "num_hidden_layers": 1,
            "num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 90,
        },
        audio_config={
            "window_size": 4, "num_mel_bins": 16, "spec_size": 64, "patch_size": 4,
            "patch_stride": [4, 4], "num_classes": 3, "hidden_size": 32, "depths": [1, 1],
            "num_attention_heads": [2, 2], "patch_embeds_hidden_size": 16,
            "enable_fusion": fusion, "projection_dim": 12,
        },
        projection_dim=12,
    )  # fmt: skip
    extractor = transformers.ClapFeatureExtractor(
        feature_size=16, sampling_rate=16000, max_length_s=2, hop_length=160, fft_window_size=1024,
        frequency_min=50, frequency_max=8000,
        truncation="fusion" if fusion else "rand_trunc",
    )  # fmt: skip
    folder = _saved(folder, transformers.ClapModel(config), extractor)
    words.save_pretrained(folder)
    return folder


def _saved(folder, model, extractor):
    model.eval().save_pretrained(folder)
    extractor.save_pretrained(folder)
    return folder
