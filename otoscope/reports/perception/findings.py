"""All tables of a report on perception runs, made from what was read."""

from collections.abc import Sequence
from dataclasses import dataclass

from otoscope.reports.perception import answers as answers_of
from otoscope.reports.perception import calls, scores
from otoscope.reports.perception.beside_published import published_sheet
from otoscope.reports.readings import BEEP, Answers, Run
from otoscope.reports.sheets import Sheet
from otoscope.statistics.breakdowns import Scores


@dataclass(frozen=True)
class Findings:
    """All tables of a report, and what its page needs beside them.

    Attributes:
        runs: In the order given.
        shown: The prompt that stands for each run in tables by category; None without any.
        scored: Runs that asked about the direction in clips, with their scores for that prompt.
        clips: Their answers, in the same order.
        tables: By section, in the order of the page; sections without a table are left out.
    """

    runs: tuple[Run, ...]
    shown: dict[str, str]
    scored: tuple[tuple[Run, Scores], ...]
    clips: tuple[Answers, ...]
    tables: dict[str, list[Sheet]]

    def sheet(self, name: str) -> Sheet | None:
        """The table of that name."""
        every = (sheet for section in self.tables.values() for sheet in section)
        return next((sheet for sheet in every if sheet.name == name), None)


def findings(runs: Sequence[Run]) -> Findings:
    """Every table from what was read; breakdowns that no run knows are left out."""
    shown = {run.name: base for run in runs if (base := scores.prompt_to_show(run, runs))}
    with_clips = [run for run in runs if run.name in shown]
    clips = [run.clips.where(base=shown[run.name]) for run in with_clips]
    answered = list(zip(with_clips, clips, strict=True))
    scored = [(run, scores.scores_of(mine)) for run, mine in answered]
    tables: dict[str, list[Sheet | None]] = {}
    if scored:
        tables["accuracy"] = [
            scores.accuracy_sheet(scored),
            scores.answers_sheet(scored, clips),
            published_sheet(answered, shown.values()),
        ]
        tables["breakdowns"] = [
            scores.breakdown_sheet(scored, "tier"),
            scores.tier_sheet(scored),
            scores.breakdown_sheet(scored, "curve"),
            scores.breakdown_sheet(scored, "direction"),
        ]
    tables |= {
        "bias": [answers_of.bias_sheet(answered)],
        "prompts": list(answers_of.prompt_sheets(runs)),
        "cross": list(answers_of.cross_sheets(runs)),
        "formats": list(answers_of.format_sheets(runs)),
        "beeps": list(_beeps(runs)),
        "no_effect": [answers_of.no_effect_sheet(answered)],
        "calls": [
            calls.status_sheet(runs),
            calls.unparsed_sheet(runs),
            calls.error_sheet(runs),
        ],
    }
    kept = {
        section: [sheet for sheet in found if sheet is not None and sheet.rows]
        for section, found in tables.items()
    }
    return Findings(
        tuple(runs),
        shown,
        tuple(scored),
        tuple(clips),
        {section: found for section, found in kept.items() if found},
    )


def _beeps(runs: Sequence[Run]) -> list[Sheet]:
    """Accuracy on beeps, for the first prompt asked about them."""
    answered, bases = [], []
    for run in runs:
        answers = run.answers.where(kind=BEEP).about_direction
        for base in answers.values("base")[:1]:
            answered.append((run, answers.where(base=base)))
            bases.append(base)
    if not answered:
        return []
    scored = [(run, scores.scores_of(mine)) for run, mine in answered]
    return [
        scores.accuracy_sheet(scored, "accuracy_on_beeps"),
        published_sheet(answered, bases, kind=BEEP),
    ]
