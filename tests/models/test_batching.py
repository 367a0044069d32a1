"""Which errors shrink a batch, and what comes of batches that do not fit."""

import pytest
import tiny  # noqa: F401  skips without the extra [models]
from tiny import torch

from otoscope.models.batching import BatchSize, in_batches, is_out_of_memory

NO_MEMORY = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")


@pytest.mark.parametrize(
    ("error", "is_memory"),
    [
        (NO_MEMORY, True),
        (RuntimeError("[enforce fail] . DefaultCPUAllocator: can't allocate memory: you"), True),
        (RuntimeError("CUDA error: out of memory\nCUDA kernel errors might"), True),
        (MemoryError(), True),
        (RuntimeError("shapes cannot be multiplied"), False),
        (ValueError("CUDA out of memory. Tried to allocate"), False),
    ],
)
def test_errors_that_mean_memory(error, is_memory):
    assert is_out_of_memory(error) is is_memory


def capacity(n, tried):
    def work(batch):
        tried.append(len(batch))
        if len(batch) > n:
            raise NO_MEMORY
        return sum(batch)

    return work


def test_batches_are_halved_until_they_fit_and_stay_so():
    tried, limit = [], BatchSize(8)
    found = list(in_batches(limit, list(range(10)), capacity(3, tried)))
    assert tried == [8, 4, 2, 2, 2, 2, 2]
    assert found == [([0, 1], 1), ([2, 3], 5), ([4, 5], 9), ([6, 7], 13), ([8, 9], 17)]
    assert limit.size == 2


def test_one_that_never_fits_has_no_result_and_the_others_go_on():
    def work(batch):
        if 1 in batch:
            raise NO_MEMORY
        return len(batch)

    found = list(in_batches(BatchSize(2), [0, 1, 2], work))
    assert found == [([0], 1), ([1], None), ([2], 1)]


def test_another_error_is_raised():
    def work(batch):
        raise RuntimeError("shapes")

    with pytest.raises(RuntimeError, match="shapes"):
        list(in_batches(BatchSize(2), [1], work))
