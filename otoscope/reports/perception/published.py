"""The numbers of the VocalGrad paper, as counts, and its tables made from them.

Source: `data/README.md`. Row names are the names in the data. Where a table of the paper leaves out
models that were run (few-shot with Audio Flamingo 3, where every answer was an error), they are
here.
"""

import csv
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from otoscope.registry import Registry
from otoscope.reports.tables import Measure, Table, Tally, accuracy, tabulate

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
BEEP_CATEGORIES = ("background_noise", "voice_pitch", "voice_vibration", "volume")
PROMPT_EXPERIMENTS = Registry(
    "published prompt", {"audio_ref": "prompt_audio_ref", "swap_order": "prompt_swap_order"}
)
VARIANTS = {
    "main": "main",
    "audio before the question": "audio_then_query",
    "LoquaciousSet": "source_loquaciousset",
    "Common Voice": "source_commonvoice_spontaneous",
}
SCOPES = ("lm_head_only", "all_linear")


class Result(NamedTuple):
    """One published result file; a text is empty where it does not apply."""

    experiment: str
    model: str
    scope: str
    train_category: str
    test_category: str
    prompt_variant: str
    tally: Tally


@cache
def results() -> tuple[Result, ...]:
    """All 587 published results, in the order of the file."""
    path = files("otoscope.reports") / "data" / "published_metrics_587.csv"
    return tuple(_result(row) for row in csv.DictReader(path.read_text("utf-8").splitlines()))


def _result(row: dict[str, str]) -> Result:
    n, n_unparsed, share = int(row["n"]), int(row["n_unparsed"]), row["increase_ratio_parsed"]
    said = round(float(share) * (n - n_unparsed)) if share else None
    tally = Tally(n, int(row["n_correct"]), n_unparsed, said)
    return Result(
        row["experiment"],
        row["model"],
        row["scope"],
        row["train_category"],
        row["test_category"],
        row["prompt_variant"],
        tally,
    )


def main_table(measure: Measure = accuracy) -> Table:
    """Models by category with the main question (model rows of Table 2; clip half of Table 9)."""
    return _by_model("main", "main question", measure)


def prompt_table(prompt: str, measure: Measure = accuracy) -> Table:
    """Models by category with a variant of the question (Tables 10 and 11).

    Args:
        prompt: `swap_order` or `audio_ref`.
        measure: What to show.

    Raises:
        LookupError: No results were published for that prompt.
    """
    return _by_model(PROMPT_EXPERIMENTS[prompt], prompt, measure)


def few_shot_table(measure: Measure = accuracy) -> Table:
    """Models by category with two examples of each direction before the question (Table 14)."""
    return _by_model("fewshot_2x2", "few-shot", measure)


def beep_table(measure: Measure = accuracy) -> Table:
    """Models by category on beeps (Table 3), where 111 of 240 is printed as 46.3: ties go up."""
    return replace(_by_model("beep_ablation", "beeps", measure, BEEP_CATEGORIES), ties="up")


def variant_table(measure: Measure = accuracy) -> Table:
    """Kimi-Audio with the clip before the question, and on other corpora (Table 15)."""
    names = {experiment: name for name, experiment in VARIANTS.items()}
    return _table(
        (r for e in VARIANTS.values() for r in results() if r.experiment == e),
        lambda r: names[r.experiment],
        title="kimi-audio, order and corpora",
        corner="variant",
        measure=measure,
        only=lambda r: r.model == "kimi-audio",
    )


def cross_attribute_table(model: str, measure: Measure = accuracy) -> Table:
    """What was done to the clip (row) by the word in the question (column) (Figure 8)."""
    return _table(
        results(),
        lambda r: r.test_category,
        lambda r: r.prompt_variant,
        title=f"{model}, category of the clip by word in the question",
        corner="clip",
        measure=measure,
        only=lambda r: r.experiment == "cross_attribute" and r.model == model,
    )


def transfer_table(scope: str, measure: Measure = accuracy) -> Table:
    """Kimi-Audio, trained on one category (row), tested on another (column) (Figure 4).

    Args:
        scope: `lm_head_only` or `all_linear`.
        measure: What to show.
    """
    return _table(
        results(),
        lambda r: r.train_category,
        title=f"kimi-audio fine-tuned ({scope}), trained on by tested on",
        corner="trained on",
        measure=measure,
        only=lambda r: (
            r.experiment == "finetune_eval" and (r.model, r.scope) == ("kimi-audio", scope)
        ),
    )


def in_domain_table(measure: Measure = accuracy) -> Table:
    """Each model tested on the category it was trained on (Tables 4 and 20)."""
    return _table(
        results(),
        lambda r: f"{r.model} {r.scope}",
        title="fine-tuned, tested on the category trained on",
        corner="model",
        measure=measure,
        only=lambda r: r.experiment == "finetune_eval" and r.train_category == r.test_category,
    )


def paraphrase_table(measure: Measure = accuracy) -> Table:
    """Kimi-Audio asked in other words (Table 13): a row each, under its only category."""
    return _table(
        results(),
        lambda r: r.prompt_variant,
        title="kimi-audio, other wordings",
        corner="wording",
        measure=measure,
        columns=("volume", "voice_pitch", "speaking_speed"),
        only=lambda r: r.experiment == "paraphrase",
        averages=False,
    )


def _by_model(
    experiment: str, title: str, measure: Measure, columns: tuple[str, ...] = CATEGORIES
) -> Table:
    return _table(
        results(),
        lambda r: r.model,
        title=title,
        corner="model",
        measure=measure,
        columns=columns,
        only=lambda r: r.experiment == experiment,
    )


def _table(
    chosen: Iterable[Result],
    row: Callable[[Result], str],
    column: Callable[[Result], str] = lambda r: r.test_category,
    *,
    title: str,
    corner: str,
    measure: Measure,
    only: Callable[[Result], bool],
    columns: tuple[str, ...] = CATEGORIES,
    averages: bool = True,
) -> Table:
    tallies = {(row(r), column(r)): r.tally for r in chosen if only(r)}
    return tabulate(
        tallies, title=title, corner=corner, measure=measure, columns=columns, averages=averages
    )
