"""Tables of how calls ended, and of answers that no rule could read."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from otoscope.reports.perception.scores import RUN, N
from otoscope.reports.readings import Answers, Run
from otoscope.reports.sheets import Column, Sheet
from otoscope.statistics.labels import ratio

N_ERRORS = 20


def unparsed_sheet(runs: Sequence[Run]) -> Sheet:
    """Answers that came and could not be read, by prompt, category and the rule that said so."""
    rows, rules = [], Counter[str]()
    for run in runs:
        for (base, category, kind), mine in _groups(run).items():
            fired = Counter(mine["rule"][mine["outcome"] == "unparsed"])
            rules += fired
            rows.append(
                {"run": run.name, "prompt": base, "category": category, "kind": kind}
                | {"n": len(mine), "n_unparsed": fired.total()}
                | {"share": ratio(fired.total(), len(mine))}
                | {f"rule: {rule}": count for rule, count in fired.items()}
            )
    kept = [row for row in rows if row["n_unparsed"]]
    return Sheet(
        "unparsed",
        "Answers that could not be read",
        (
            RUN, Column("prompt", "prompt"), Column("category", "category", "name"),
            Column("kind", "of"), N,
            Column("n_unparsed", "unparsed", "count"), Column("share", "unparsed, %", "share"),
            *(Column(f"rule: {rule}", rule, "count") for rule in sorted(rules)),
        ),
        tuple(kept),
        ("By the rule that found no label. Categories without such an answer are left out.",),
    )  # fmt: skip


def _groups(run: Run) -> dict[tuple[str, str, str], Answers]:
    """Answers by prompt, category and kind of question."""
    members: dict[tuple[str, str, str], list[int]] = {}
    keys = zip(*(run.answers[name] for name in ("base", "category", "kind")), strict=True)
    for i, key in enumerate(keys):
        members.setdefault(key, []).append(i)
    return {key: run.answers.at(np.array(places)) for key, places in members.items()}


def status_sheet(runs: Sequence[Run]) -> Sheet:
    """How the calls ended, by prompt."""
    statuses = ("ok", "refused", "filtered", "timeout", "error")
    rows = []
    for run in runs:
        for base in run.answers.values("base"):
            mine = run.answers.where(base=base)
            ended = Counter(mine["status"])
            rows.append(
                {"run": run.name, "prompt": base, "n": len(mine), "unanswered": ended[None]}
                | {status: ended[status] for status in statuses}
                | {
                    "second_try": _count(mine, "first_text", lambda text: text is not None),
                    "audio_truncated": _count(mine, "audio_truncated", bool),
                    "text_truncated": _count(mine, "text_truncated", bool),
                    "wall_s": _sum(mine, "wall_s"),
                    "cost": _sum(mine, "cost"),
                }
            )
    return Sheet(
        "calls",
        "How the calls ended",
        (
            RUN, Column("prompt", "prompt"), N, Column("unanswered", "never answered", "count"),
            *(Column(status, status, "count") for status in statuses),
            Column("second_try", "second try", "count"),
            Column("audio_truncated", "sound cut", "count"),
            Column("text_truncated", "answer cut", "count"),
            Column("wall_s", "seconds", "number"), Column("cost", "cost", "number"),
        ),
        tuple(rows),
        (
            "Sound cut: the model did not hear all of a clip. Answer cut: at the limit of tokens. "
            "Second try: the first answer could not be read and was asked again with more room.",
        ),
    )  # fmt: skip


def _count(answers: Answers, name: str, holds: Callable[[Any], bool]) -> int:
    return sum(1 for value in answers[name] if holds(value))


def _sum(answers: Answers, name: str) -> float | None:
    known = [value for value in answers[name] if value is not None]
    return float(sum(known)) if known else None


def error_sheet(runs: Sequence[Run]) -> Sheet:
    """What calls that ended badly said, the most frequent first."""
    rows = []
    for run in runs:
        bad = run.answers.at(~np.isin(run.answers["status"].astype(str), ["ok", "None"]))
        counts = Counter(zip(bad["status"], bad["detail"], strict=True))
        rows += [
            {"run": run.name, "status": status, "n": n, "detail": detail or "(nothing said)"}
            for (status, detail), n in counts.most_common(N_ERRORS)
        ]
    return Sheet(
        "errors",
        "What failed calls said",
        (RUN, Column("status", "status"), N, Column("detail", "message", "raw")),
        tuple(rows),
        (f"At most {N_ERRORS} different messages of each run.",),
    )
