"""Tables of how model calls ended, and of answers that no parser rule could read."""

from collections import Counter
from collections.abc import Sequence

import pandas as pd

from otoscope.models.base import Status
from otoscope.reports.perception.reading import PerceptionRun
from otoscope.reports.perception.scores import CATEGORY, PROMPT, RUN, N
from otoscope.reports.tables import ReportTable, TableColumn
from otoscope.responses import open_parser
from otoscope.statistics.labels import ratio

N_ERRORS = 20


def unparsed_table(runs: Sequence[PerceptionRun]) -> ReportTable:
    """Unparsed answers by prompt, category and the rule that found no label."""
    rows, rules = [], set[str]()
    for run in runs:
        groups = run.answers.groupby(["base_prompt", "category", "kind"], sort=False)
        for (base, category, kind), own in groups:
            fired = Counter(own["rule"][own["outcome"] == "unparsed"])
            rules |= fired.keys()
            rows.append(
                {"run": run.name, "prompt": base, "category": category, "kind": kind}
                | {"n": len(own), "n_unparsed": fired.total()}
                | {"share": ratio(fired.total(), len(own))}
                | {f"rule: {rule}": count for rule, count in fired.items()}
            )
    return ReportTable(
        "unparsed",
        "Unparsed answers",
        (
            RUN, PROMPT, CATEGORY, TableColumn("kind", "question about"), N,
            TableColumn("n_unparsed", "unparsed", "count"),
            TableColumn("share", "unparsed, %", "share"),
            *(TableColumn(f"rule: {rule}", rule, "count") for rule in sorted(rules)),
        ),
        tuple(row for row in rows if row["n_unparsed"]),
        ("By the parser rule that found no label. Categories without such answers are left out.",),
    )  # fmt: skip


def status_table(runs: Sequence[PerceptionRun]) -> ReportTable:
    """How the calls ended, by prompt."""
    statuses = [status.value for status in Status]
    rows = []
    for run in runs:
        for base, own in run.answers.groupby("base_prompt", sort=False):
            ended = Counter(own["status"])
            rows.append(
                {"run": run.name, "prompt": base, "n": len(own), "unanswered": ended[None]}
                | {status: ended[status] for status in statuses}
                | {
                    "retried_on_parse_failure": _retried_on_parse_failure(own),
                    "audio_truncated": int((own["audio_truncated"] == True).sum()),  # noqa: E712
                    "text_truncated": int((own["text_truncated"] == True).sum()),  # noqa: E712
                    "wall_s": _sum(own["wall_s"]),
                    "cost": _sum(own["cost"]),
                }
            )
    return ReportTable(
        "calls",
        "Model calls",
        (
            RUN, PROMPT, N, TableColumn("unanswered", "unanswered", "count"),
            *(TableColumn(status, status, "count") for status in statuses),
            TableColumn("retried_on_parse_failure", "retried on parse failure", "count"),
            TableColumn("audio_truncated", "audio truncated", "count"),
            TableColumn("text_truncated", "answer truncated", "count"),
            TableColumn("wall_s", "seconds", "number"), TableColumn("cost", "cost", "number"),
        ),
        tuple(rows),
        (
            "Audio truncated: the model's input did not hold the whole clip. Answer truncated: at "
            "the token limit. Retried on parse failure: the first answer was unparsed and the "
            "request was repeated with a higher token limit.",
        ),
    )  # fmt: skip


def _sum(values: pd.Series) -> float | None:
    known = values.dropna()
    return float(known.sum()) if len(known) else None


def error_table(runs: Sequence[PerceptionRun]) -> ReportTable:
    """Messages of calls that failed, the most frequent first."""
    rows = []
    for run in runs:
        status = run.answers["status"]
        failed = run.answers[status.notna() & (status != Status.OK.value)]
        counts = Counter(zip(failed["status"], failed["detail"], strict=True))
        rows += [
            {"run": run.name, "status": status, "n": n, "detail": detail or "(no message)"}
            for (status, detail), n in counts.most_common(N_ERRORS)
        ]
    return ReportTable(
        "errors",
        "Messages of failed calls",
        (RUN, TableColumn("status", "status"), N, TableColumn("detail", "message", "raw")),
        tuple(rows),
        (f"At most {N_ERRORS} different messages of each run.",),
    )


def _retried_on_parse_failure(answers: pd.DataFrame) -> int:
    """Answers that replaced one without a label; other rules of retries at once may be in use."""
    retried = answers[answers["first_text"].notna() & (answers["parser"] != "")]
    pairs = zip(retried["parser"], retried["first_text"], strict=True)
    return sum(open_parser(parser)(text).label is None for parser, text in pairs)
