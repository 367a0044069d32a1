"""The results of the VocalGrad paper, as counts, and its tables computed from them.

Source: `../data/README.md`. Row names are the names in the data. Where a table of the paper leaves
out models that were run (few-shot with Audio Flamingo 3, where every answer was an error), they are
here.
"""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import pandas as pd

from otoscope.registry import Registry
from otoscope.reports.tables import (
    ACCURACY_OF,
    ReportTable,
    ShareOf,
    TableColumn,
    Ties,
    cross_shares,
    share_matrix,
)

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


class PublishedTable(NamedTuple):
    """Which results a table is about, and what its rows and columns are."""

    title: str
    query: str
    row: str = "model"
    column: str = "test_category"
    columns: tuple[str, ...] = CATEGORIES
    ties: Ties = "even"


PUBLISHED: Registry[PublishedTable] = Registry(
    "published table",
    {
        # model rows of Table 2; clip half of Table 9
        "main": PublishedTable("main question", "experiment == 'main'"),
        # Tables 10 and 11
        "audio_ref": PublishedTable("audio_ref", "experiment == 'prompt_audio_ref'"),
        "swap_order": PublishedTable("swap_order", "experiment == 'prompt_swap_order'"),
        # Table 14: two examples of each direction before the question
        "few_shot": PublishedTable("few-shot", "experiment == 'fewshot_2x2'"),
        # Table 3, where 111 of 240 is printed as 46.3
        "beeps": PublishedTable(
            "beeps", "experiment == 'beep_ablation'", columns=PUBLISHED_BEEP_COLUMNS, ties="up"
        ),
        # Table 15
        "variants": PublishedTable(
            "kimi-audio, order and corpora", "model == 'kimi-audio' and variant.notna()", "variant"
        ),
        # Figure 8: category of the clip by word in the question
        **{
            f"cross_attribute {model}": PublishedTable(
                f"{model}, clip by word in the question",
                f"experiment == 'cross_attribute' and model == '{model}'",
                "test_category",
                "prompt_variant",
            )
            for model in ("kimi-audio", "mimo-audio")
        },
        # Figure 4
        **{
            f"transfer {scope}": PublishedTable(
                f"kimi-audio fine-tuned ({scope}), trained on by tested on",
                "experiment == 'finetune_eval' and model == 'kimi-audio' "
                f"and scope == '{scope}'",
                "train_category",
            )
            for scope in PUBLISHED_SCOPES
        },
        # Tables 4 and 20
        "in_domain": PublishedTable(
            "fine-tuned, tested on the category trained on",
            "experiment == 'finetune_eval' and train_category == test_category",
            "model_and_scope",
        ),
        # Table 13: each prompt is worded for one category
        "paraphrases": PublishedTable(
            "kimi-audio, paraphrases", "experiment == 'paraphrase'", "prompt_variant",
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
