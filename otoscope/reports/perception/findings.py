"""All tables of a report on perception runs."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from otoscope.reports.perception import answers as predicted
from otoscope.reports.perception import bias, calls, formats, scores
from otoscope.reports.perception.beside_published import comparison_table
from otoscope.reports.perception.reading import BEEP, PerceptionRun, about_direction
from otoscope.reports.perception.summary import summaries
from otoscope.reports.tables import ReportTable
from otoscope.statistics.breakdowns import Scores


@dataclass(frozen=True)
class PerceptionFindings:
    """All tables of a report, and what its page needs beside them.

    Attributes:
        runs: In the order given.
        prompts: The prompt that represents each run in tables by category; runs without one are
            left out.
        scored: Runs with questions about the direction in clips, with their scores for that prompt.
        clips: Their answers, in the same order.
        sections: Tables by section, in the order of the page; none is empty.
    """

    runs: tuple[PerceptionRun, ...]
    prompts: dict[str, str]
    scored: tuple[tuple[PerceptionRun, Scores], ...]
    clips: tuple[pd.DataFrame, ...]
    sections: dict[str, list[ReportTable]]

    @property
    def tables(self) -> dict[str, ReportTable]:
        """Every table by name."""
        return {table.name: table for section in self.sections.values() for table in section}

    @property
    def summaries(self) -> dict[str, str]:
        """A few sentences on each run that has an accuracy."""
        return summaries(self.tables, [run.name for run in self.runs])


def findings(runs: Sequence[PerceptionRun]) -> PerceptionFindings:
    """Every table; breakdowns that no run has are left out."""
    prompts = {run.name: base for run in runs if (base := scores.selected_prompt(run, runs))}
    with_clips = [run for run in runs if run.name in prompts]
    clips = [run.clips[run.clips["base_prompt"] == prompts[run.name]] for run in with_clips]
    answered = list(zip(with_clips, clips, strict=True))
    scored = [(run, scores.scores_of(own)) for run, own in answered]
    by_name = dict(zip((run.name for run in with_clips), clips, strict=True))
    all_answered = [(run, by_name.get(run.name, run.clips)) for run in runs]
    sections: dict[str, list[ReportTable | None]] = {}
    if scored:
        sections["accuracy"] = [
            scores.accuracy_table(scored),
            scores.outcomes_table(scored, clips),
            comparison_table(answered, next(iter(prompts.values()))),
        ]
        sections["breakdowns"] = [
            scores.breakdown_table(scored, "tier"),
            scores.tier_table(scored),
            scores.breakdown_table(scored, "curve"),
            scores.breakdown_table(scored, "direction"),
        ]
    sections |= {
        "bias": [bias.extremes_table(all_answered), bias.bias_table(all_answered)],
        "prompts": [*predicted.prompt_tables(runs)],
        "cross": [*predicted.cross_tables(runs)],
        "formats": [*formats.format_tables(runs)],
        "beeps": [*_beeps(runs)],
        "no_effect": [predicted.no_effect_table(scored)],
        "calls": [calls.status_table(runs), calls.unparsed_table(runs), calls.error_table(runs)],
    }
    filled = {
        name: [table for table in section if table is not None and table.rows]
        for name, section in sections.items()
    }
    return PerceptionFindings(
        tuple(runs),
        prompts,
        tuple(scored),
        tuple(clips),
        {name: section for name, section in filled.items() if section},
    )


def _beeps(runs: Sequence[PerceptionRun]) -> list[ReportTable]:
    """Accuracy on beeps, for the first prompt about them."""
    answered = []
    for run in runs:
        answers = about_direction(run.answers[run.answers["kind"] == BEEP])
        if len(answers):
            first = answers["base_prompt"].iloc[0]
            answered.append((run, answers[answers["base_prompt"] == first]))
    if not answered:
        return []
    scored = [(run, scores.scores_of(own)) for run, own in answered]
    return [
        scores.accuracy_table(scored, "accuracy_on_beeps"),
        comparison_table(answered, "beeps", kind=BEEP),
    ]
