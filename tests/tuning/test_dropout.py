"""Masks belong to an item, an epoch and a layer, and to nothing else."""

import pytest
from tiny import torch

from otoscope.tuning.dropout import DropoutContext, ItemDropout, generator_for

ONES = torch.ones(2, 1000)


def passed(items, states=ONES, epoch=0, *, share=0.25, seed=1, module="lm_head"):
    context = DropoutContext(seed)
    dropout = ItemDropout(share, module, context, on_cpu=True)
    with context.of(epoch, items):
        return dropout(states)


def test_a_share_is_dropped_and_the_rest_scaled_up():
    made = passed([("a", 2)])
    assert made.unique().tolist() == pytest.approx([0.0, 1 / 0.75])
    # 2,000 draws at 0.25: standard deviation 0.0097
    assert (made == 0).float().mean() == pytest.approx(0.25, abs=0.04)


def test_nothing_is_dropped_outside_of_training():
    assert ItemDropout(0.5, "x", DropoutContext(1), on_cpu=True)(ONES) is ONES
    context = DropoutContext(1)
    with pytest.raises(RuntimeError), context.of(0, [("a", 1)]):
        raise RuntimeError
    assert context.items == ()


@pytest.mark.parametrize(
    "other", [{"epoch": 1}, {"seed": 2}, {"module": "other"}, {"items": [("b", 2)]}]
)
def test_anything_else_has_another_mask(other):
    first = passed([("a", 2)])
    assert torch.equal(first, passed([("a", 2)]))
    assert not torch.equal(first, passed(**{"items": [("a", 2)]} | other))


def test_other_items_of_a_batch_do_not_change_a_mask():
    states = torch.randn(5, 1000)
    together = passed([("a", 2), ("b", 3)], states)
    assert torch.equal(together[:2], passed([("a", 2)], states[:2]))
    assert torch.equal(together[2:], passed([("b", 3)], states[2:]))


def test_one_item_in_a_batch_of_its_own_has_the_mask_of_its_states():
    states = torch.randn(3, 1000)
    assert torch.equal(passed([("a", 3)], states[None])[0], passed([("a", 3)], states))


def test_keys_that_join_alike_are_not_alike():
    draws = {float(torch.rand(1, generator=generator_for(*k))) for k in (("ab", "c"), ("a", "bc"))}
    assert len(draws) == 2


def test_masks_that_need_not_be_reproducible_come_from_the_generator_of_torch():
    context = DropoutContext(1, reproducible=False)
    dropout = ItemDropout(0.25, "x", context, on_cpu=True)
    assert dropout(ONES) is ONES
    torch.manual_seed(3)
    expected = torch.nn.functional.dropout(ONES, 0.25)
    torch.manual_seed(3)
    with context.of(0, [("a", 2)]):
        assert torch.equal(dropout(ONES), expected)
        assert not torch.equal(dropout(ONES), expected)
