"""The loop takes the steps of a plain one, whatever the processes and after a kill."""

import threading
from random import Random

import peft
import pytest
import tiny
from tiny import torch

from otoscope.tuning.adapter import lora_layers, trainable_parameters, without_peft_warnings
from otoscope.tuning.checkpoints import Checkpoints
from otoscope.tuning.config import TrainingConfig, TuningError
from otoscope.tuning.history import TrainingHistory
from otoscope.tuning.training import _pairwise_sum, epoch_order, steps_per_epoch, train
from tests.tuning.tiny_training import LABELS, request, tiny_job

N, BATCH = 12, 4
SEVEN = 14
"""Of two sources with seven clips each one is for training: the last step has three clips."""


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return tiny.save(tiny.qwen2_audio(), tmp_path_factory.mktemp("tuning") / "tiny", scale=1.0)


def job(checkpoint, n=N, **settings):
    per_source = 7 if n == SEVEN else 4
    return tiny_job(
        checkpoint,
        n=n,
        per_source=per_source,
        **{"batch_size": BATCH, "learning_rate": 1e-2} | settings,
    )


def tuned(folder, job, *, notes=None, **options):
    """`(weights, history)` after training to the end."""
    trainable, examples, settings, _ = job
    checkpoints = Checkpoints(folder, (notes if notes is not None else []).append)
    checkpoints.folder.mkdir(parents=True, exist_ok=True)
    history = train(trainable, examples, settings, checkpoints, **options)
    return weights(trainable), history


def weights(trainable):
    return {name: w.detach().clone() for name, w in trainable_parameters(trainable.tuned).items()}


def same(first, other):
    return first.keys() == other.keys() and all(torch.equal(first[k], other[k]) for k in first)


class TestSteps:
    def test_order_is_the_published_one(self):
        places = [3, 1, 4, 15, 9]
        for epoch in (0, 1):
            expected = list(places)
            Random(1234 + epoch).shuffle(expected)
            assert epoch_order(places, epoch, 1234) == expected
        assert places == [3, 1, 4, 15, 9]

    def test_the_published_epoch_has_675_steps(self):
        assert steps_per_epoch(10_800, TrainingConfig()) == 675

    @pytest.mark.parametrize(("scope", "max_norm"), [("lm_head", 0.05), ("decoder", 100.0)])
    def test_they_are_those_of_a_plain_loop_with_peft_and_labels(
        self, checkpoint, tmp_path, scope, max_norm
    ):
        trainable, examples, settings, planned = job(
            checkpoint, SEVEN, dropout=0.0, scope=scope, epochs=2, max_norm=max_norm
        )
        first = weights(trainable)
        # An independent version: PEFT's own layers, labels -100 for the question, a mean over the
        # target tokens by transformers itself, sixteenths added up, the published optimizer.
        from otoscope.models.transformers_models import open_transformers

        plain = open_transformers(checkpoint)
        config = peft.LoraConfig(
            r=8, lora_alpha=16, lora_dropout=0.0, target_modules=list(planned.modules)
        )
        with without_peft_warnings():
            model = peft.get_peft_model(plain.loaded.model, config)
        model.load_state_dict(first, strict=False)
        optimizer = torch.optim.AdamW(
            trainable_parameters(model).values(), lr=1e-2, weight_decay=0.0
        )
        losses, norms = [], []
        for epoch in range(2):
            clips = list(examples.split.train)
            Random(1234 + epoch).shuffle(clips)
            for start in range(0, len(clips), BATCH):
                batch = clips[start : start + BATCH]
                total = 0.0
                for clip in batch:
                    inputs = plain.encode([request(clip)]).inputs
                    answer = plain.encoder.answer_tokens(request(clip), LABELS[clip % 2])
                    ids = torch.cat([inputs["input_ids"], torch.tensor([answer])], dim=1)
                    labels = ids.clone()
                    labels[:, : -len(answer)] = -100
                    given = dict(inputs) | {
                        "input_ids": ids, "labels": labels, "attention_mask": torch.ones_like(ids)
                    }  # fmt: skip
                    loss = model(**given).loss / len(batch)
                    loss.backward()
                    total += float(loss.detach())
                norms.append(
                    float(
                        torch.nn.utils.clip_grad_norm_(
                            trainable_parameters(model).values(), max_norm
                        )
                    )
                )
                optimizer.step()
                optimizer.zero_grad()
                losses.append(total)
        made, history = tuned(tmp_path, (trainable, examples, settings, planned))
        assert len(losses) == 2 * steps_per_epoch(len(examples.split.train), settings) > 2
        assert len(examples.split.train) % BATCH, "the last step of an epoch has fewer clips"
        assert history.losses == pytest.approx(losses, rel=1e-4)
        assert history.norms == pytest.approx(norms, rel=1e-3)
        assert (max(norms) > max_norm) == (scope == "lm_head"), "one is shortened, one is not"
        assert losses[-1] < 0.98 * losses[0]
        expected = {name: weight.detach() for name, weight in trainable_parameters(model).items()}
        assert made.keys() == expected.keys()
        for name, weight in made.items():
            assert (weight - expected[name]).norm() <= 1e-3 * expected[name].norm(), name
            assert not torch.equal(weight, first[name])

    def test_dropout_is_there_and_belongs_to_the_epoch(self, checkpoint):
        trainable, *_ = job(checkpoint, dropout=0.3)
        layer = lora_layers(trainable.tuned)["lm_head"]
        with torch.no_grad():
            layer.lora_B["default"].weight.normal_()
        losses = [trainable.backward([3], epoch)[0] for epoch in (0, 1, 0)]
        assert losses[0] == losses[2] != losses[1]
        assert trainable.evaluate([3]) == trainable.evaluate([3])

    def test_computing_layers_again_changes_nothing(self, checkpoint, tmp_path):
        first, _ = tuned(tmp_path / "a", job(checkpoint, scope="all_linear"))
        again = job(checkpoint, scope="all_linear", checkpointing=True)
        assert same(first, tuned(tmp_path / "b", again)[0])


class TestSums:
    """Sums do not depend on the process that computed them."""

    @pytest.mark.parametrize("n_processes", [1, 2, 4, 8, 16])
    @pytest.mark.parametrize("n_clips", [16, 11, 1])
    def test_of_several_processes_to_the_last_bit(self, n_processes, n_clips):
        clips = torch.randn(n_clips, 50, generator=torch.Generator().manual_seed(0))
        leaves = [*clips, *[None] * (16 - n_clips)]
        whole = _pairwise_sum(16, lambda n: leaves[n])
        share = 16 // n_processes

        def of_one(process):
            own = _pairwise_sum(share, lambda n: leaves[process * share + n])
            return torch.zeros(50) if own is None else own

        assert torch.equal(_pairwise_sum(n_processes, of_one), whole)
        torch.testing.assert_close(whole, clips.sum(0), rtol=1e-5, atol=1e-5)

    def test_of_no_clips(self):
        assert _pairwise_sum(4, lambda n: None) is None


class TwoProcesses:
    """Two processes as two threads that wait for one another."""

    num_processes = 2

    def __init__(self, rank, meeting, sent):
        self.process_index, self.meeting, self.sent = rank, meeting, sent

    def gather(self, tensor):
        self.sent[self.process_index] = tensor
        self.meeting.wait(timeout=60)
        made = torch.cat([self.sent[0], self.sent[1]])
        self.meeting.wait(timeout=60)
        return made

    def reduce(self, tensor, reduction="mean"):
        assert reduction == "sum"
        return self.gather(tensor[None]).sum(dim=0)


def both_ranks(checkpoint, folder, n, **options):
    """Rank to weights and history of two processes."""
    meeting, sent, made = threading.Barrier(2), {}, {}
    jobs = [job(checkpoint, n, **options) for _ in (0, 1)]

    def run(rank):
        made[rank] = tuned(folder, jobs[rank], group=TwoProcesses(rank, meeting, sent))

    threads = [threading.Thread(target=run, args=(rank,)) for rank in (0, 1)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    return made


@pytest.mark.parametrize("n", [N, SEVEN])
def test_two_processes_make_the_weights_of_one(checkpoint, tmp_path, n):
    alone, history = tuned(tmp_path / "one", job(checkpoint, n, scope="decoder"))
    assert len(history.losses) == 2, "of 8 clips, or of 7"
    made = both_ranks(checkpoint, tmp_path / "two", n, scope="decoder")
    for rank in (0, 1):
        assert same(made[rank][0], alone)
        assert made[rank][1] == history
    assert len(list((tmp_path / "two" / ".training").glob("*.pt"))) == 2, "written by the first"


class TestBatches:
    """Training that need not be reproducible."""

    @pytest.mark.parametrize("n", [N, SEVEN])
    def test_without_dropout_it_is_the_same_up_to_rounding(self, checkpoint, tmp_path, n):
        options = {"scope": "decoder", "dropout": 0.0, "epochs": 2}
        expected, history = tuned(tmp_path / "a", job(checkpoint, n, **options))
        found, again = tuned(tmp_path / "b", job(checkpoint, n, reproducible=False, **options))
        assert again.losses == pytest.approx(history.losses, rel=1e-4)
        assert again.norms == pytest.approx(history.norms, rel=1e-3)
        for name, weight in expected.items():
            assert (weight - found[name]).norm() <= 1e-3 * weight.norm(), name

    @pytest.mark.parametrize("n", [N, SEVEN])
    def test_two_processes_reduce_their_gradients(self, checkpoint, tmp_path, n):
        options = {"scope": "decoder", "dropout": 0.0, "reproducible": False}
        expected, history = tuned(tmp_path / "one", job(checkpoint, n, **options))
        made = both_ranks(checkpoint, tmp_path / "two", n, **options)
        assert same(made[0][0], made[1][0])
        assert made[0][1].losses == pytest.approx(history.losses, rel=1e-4)
        for name, weight in expected.items():
            assert (weight - made[0][0][name]).norm() <= 1e-3 * weight.norm(), name

    def test_dropout_differs_between_steps_and_resumes_the_same(self, checkpoint, tmp_path):
        options = {"dropout": 0.3, "epochs": 3, "reproducible": False}
        whole, history = tuned(tmp_path / "whole", job(checkpoint, **options))
        killed(tmp_path / "killed", job(checkpoint, **options), after=9, every=1)
        made, again = tuned(tmp_path / "killed", job(checkpoint, **options))
        assert same(made, whole)
        assert again == history
        other, _ = tuned(tmp_path / "other", job(checkpoint, **options | {"reproducible": True}))
        assert not same(other, whole)


class Killed(Exception):
    """In the place of a kill."""


def killed(folder, given, *, after, every):
    """Trains, and ends without a word after so many clips."""
    trainable, n = given[0], 0
    backward = trainable.backward

    def until(places, epoch):
        nonlocal n
        n += len(places)
        if n > after:
            raise Killed
        return backward(places, epoch)

    trainable.backward = until
    with pytest.raises(Killed):
        tuned(folder, given, every=every)


class TestGoingOn:
    def test_killed_at_any_step_it_ends_the_same(self, checkpoint, tmp_path):
        whole, history = tuned(tmp_path / "whole", job(checkpoint, epochs=3))
        for after in (0, 5, 13, 21):
            folder = tmp_path / f"killed-{after}"
            killed(folder, job(checkpoint, epochs=3), after=after, every=2)
            made, again = tuned(folder, job(checkpoint, epochs=3), every=2)
            assert same(made, whole)
            assert again == history

    def test_a_corrupt_checkpoint_costs_the_steps_since_the_one_before(self, checkpoint, tmp_path):
        whole, _ = tuned(tmp_path / "whole", job(checkpoint, epochs=2))
        folder, notes = tmp_path / "killed", []
        killed(folder, job(checkpoint, epochs=2), after=13, every=1)
        newest = max((folder / ".training").glob("*.pt"))
        newest.write_bytes(newest.read_bytes()[:1000])
        made, _ = tuned(folder, job(checkpoint, epochs=2), notes=notes)
        assert same(made, whole)
        assert notes == [f"{newest.name} is corrupt and is skipped"]

    def test_a_history_is_plain_data_and_back(self, checkpoint, tmp_path):
        _, history = tuned(tmp_path, job(checkpoint))
        assert TrainingHistory.from_plain(history.plain()) == history


class TestNotFinite:
    def test_a_loss_that_is_not_finite_stops_with_the_clip_and_keeps_the_last(
        self, checkpoint, tmp_path
    ):
        trainable, examples, *rest = job(checkpoint)
        backward, bad = trainable.backward, epoch_order(examples.split.train, 0, 1234)[5]
        trainable.backward = lambda places, epoch: (
            backward(places, epoch) if places != [bad] else [float("nan")]
        )
        name = examples.rows["id"][bad]
        with pytest.raises(TuningError, match=rf"1 clip\(s\) is not finite in step 2, '{name}'"):
            tuned(tmp_path, (trainable, examples, *rest), every=1)
        latest = Checkpoints(tmp_path, print).latest()
        assert latest["step"] == 1
        assert all(torch.isfinite(w).all() for w in latest["weights"].values())

    def test_so_does_a_gradient(self, checkpoint, tmp_path):
        given = job(checkpoint)
        weight = next(iter(trainable_parameters(given[0].tuned).values()))
        backward = given[0].backward

        def corrupt(places, epoch):
            made = backward(places, epoch)
            weight.grad[0, 0] = float("inf")
            return made

        given[0].backward = corrupt
        with pytest.raises(TuningError, match="gradient of step 1 is not finite, while the loss"):
            tuned(tmp_path, given)


def test_validation_counts_answers_by_source(checkpoint, tmp_path):
    trainable, examples, *rest = job(checkpoint)
    held = examples.split.validation
    from otoscope.tuning.trainable import ClipScore

    answers = {place: ClipScore(0.5 + n, n % 2 == 0, n != 1) for n, place in enumerate(held)}
    trainable.evaluate = lambda places: [answers[place] for place in places]
    _, history = tuned(tmp_path, (trainable, examples, *rest))
    before, after = history.validations
    assert (before.step, after.step) == (0, 2)
    assert (after.n_clips, after.n_sources) == (4, 1)
    assert after.loss == pytest.approx((0.5 + 1.5 + 2.5 + 3.5) / 4)
    assert after.generated.estimate == 0.5
    assert after.preferred.estimate == 0.75
