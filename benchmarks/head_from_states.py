"""How much faster an output layer is trained from cached hidden states than through the model.

    python -m benchmarks.head_from_states

A Qwen2-Audio of random weights (eight layers of width 256, a vocabulary of 8,192) is trained on 64
clips of two seconds, one epoch. From hidden states means all that `trainers.lora --features` does
in an epoch, reading the states from disk included. It is compared with the same epoch through the
model, one clip in a forward pass as published, and with a lower bound of any way through the model:
a forward pass up to the output layer, sixteen clips at once. Both start from the same weights, and
have to end at the same. Last comes the epoch through the model in batches.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from otoscope.models.base import AudioInput, Request
from otoscope.prompts.labels import LABEL_NAMES
from otoscope.prompts.questions import question

N_CLIPS, LENGTH_S, BATCH, N_ROUNDS = 64, 2.0, 16, 3
SIZES = {
    "hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 8, "head_dim": 32,
    "num_attention_heads": 8, "vocab_size": 8192,
}  # fmt: skip
TARGET_FASTER, TARGET_APART = 20.0, 1e-5


def model(folder: Path) -> Any:
    """The tiny model of the tests, larger."""
    sys.path.append(str(Path(__file__).parents[1] / "tests" / "models"))
    import tiny

    from otoscope.models.transformers_models import open_transformers

    tiny.WORDS.update(SIZES)
    return open_transformers(str(tiny.save(tiny.qwen2_audio(), folder, scale=1.0)))


def request(i: int) -> Request:
    """The main question about a clip of noise."""
    name = f"clip{i:02d}"
    row = {"id": name, "category": "volume", "attribute": "volume", "label": i % 2}
    main_question = question(row, "main")
    noise = 0.1 * np.random.default_rng(i).standard_normal(round(LENGTH_S * 16_000))
    audio = AudioInput(name, noise.astype(np.float32), 16_000, "")
    return Request(main_question, (main_question.parts[0], audio))


def rows() -> dict[str, list[Any]]:
    """Columns of all clips."""
    questions = [request(i).question for i in range(N_CLIPS)]
    return {
        "id": [q.id for q in questions],
        "question_id": [q.question_id for q in questions],
        "clip_id": [q.id for q in questions],
        "category": ["volume"] * N_CLIPS,
        "label": [LABEL_NAMES.index(str(q.label)) for q in questions],
        "source_id": [f"s{i // 4}" for i in range(N_CLIPS)],
        "split": ["train"] * N_CLIPS,
    }


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Wall time in seconds, and what came of it."""
    began = time.perf_counter()
    made = work()
    return time.perf_counter() - began, made


def main() -> None:
    """Prints a line for each comparison."""
    import torch

    from otoscope.representations.features import Features, write_features
    from otoscope.representations.hooks import TransformersExtractor
    from otoscope.tuning.adapted_layers import plan_scope
    from otoscope.tuning.adapter import add_adapter, trainable_parameters
    from otoscope.tuning.checkpoints import Checkpoints
    from otoscope.tuning.config import TrainingConfig
    from otoscope.tuning.dropout import DropoutContext
    from otoscope.tuning.examples import examples_of
    from otoscope.tuning.head import OutputLayer, TrainableHead, read_head
    from otoscope.tuning.splits import TrainValidationSplit
    from otoscope.tuning.training import train
    from otoscope.tuning.whole_model import TrainableModel

    config = TrainingConfig(batch_size=BATCH, learning_rate=1e-3)
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        opened = model(folder / "model")
        tokens = [
            (label, tuple(opened.encoder.answer_tokens(request(0), label))) for label in LABEL_NAMES
        ]
        answers = [tokens[i % 2] for i in range(N_CLIPS)]
        divided = examples_of(rows(), answers, "source", config.seed)
        examples = replace(divided, split=TrainValidationSplit(tuple(range(N_CLIPS)), (0,)))
        clips = {request(i).question.question_id: request(i) for i in range(N_CLIPS)}
        found = TransformersExtractor(opened).extract(list(clips.values()), ["answer"]).answers
        write_features(folder / "features", rows(), {}, answers=found)
        weight = read_head(str(folder / "model"), None, "float32")

        def trained(trainable: Any, name: str, config: TrainingConfig) -> dict[str, Any]:
            checkpoints = Checkpoints(folder / name, print)
            checkpoints.folder.mkdir(parents=True)
            train(trainable, examples, config, checkpoints)
            return {
                name: w.detach().clone()
                for name, w in trainable_parameters(trainable.tuned).items()
            }

        def from_states(nth: int) -> dict[str, Any]:
            head, dropout = OutputLayer(weight), DropoutContext(config.seed)
            tuned = add_adapter(head, head.layers, config, dropout)
            states = Features.open(folder / "features").targets()
            return trained(TrainableHead(tuned, examples, states, dropout), f"states-{nth}", config)

        def through_model(config: TrainingConfig, name: str) -> dict[str, Any]:
            network = opened.loaded.model
            dropout = DropoutContext(config.seed, reproducible=config.reproducible)
            layers = plan_scope(network, "qwen2_audio", "lm_head")
            tuned = add_adapter(network, layers, config, dropout)
            trainable = TrainableModel(opened, tuned, examples, clips.__getitem__, dropout)
            weights = trained(trainable, name, config)
            tuned.unload()
            return weights

        def bare() -> None:
            for start in range(0, N_CLIPS, BATCH):
                inputs = opened.encode(list(clips.values())[start : start + BATCH]).inputs
                with torch.inference_mode():
                    opened.loaded.model.model(**inputs, use_cache=False)

        bare()
        bare_s = min(timed(bare)[0] for _ in range(N_ROUNDS))
        took = [timed(lambda nth=nth: from_states(nth)) for nth in range(N_ROUNDS)]
        states_s, states = min(took, key=lambda pair: pair[0])
        model_s, whole = timed(lambda: through_model(config, "model"))
        batched = replace(config, reproducible=False)
        batched_s, _ = timed(lambda: through_model(batched, "batches"))
    apart = max(float((states[name] - w).norm() / w.norm()) for name, w in whole.items())
    ratio = model_s / states_s
    print(
        f"an epoch of {N_CLIPS} clips from hidden states is {ratio:.0f} times faster than through "
        f"the model ({states_s:.3f} s, {model_s:.2f} s), and {bare_s / states_s:.0f} times faster "
        f"than a forward pass of {BATCH} at once ({bare_s:.2f} s); target {TARGET_FASTER:g} "
        f"{'reached' if ratio >= TARGET_FASTER else 'MISSED'}"
    )
    print(
        f"through the model, batches of {BATCH} are {model_s / batched_s:.1f} times faster than "
        f"one clip in a forward pass ({batched_s:.2f} s)"
    )
    print(
        f"the weights differ by {apart:.1e} of their norm; target {TARGET_APART:g} "
        f"{'reached' if apart <= TARGET_APART else 'MISSED'}"
    )


if __name__ == "__main__":
    main()
