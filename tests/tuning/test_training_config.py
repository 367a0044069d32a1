"""The published values are the defaults; invalid ones are named."""

import pytest

from otoscope.tuning.config import TrainingConfig, TuningError
from otoscope.tuning.scopes import SCOPES


def test_the_defaults_are_the_published_ones():
    settings = TrainingConfig()
    assert (settings.rank, settings.alpha, settings.dropout) == (8, 16, 0.05)
    assert (settings.learning_rate, settings.weight_decay) == (2e-4, 0.0)
    assert (settings.batch_size, settings.epochs, settings.max_norm) == (16, 1, 1.0)
    assert settings.seed == 1234


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ({"scope": "head"}, f"no scope named 'head'; there are {', '.join(SCOPES)}"),
        ({"rank": 0}, "rank must be 1 or more, not 0"),
        ({"alpha": 0}, "alpha must be 1"),
        ({"batch_size": -1}, "batch_size must be 1"),
        ({"epochs": 0}, "epochs must be 1"),
        ({"dropout": 1.0}, r"dropout is a share below 1, not 1\.0"),
        ({"dropout": -0.1}, r"not -0\.1"),
        ({"learning_rate": 0.0}, r"learning_rate must be a number above 0, not 0\.0"),
        ({"learning_rate": float("nan")}, "not nan"),
        ({"max_norm": float("inf")}, "max_norm .* not inf"),
        ({"weight_decay": -1.0}, r"weight_decay must be 0 or more, not -1\.0"),
    ],
)
def test_what_cannot_be_is_named(setting, named):
    with pytest.raises(TuningError, match=named):
        TrainingConfig(**setting)


def test_a_step_is_shared_out_evenly_or_not_at_all():
    assert [TrainingConfig().clips_per_process(n) for n in (1, 2, 4, 16)] == [16, 8, 4, 1]
    with pytest.raises(TuningError, match="16 clips a step cannot be shared out to 3 processes"):
        TrainingConfig().clips_per_process(3)
    with pytest.raises(TuningError, match="start 1, 2, 3, 4, 6 or 12 of them"):
        TrainingConfig(batch_size=12).clips_per_process(24)


def test_records_of_version_0_1_are_reproducible():
    stored = TrainingConfig().record()
    assert "reproducible" not in stored
    assert TrainingConfig(**stored) == TrainingConfig()
    assert TrainingConfig(reproducible=False).record() == stored | {"reproducible": False}
