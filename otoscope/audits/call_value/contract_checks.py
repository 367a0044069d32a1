"""Checks of what a contract fixed against what the tables now hold."""

import hashlib
from collections.abc import Mapping

from otoscope.audits.call_value.checks import Check
from otoscope.audits.call_value.schema import HOLDOUT
from otoscope.audits.call_value.tables import CallTables

PARSED = "parsed"
PROMPT_EXAMPLES = "prompt_examples"


def parsed_labels(tables: CallTables) -> dict[str, str]:
    """For each action the hash of its parsed labels, by example and prompt.

    Another parser, other synonyms or other answers give another hash. Labels of examples are not
    read.
    """
    main = tables.predictions[tables.predictions["fold_seed"].isna()]
    made = {}
    for action, rows in main.sort_values(["example_id", "prompt_id"]).groupby("action"):
        digest = hashlib.sha256()
        for cells in zip(rows["example_id"], rows["prompt_id"], rows["label"], strict=True):
            digest.update(repr([None if cell is None else str(cell) for cell in cells]).encode())
        made[str(action)] = digest.hexdigest()
    return made


def check_parsed(tables: CallTables, record: Mapping[str, object]) -> Check:
    """Whether predictions were parsed anew after the contract was written."""
    name = "parser, synonyms or answers changed after the contract"
    stored = record.get(PARSED)
    if not isinstance(stored, Mapping):
        return Check(name, "unknown", f"the contract has no {PARSED!r}; --init writes it")
    now = parsed_labels(tables)
    changed = sorted(action for action, sha256 in stored.items() if now.get(action) != sha256)
    detail = f"{len(stored)} actions have the labels that they had"
    return Check(name, "found" if changed else "passed", ", ".join(changed[:5]) or detail)


def check_prompt_examples(tables: CallTables, record: Mapping[str, object]) -> Check:
    """Whether examples that a prompt shows are held out."""
    name = "a held-out example shown in a prompt"
    shown = record.get(PROMPT_EXAMPLES)
    if not isinstance(shown, list):
        detail = f"the contract has no {PROMPT_EXAMPLES!r}: names of examples that prompts show"
        return Check(name, "unknown", detail)
    held = set(tables.examples.index[tables.examples["split"] == HOLDOUT])
    found = [str(example) for example in shown if str(example) in held]
    detail = ", ".join(found[:5]) or f"none of the {len(shown)} that the contract names"
    return Check(name, "found" if found else "passed", detail)
