"""Families whose processors need more than the extra [models], and stand-ins for what that is.

Stand-ins take the place of libraries, never of the processor or the model itself.
"""

import base64
import io

import librosa
import soundfile
import tiny
from tiny import CHAT, WINDOW_S, WORDS, torch, transformers
from transformers.image_processing_utils import BaseImageProcessor
from transformers.models.granite_speech import feature_extraction_granite_speech

PLAIN = {name: value for name, value in WORDS.items() if name != "head_dim"}


class NoPictures(BaseImageProcessor):
    """In the place of a part that takes pictures and needs torchvision."""


class MelSpectrogram:
    """What `torchaudio.transforms.MelSpectrogram` makes of samples, near enough."""

    def __init__(self, sample_rate, n_fft, win_length, hop_length, n_mels):
        self.stft = {"n_fft": n_fft, "hop_length": hop_length, "win_length": win_length}
        self.window = torch.hann_window(win_length)
        bands = librosa.filters.mel(sr=sample_rate, n_fft=n_fft, n_mels=n_mels, htk=True, norm=None)
        self.bands = torch.from_numpy(bands)

    def to(self, device):
        return self

    def __call__(self, samples):
        spectrum = torch.stft(samples, window=self.window, return_complex=True, **self.stft)
        return self.bands @ spectrum.abs() ** 2


class Torchaudio:
    class transforms:
        MelSpectrogram = MelSpectrogram


def granite_speech(monkeypatch):
    module = feature_extraction_granite_speech
    monkeypatch.setattr(module, "torchaudio", Torchaudio, raising=False)
    monkeypatch.setattr(module, "requires_backends", lambda *_: None)
    words = tiny.tokenizer("<|audio|>")
    words.chat_template = (
        "<|im_start|>user\n{{ messages[0]['content'] }}<|im_end|>\n<|im_start|>assistant\n"
    )
    config = transformers.GraniteSpeechConfig(
        encoder_config={
            "model_type": "granite_speech_encoder",
            "input_dim": 160,
            "num_layers": 2,
            "hidden_dim": 32,
            "num_heads": 4,
            "dim_head": 8,
            "output_dim": 42,
            "context_size": 50,
            "max_pos_emb": 64,
            "conv_kernel_size": 5,
        },
        projector_config={
            "model_type": "blip_2_qformer",
            "hidden_size": 32,
            "num_hidden_layers": 1,
            "num_attention_heads": 4,
            "intermediate_size": 64,
            "encoder_hidden_size": 32,
        },
        text_config={"model_type": "granite", "vocab_size": len(words), **PLAIN},
        audio_token_index=words.convert_tokens_to_ids("<|audio|>"),
        has_lora_adapter=False,
    )
    extractor = module.GraniteSpeechFeatureExtractor()
    processor = transformers.GraniteSpeechProcessor(extractor, words)
    torch.manual_seed(0)
    return transformers.GraniteSpeechForConditionalGeneration(config), processor


def qwen2_5_omni_thinker(monkeypatch):
    words = tiny.tokenizer(
        audio_token="<|AUDIO|>",
        audio_bos_token="<|audio_bos|>",
        audio_eos_token="<|audio_eos|>",
        image_token="<|IMAGE|>",
        video_token="<|VIDEO|>",
        vision_bos_token="<|vision_bos|>",
        vision_eos_token="<|vision_eos|>",
    )
    number = words.convert_tokens_to_ids
    config = transformers.Qwen2_5OmniThinkerConfig(
        audio_config={
            "model_type": "qwen2_5_omni_audio_encoder",
            "d_model": 32,
            "encoder_layers": 2,
            "encoder_attention_heads": 4,
            "encoder_ffn_dim": 64,
            "num_mel_bins": 16,
            "output_dim": 32,
            "n_window": 50,
        },
        vision_config={
            "model_type": "qwen2_5_omni_vision_encoder",
            "depth": 2,
            "hidden_size": 32,
            "num_heads": 4,
            "intermediate_size": 64,
            "out_hidden_size": 32,
            "fullatt_block_indexes": [1],
        },
        text_config={
            "model_type": "qwen2_5_omni_text",
            "vocab_size": len(words),
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 1e6,
                "mrope_section": [1, 1, 2],
            },
            **PLAIN,
        },
        audio_token_index=number("<|AUDIO|>"),
        image_token_index=number("<|IMAGE|>"),
        video_token_index=number("<|VIDEO|>"),
        audio_start_token_id=number("<|audio_bos|>"),
        audio_end_token_id=number("<|audio_eos|>"),
        vision_start_token_id=number("<|vision_bos|>"),
        vision_end_token_id=number("<|vision_eos|>"),
    )
    kind = transformers.Qwen2_5OmniProcessor
    monkeypatch.setattr(kind, "check_argument_for_proper_class", lambda *_: None)
    extractor = transformers.WhisperFeatureExtractor(feature_size=16, chunk_length=WINDOW_S)
    chat = CHAT.replace("PLACEHOLDER", "<|audio_bos|><|AUDIO|><|audio_eos|>")
    torch.manual_seed(0)
    model = transformers.Qwen2_5OmniThinkerForConditionalGeneration(config)
    return model, kind(NoPictures(), NoPictures(), extractor, words, chat_template=chat)


def phi4_multimodal(monkeypatch):
    words = tiny.tokenizer(audio_token="<|endoftext11|>", image_token="<|endoftext10|>")
    number = words.convert_tokens_to_ids
    config = transformers.Phi4MultimodalConfig(
        vocab_size=len(words),
        audio_config={
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_blocks": 2,
            "num_attention_heads": 4,
            "ext_pw_out_channel": 32,
            "depthwise_separable_out_channel": 32,
            "nemo_conv_channels": 16,
            "audio_token_id": number("<|endoftext11|>"),
        },
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "image_size": 28,
            "patch_size": 14,
            "crop_size": 28,
            "image_token_id": number("<|endoftext10|>"),
        },
        pad_token_id=number("<|endoftext|>"),
        eos_token_id=number("<|im_end|>"),
        bos_token_id=None,
        original_max_position_embeddings=2048,
        sliding_window=None,
        **PLAIN,
    )
    extractor = transformers.Phi4MultimodalFeatureExtractor()
    chat = CHAT.replace("PLACEHOLDER", "<|endoftext11|>")
    processor = transformers.Phi4MultimodalProcessor(
        NoPictures(), extractor, words, chat_template=chat
    )
    torch.manual_seed(0)
    return transformers.Phi4MultimodalForCausalLM(config), processor


class Mistral(transformers.PreTrainedTokenizerFast):
    """In the place of mistral-common: takes its messages, gives back what it gives back."""

    def apply_chat_template(self, conversations, padding=True, **_):
        texts, clips = [], []
        for (message,) in conversations:
            text = "[INST]"
            for part in message["content"]:
                if part["type"] == "text":
                    text += part["text"]
                    continue
                samples, rate = soundfile.read(io.BytesIO(base64.b64decode(part["base64"])))
                assert rate == 16000
                clips.append(samples)
                text += "[AUDIO]" * 50  # 4 s are padded to, at 12.5 a second
            texts.append(text + "[/INST]")
        encoded = self(texts, padding=padding)
        encoded.data["audio"] = clips or None
        return encoded


def voxtral(monkeypatch):
    words = tiny.tokenizer("[INST]", "[/INST]", at_24="[AUDIO]", kind=Mistral)
    config = transformers.VoxtralConfig(
        audio_config={
            "model_type": "voxtral_encoder",
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "intermediate_size": 128,
            "num_mel_bins": 16,
            "max_source_positions": WINDOW_S * 50,
        },
        text_config={"model_type": "llama", "vocab_size": len(words), **WORDS},
        audio_token_id=24,
    )
    extractor = transformers.WhisperFeatureExtractor(feature_size=16, chunk_length=WINDOW_S)
    kind = transformers.VoxtralProcessor
    padded = kind.audio_kwargs | {"pad_to_multiple_of": WINDOW_S * 16000}
    padded["max_source_positions"] = WINDOW_S * 100
    monkeypatch.setattr(kind, "audio_kwargs", padded)
    torch.manual_seed(0)
    return transformers.VoxtralForConditionalGeneration(config), kind(extractor, words)


OTHERS = {
    make.__name__: make for make in (granite_speech, phi4_multimodal, qwen2_5_omni_thinker, voxtral)
}
