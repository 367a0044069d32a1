"""Run folders made for a test: questions and answers, without a model."""

from otoscope.audits.journal import open_journal
from otoscope.audits.perception import COLUMNS
from otoscope.audits.plans import CORE
from otoscope.audits.runs import write_plan
from otoscope.models.base import Answer

OTHER = {"increase": "decrease", "decrease": "increase"}


def question(name, *, prompt="main", category="volume", label="increase", **columns):
    """A row of a plan about a clip of that name."""
    return {
        "question_id": f"{name}|{prompt}",
        "id": name,
        "category": category,
        "attribute": category,
        "label": label,
        "labels": ["increase", "decrease"],
        "parser": "paper",
        "prompt_name": prompt,
        "prompt": f"Does the {category} increase or decrease over time?\n\nOne word.",
        "audio_ids": [name],
        "audio_sha256": [f"sha of {name}"],
        **columns,
    }


def write_run(folder, rows, answers=(), **about):
    """A run folder; answers are (question_id, Answer or text), None for one never answered."""
    about = {"audit": "perception", "model": folder.name, **about}
    write_plan(folder, rows, about, {**CORE, **COLUMNS})
    with open_journal(folder) as opened:
        for question_id, answer in answers:
            if answer is not None:
                answer = answer if isinstance(answer, Answer) else Answer(answer)
                opened.append(question_id, 0, answer)
    return folder


def right_or_wrong(rows, right):
    """Answers that are correct where `right` is true."""
    return [
        (row["question_id"], row["label"] if is_right else OTHER[row["label"]])
        for row, is_right in zip(rows, right, strict=True)
    ]
