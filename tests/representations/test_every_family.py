"""The contract of every family: the decoder begins with what the projector makes of the clip."""

import numpy as np
import pytest
import tiny
from asking_inside import question
from test_families import opening
from tiny import torch
from tiny_others import OTHERS

from otoscope.models.families import module_at
from otoscope.models.transformers_models import open_transformers
from otoscope.representations.hooks import TransformersExtractor
from tests.representations.test_pooling import plain_pooled

pytestmark = pytest.mark.filterwarnings(
    # peft asks transformers by an old name when it makes an adapter
    "ignore:.is_gradient_checkpointing. is deprecated:FutureWarning"
)
WHOLE = ("qwen2_audio", "audioflamingo3")


@pytest.fixture(params=[*WHOLE, *OTHERS])
def model(request, tmp_path, monkeypatch):
    if request.param in WHOLE:
        return open_transformers(tiny.save(getattr(tiny, request.param)(), tmp_path))
    return opening(request.param, tmp_path, monkeypatch)


def test_the_decoder_begins_with_the_projectors_output_where_the_clip_is(model):
    family, network = model.loaded.family, model.loaded.model
    if family.scale is not None:  # 1 in a new configuration, where it would not be noticed
        setattr(module_at(network, family.decoder), family.scale, 12.0)
    made = []
    hook = module_at(network, family.projector).register_forward_hook(
        lambda module, given, out: made.append(out)
    )
    # longer than one window of Audio Flamingo 3, whose windows are put together again
    long = family.model_type == "audioflamingo3"
    request = question(1, seconds=tiny.WINDOW_S * 1.5 if long else 1.3)
    found = TransformersExtractor(model).extract([request], ["pre_llm", "audio.0"]).states
    hook.remove()
    ids = model.encoder.encode([request]).inputs["input_ids"][0]
    processor = model.loaded.processor
    token = processor.tokenizer.convert_tokens_to_ids(processor.audio_token)
    n_places = int((ids == token).sum())
    projected = torch.cat([out.reshape(-1, out.shape[-1]) for out in made])[:n_places]
    scale = 12.0 if family.scale is not None else 1.0
    expected = plain_pooled(scale * projected.numpy())
    np.testing.assert_allclose(found["pre_llm"][0], expected, atol=1e-5)
    np.testing.assert_array_equal(found["pre_llm"], found["audio.0"])


def test_sites_are_transformers_own_hidden_states(model):
    """Of each family: the last one after the final norm, the others as they enter a layer."""
    seen = TransformersExtractor(model)
    n_layers = len(seen.decoder.layers)
    sites = [f"text.{k}" for k in range(n_layers + 1)]
    found = seen.extract([question(1)], sites).states
    inputs = model.encode([question(1)]).inputs
    with torch.no_grad():
        out = model.loaded.model(**inputs, output_hidden_states=True)
    for site, states in zip(sites, out.hidden_states, strict=True):
        np.testing.assert_allclose(found[site][0], states[0, -1].numpy(), atol=2e-5)


def test_answers_are_predicted_by_what_enters_the_head(model):
    entered = []
    head = model.loaded.model.get_output_embeddings()
    hook = head.register_forward_pre_hook(lambda module, given: entered.append(given[0]))
    ((states, tokens),) = TransformersExtractor(model).extract([question(1)], ["answer"]).answers
    inputs = dict(model.encode([question(1)]).inputs)
    ids = torch.cat([inputs["input_ids"], torch.tensor(tokens)[None]], dim=1)
    inputs |= {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    with torch.no_grad():
        model.loaded.model(**inputs)
    hook.remove()
    np.testing.assert_allclose(states, entered[0][0, -len(tokens) - 1 : -1], atol=2e-5)
