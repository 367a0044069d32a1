"""Development and hold-out by hash: whole clusters, every class by its share, any order of clips.

Clusters are visited in the order of a hash of their names. Each is held out as long as none of its
labels then has more held-out clips than its target; the rest is development. Where a class is then
short of its target, a held-out cluster of it is swapped for one that is larger by what is missing.
So adding a cluster moves few others, and no order of files, machine or version of a library changes
a split.
"""

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from builders.corpora.base import CorpusError
from builders.splits import DEVELOPMENT, HOLDOUT


def divide(
    labels: Sequence[str], clusters: Sequence[str], holdout: float, *, seed: int = 0
) -> list[str]:
    """The split of each clip.

    >>> divide(["a", "a", "b", "b"], ["x", "y", "x", "y"], 0.5)
    ['holdout', 'development', 'holdout', 'development']

    Args:
        labels: Of each clip.
        clusters: Of each clip; a cluster is never divided.
        holdout: A share of each class, between 0 and 1 (rounded, at least one clip and never all);
            or, from 1, how many clips in all, over classes by their sizes.
        seed: Another one divides in another way.

    Raises:
        CorpusError: Nothing can be held out of a class without leaving none of it for development.
    """
    targets = holdout_targets(Counter(labels), holdout)
    members: dict[str, Counter[str]] = defaultdict(Counter)
    for label, cluster in zip(labels, clusters, strict=True):
        members[cluster][label] += 1
    ordered = sorted(members, key=lambda cluster: name_hash(seed, cluster))
    held: Counter[str] = Counter()
    chosen = set[str]()
    for cluster in ordered:
        if all(held[label] + n <= targets[label] for label, n in members[cluster].items()):
            chosen.add(cluster)
            held += members[cluster]
    # a class whose clusters are all larger than its target gets its smallest one
    for label in sorted(label for label in targets if targets[label] and not held[label]):
        own = [cluster for cluster in ordered if label in members[cluster]]
        cluster = min(own, key=lambda name: members[name].total())
        if len(own) > 1 and not held[label]:
            chosen.add(cluster)
            held += members[cluster]
    for label in sorted(label for label in targets if 0 < held[label] < targets[label]):
        pure = [
            (name, n) for name in ordered if (n := members[name][label]) == members[name].total()
        ]
        swap = _swap([(name, n, name in chosen) for name, n in pure], targets[label] - held[label])
        if swap is not None:
            leaves, comes = swap
            chosen = (chosen - {leaves}) | {comes}
            held[label] = targets[label]
    _validate_both(Counter(labels), held)
    return [HOLDOUT if cluster in chosen else DEVELOPMENT for cluster in clusters]


def _swap(clusters: Sequence[tuple[str, int, bool]], missing: int) -> tuple[str, str] | None:
    """A held-out cluster and one for its place that is larger by what is missing, if any."""
    for leaves, size, is_held in clusters:
        for comes, larger, other_is_held in clusters:
            if is_held and not other_is_held and larger == size + missing:
                return leaves, comes
    return None


def holdout_targets(sizes: Mapping[str, int], holdout: float) -> dict[str, int]:
    """How many clips of each class are held out, at best; see `divide`.

    >>> holdout_targets({"a": 40, "b": 41}, 0.5), holdout_targets({"a": 60, "b": 40}, 10)
    ({'a': 20, 'b': 20}, {'a': 6, 'b': 4})

    Raises:
        CorpusError: No share, or more clips than there are.
    """
    if not (math.isfinite(holdout) and holdout > 0) or (holdout >= 1 and holdout != int(holdout)):
        raise CorpusError(
            f"hold-out is {holdout:g}; it must be a share between 0 and 1, or a number of clips"
        )
    if holdout < 1:
        return {label: min(max(1, round(holdout * n)), n - 1) for label, n in sizes.items()}
    total, n_all = int(holdout), sum(sizes.values())
    if total >= n_all:
        raise CorpusError(f"{total} clips cannot be held out of {n_all}; some must remain")
    exact = {label: total * n / n_all for label, n in sizes.items()}
    targets = {label: int(share) for label, share in exact.items()}
    by_remainder = sorted(exact, key=lambda label: (targets[label] - exact[label], label))
    for label in by_remainder[: total - sum(targets.values())]:
        targets[label] += 1
    return targets


def joined(keys: Iterable[Sequence[str]]) -> list[str]:
    """One cluster name for each clip; clips that share a key, over others too, have the same.

    >>> joined([["a"], ["a", "x"], ["x"], ["b"]])
    ['a', 'a', 'a', 'b']
    """
    per_clip = [list(own) for own in keys]
    names = sorted({key for own in per_clip for key in own})
    at = {name: i for i, name in enumerate(names)}
    pairs = [(at[own[0]], at[key]) for own in per_clip for key in own]
    rows, columns = np.array(pairs).T
    graph = coo_matrix((np.ones(len(pairs)), (rows, columns)), shape=(len(names), len(names)))
    _, component = connected_components(graph, directed=False)
    first: dict[int, str] = {}
    for name, number in zip(names, component, strict=True):
        first.setdefault(number, name)
    return [first[component[at[own[0]]]] for own in per_clip]


def name_hash(seed: int, name: str) -> str:
    """What names are ordered by where a choice must not depend on their order."""
    return hashlib.sha256(f"{seed}\x1f{name}".encode()).hexdigest()


def _validate_both(sizes: Mapping[str, int], held: Mapping[str, int]) -> None:
    for label, n in sizes.items():
        n_held = held.get(label, 0)
        if n_held == 0 or n_held == n:
            empty = HOLDOUT if n_held == 0 else DEVELOPMENT
            raise CorpusError(
                f"the label {label!r} has {n} clip(s), and none can be in {empty}: each class "
                "needs two clusters or more, one of them held out; add clips of it, or leave it out"
            )
