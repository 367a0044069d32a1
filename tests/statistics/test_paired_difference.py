"""Which interval decides, with and without clusters."""

import numpy as np
import pytest

from otoscope.statistics.clustered_pairs import clustered_difference
from otoscope.statistics.paired_difference import paired_difference
from otoscope.statistics.pairs import PairedCounts
from otoscope.statistics.tango import tango_at_size, tango_interval

FIRST = np.repeat([True, False, True, False], [7, 6, 215, 12])
SECOND = np.repeat([False, True, True, False], [7, 6, 215, 12])


@pytest.mark.parametrize("clusters", [None, np.arange(240), np.arange(240).astype(str)])
def test_independent_examples_have_tangos(clusters):
    found = paired_difference(FIRST, SECOND, clusters)
    assert found == tango_interval(PairedCounts(215, 7, 6, 12))


def test_clusters_of_several_have_the_clustered_interval():
    clusters = np.arange(240) % 40
    found = paired_difference(FIRST, SECOND, clusters, confidence=0.9)
    assert found == clustered_difference(FIRST, SECOND, clusters, confidence=0.9)
    assert found.low < 0 < found.high


def test_zero_discordants_keep_a_width_that_clusters_enlarge():
    # design effect of a correlation of 0.3 in clusters of six: 1 + 0.3 · 5 = 2.5; 240 / 2.5 = 96
    found = paired_difference(FIRST, FIRST, np.arange(240) // 6)
    assert found == pytest.approx(tango_at_size(0, 0, 96))
    alone = paired_difference(FIRST, FIRST)
    assert found.high > alone.high > 0.015


def test_one_cluster_one_example_and_none():
    assert paired_difference(FIRST, SECOND, np.zeros(240))[1:] == (-1, 1)
    assert paired_difference(FIRST, FIRST, np.zeros(240)) == (0, -1, 1)
    one = paired_difference(FIRST[:1], SECOND[:1], np.zeros(1))
    assert one == tango_interval(PairedCounts(0, 1, 0, 0))
    assert np.isnan(paired_difference(FIRST[:0], SECOND[:0])).all()
    with pytest.raises(ValueError, match="1 cluster names"):
        paired_difference(FIRST, SECOND, np.zeros(1))
