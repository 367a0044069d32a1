"""The results of the VocalGrad paper, as counts, and its tables computed from them.

Source: `../data/README.md`. Row names are the names in the data. Where a table of the paper leaves
out models that were run (few-shot with Audio Flamingo 3, where every answer was an error), they are
here.
"""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from otoscope.registry import Registry
from otoscope.reports.tables import (
    ACCURACY_OF,
    INCREASE_RATE_OF,
    PARSE_RATE_OF,
    ReportTable,
    ShareOf,
    TableColumn,
    Ties,
    cross_shares,
    share_matrix,
    with_interval,
)
from otoscope.statistics.intervals import named_interval
from otoscope.statistics.simulation import SEED, binomial_simulation

CATEGORIES = (
    "audio_distortion",
    "audio_roughness",
    "background_noise",
    "echo",
    "speaking_speed",
    "voice_clarity",
    "voice_pitch",
    "voice_vibration",
    "volume",
)
PUBLISHED_BEEP_COLUMNS = ("background_noise", "voice_pitch", "voice_vibration", "volume")
VARIANTS = {
    "main": "main",
    "audio_then_query": "audio before the question",
    "source_loquaciousset": "LoquaciousSet",
    "source_commonvoice_spontaneous": "Common Voice",
}
PUBLISHED_SCOPES = ("lm_head_only", "all_linear")
SHARES = {"accuracy": ACCURACY_OF, "increase": INCREASE_RATE_OF, "parsed": PARSE_RATE_OF}
"""What a published table can show."""


class PublishedTable(NamedTuple):
    """Which results a table is about, and what its rows and columns are.

    Attributes:
        title: What it shows.
        paper: The tables and figures of the paper with these results.
        query: Which of `results`.
    """

    title: str
    paper: str
    query: str
    row: str = "model"
    column: str = "test_category"
    columns: tuple[str, ...] = CATEGORIES
    ties: Ties = "even"


PUBLISHED: Registry[PublishedTable] = Registry(
    "published table",
    {
        "main": PublishedTable(
            "main question", "Tables 2 and 9 (answers about clips), Figure 7",
            "experiment == 'main'",
        ),
        "audio_ref": PublishedTable("audio_ref", "Table 11", "experiment == 'prompt_audio_ref'"),
        "swap_order": PublishedTable("swap_order", "Table 10", "experiment == 'prompt_swap_order'"),
        "few_shot": PublishedTable(  # two examples of each direction before the question
            "few-shot", "Table 14", "experiment == 'fewshot_2x2'"
        ),
        "beeps": PublishedTable(  # 111 of 240 is printed as 46.3
            "beeps", "Table 3", "experiment == 'beep_ablation'", columns=PUBLISHED_BEEP_COLUMNS,
            ties="up",
        ),
        "variants": PublishedTable(
            "kimi-audio, order and corpora", "Table 15, appendix C.10",
            "model == 'kimi-audio' and variant.notna()", "variant",
        ),
        **{
            f"cross_attribute {model}": PublishedTable(
                f"{model}, category of the clip by word in the question",
                "Figure 8",
                f"experiment == 'cross_attribute' and model == '{model}'",
                "test_category",
                "prompt_variant",
            )
            for model in ("kimi-audio", "mimo-audio")
        },
        **{
            f"transfer {scope}": PublishedTable(
                f"kimi-audio fine-tuned ({scope}), trained on by tested on",
                "Figure 4",
                "experiment == 'finetune_eval' and model == 'kimi-audio' "
                f"and scope == '{scope}'",
                "train_category",
            )
            for scope in PUBLISHED_SCOPES
        },
        "in_domain": PublishedTable(
            "fine-tuned, tested on the category trained on", "Tables 4 and 20",
            "experiment == 'finetune_eval' and train_category == test_category",
            "model_and_scope",
        ),
        "paraphrases": PublishedTable(  # each prompt is worded for one category
            "kimi-audio, paraphrases", "Table 13", "experiment == 'paraphrase'", "prompt_variant",
            columns=("volume", "voice_pitch", "speaking_speed"),
        ),
    },
)  # fmt: skip


@cache
def results() -> pd.DataFrame:
    """All 587 published results in the order of the file, with exact counts; not to be changed.

    Beside the file's columns, where a text is empty if it does not apply: `n_parsed`; `n_increase`,
    missing where it is not known; `variant`, missing outside the table of variants;
    `model_and_scope`.
    """
    path = files("otoscope.reports") / "data" / "published_metrics_587.csv"
    with path.open("rb") as file:
        table = pd.read_csv(file, keep_default_na=False, na_values={"increase_ratio_parsed": [""]})
    parsed = table["n"] - table["n_unparsed"]
    return table.assign(
        n_parsed=parsed,
        n_increase=(table["increase_ratio_parsed"] * parsed).round().astype("Int64"),
        variant=table["experiment"].map(VARIANTS),
        model_and_scope=table["model"] + " " + table["scope"],
    )


def published_table(
    name: str, share: ShareOf = ACCURACY_OF, columns: Sequence[str] = ()
) -> ReportTable:
    """A table of the paper; its rows have exact shares.

    Args:
        name: In `PUBLISHED`.
        share: What to show.
        columns: Which columns, and so what averages are over; those of the paper by default.

    Raises:
        LookupError: No table has that name.
    """
    chosen = PUBLISHED[name]
    columns = columns or chosen.columns
    counts = results().query(chosen.query, engine="python")
    rows = cross_shares(counts, chosen.row, chosen.column, share, columns=columns)
    average = TableColumn("average", "average", "share")
    corner = (TableColumn(chosen.row, chosen.row, "name"), average)
    return share_matrix(name, chosen.title, corner, columns, rows, ties=chosen.ties)


def published_intervals(name: str) -> ReportTable:
    """Accuracies of a published table, each with its simulated interval.

    The draws are those of the published rule: one generator, row by row. The figure of the paper
    drew for people first, whose counts are not public, so its last digits may differ.

    Args:
        name: In `PUBLISHED`.

    Raises:
        LookupError: No table has that name.
    """
    chosen = PUBLISHED[name]
    counts = results().query(chosen.query, engine="python")
    rng = np.random.default_rng(SEED)
    rows: list[dict[str, Any]] = []
    for row in dict.fromkeys(counts[chosen.row]):
        own = counts[counts[chosen.row] == row].set_index(chosen.column)
        for column in (c for c in chosen.columns if c in own.index):
            n_correct, n = int(own["n_correct"][column]), int(own["n"][column])
            interval = binomial_simulation(n_correct, n, rng=rng)
            rows.append(
                {chosen.row: row, chosen.column: column, "n": n}
                | named_interval("accuracy", interval)
            )
    return ReportTable(
        name,
        f"{chosen.title}: accuracy with the published interval",
        (
            TableColumn(chosen.row, chosen.row, "name"),
            TableColumn(chosen.column, chosen.column, "name"),
            *with_interval("accuracy", "accuracy, %", "95 % CI, simulated"),
            TableColumn("n", "questions", "count"),
        ),
        tuple(rows),
        ("Simulated: binomial draws, which take clips as independent.",),
        chosen.ties,
    )


def published_list() -> ReportTable:
    """The tables that there are, and where the paper has them."""
    columns = (
        TableColumn("name", "table"),
        TableColumn("paper", "in the paper"),
        TableColumn("title", "what"),
    )
    rows = tuple({"name": name, **table._asdict()} for name, table in PUBLISHED.items())
    return ReportTable("published", "Published tables", columns, rows)
