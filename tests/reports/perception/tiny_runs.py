"""Run folders made by hand: a plan, and answers as they would have come."""

import json

from otoscope.audits.perception import COLUMNS
from otoscope.audits.plans import CORE
from otoscope.audits.runs import write_plan
from otoscope.prompts import PROMPTS

ABOUT = {"audit": "perception", "model": "transformers:org/model@abc", "partial": ""}


def row(name="main", category="volume", direction="up", **known):
    """A planned question; `clip` distinguishes clips of one condition."""
    base, _, attribute = name.partition("@")
    prompt = PROMPTS[base]
    clip = known.pop("clip", "0")
    row_id = f"test-{category}-{clip}-{known.get('tier', '')}-{known.get('curve', '')}-{direction}"
    own = prompt.clip_label or {"up": "increase", "down": "decrease"}.get(direction)
    return {
        "question_id": f"{row_id}|{name}",
        "id": row_id,
        "category": category,
        "attribute": (attribute or category).replace("_", " "),
        "label": prompt.source_label if category == "source" else own,
        "labels": list(prompt.labels),
        "parser": prompt.parser,
        "prompt_name": name,
        "prompt": prompt.text((attribute or category).replace("_", " ")),
        "audio_ids": [row_id],
        "direction": direction if category != "source" else None,
    } | known


def answer_line(text, status="ok", **more):
    """An answer as it is in the file."""
    return {"text": text, "status": status, **more}


def write_run(run, questions, **about):
    """A run folder; `questions` are pairs of a row and its answer, a text, or None for none."""
    write_plan(run, [planned for planned, _ in questions], ABOUT | about, {**CORE, **COLUMNS})
    lines = [
        {"question_id": planned["question_id"], "attempt": 1}
        | (answer if isinstance(answer, dict) else answer_line(answer))
        for planned, answer in questions
        if answer is not None
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (run / "answers" / "rank-000.jsonl").write_text(text)
    return run


def eight_and_four(no_effect=True):
    """Volume: 3 of 8 right, and every way of not being right. Echo, without effect: 4 of 4."""
    volume = {
        ("p1", "low", "up"): "increase",
        ("p1", "low", "down"): "Decrease.",
        ("p1", "high", "up"): "It increases over time.",
        ("p1", "high", "down"): "increase",
        ("p2", "low", "up"): "no idea",
        ("p2", "low", "down"): answer_line(None, "error", detail="HTTP 500"),
        ("p2", "high", "up"): answer_line("increase", "refused"),
        ("p2", "high", "down"): None,
    }
    questions = [
        (row(direction=d, tier=tier, clip=source, source_id=source, no_effect=False), answer)
        for (source, tier, d), answer in volume.items()
    ]
    for source in ("p1", "p2"):
        for direction, answer in (("up", "increase"), ("down", "decrease")):
            known = {"tier": "mid", "clip": source, "source_id": source, "no_effect": no_effect}
            questions.append((row(category="echo", direction=direction, **known), answer))
    return questions
