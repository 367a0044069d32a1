"""Contracts of published audits, written for somebody's tables.

To add one, put NAME.json into `data/`: the keys of a contract that do not depend on tables.
"""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from otoscope.audits.call_value.contract import Route
from otoscope.audits.call_value.first_contract import first_contract
from otoscope.audits.call_value.schema import GENERATIVE, CallValueError
from otoscope.audits.call_value.tables import CallTables
from otoscope.errors import first_names

COPIED = ("features", "interactions", "C", "folds", "primary", "margin", "notes")


def template_names() -> list[str]:
    """Names of the templates, sorted."""
    found = (files("otoscope.audits.call_value") / "data").iterdir()
    return sorted(own.name.removesuffix(".json") for own in found if own.name.endswith(".json"))


def read_template(name: str) -> dict[str, Any]:
    """A template.

    Raises:
        CallValueError: There is none of that name.
    """
    if name not in template_names():
        raise CallValueError(f"no template {name!r}; there are {', '.join(template_names())}")
    path = files("otoscope.audits.call_value") / "data" / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def contract_of_template(name: str, tables: CallTables) -> tuple[dict[str, Any], list[str]]:
    """A template's contract for tables, without what they lack, and sentences about that.

    Splits, costs and hashes are those of the tables.

    Raises:
        CallValueError: No such template; tables with a label outside its set, an action of another
            kind, or without a local or a generative one of its actions.
    """
    template, first = read_template(name), first_contract(tables)
    known = first["actions"]
    if outside := sorted(set(first["labels"]) - set(template["labels"])):
        raise CallValueError(
            f"{name}: the tables have labels outside its set {template['labels']}: "
            f"{first_names(outside)}"
        )
    actions, controllers = (_there(template[key], known) for key in ("actions", "controllers"))
    kinds = {own["kind"] for own in actions.values()}
    if GENERATIVE not in kinds or len(kinds) < 2:
        raise CallValueError(
            f"{name}: the tables lack a generative or a local one of its actions "
            f"({', '.join(template['actions'])}); they have {', '.join(known)}"
        )
    dearest = max(own["cost"] for own in actions.values()) or 1.0
    for own in (*actions.values(), *controllers.values()):
        own["cost"] = min(1.0, float(f"{own['cost'] / dearest:.6g}"))
    names = {*actions, *controllers}
    routes = [own for own in template["routes"] if {own["first"], own["call"]} <= names]
    lost = {_name(own) for own in template["routes"] if own not in routes}
    absent = {*template["actions"], *template["controllers"]} - names
    tests = [pair for pair in template["tests"] if not {*pair} & (lost | absent)]
    record = first | {key: template[key] for key in COPIED}
    record |= {
        "task": tables.task or template["task"],
        "labels": template["labels"],
        "features": [own for own in template["features"] if own in first["features"]],
        "actions": actions,
        "controllers": controllers,
        "routes": routes,
        "tests": tests,
    }
    left_out = {
        "the tables lack": sorted(absent),
        "routes left out": sorted(lost),
        "tests left out": [" − ".join(pair) for pair in template["tests"] if pair not in tests],
        "features left out": [own for own in template["features"] if own not in record["features"]],
        "predictions that it does not use": sorted(set(known) - names),
        "another task": [tables.task] if tables.task not in ("", template["task"]) else [],
    }
    return record, [f"{name}: {what}: {', '.join(own)}" for what, own in left_out.items() if own]


def _there(
    wanted: Mapping[str, Mapping[str, Any]], known: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    for name, own in wanted.items():
        if name in known and known[name]["kind"] != own["kind"]:
            raise CallValueError(
                f"{name!r} is {own['kind']} in the template and {known[name]['kind']} in the tables"
            )
    return {name: {**own, **known[name]} for name, own in wanted.items() if name in known}


def _name(route: Mapping[str, Any]) -> str:
    return Route(route["first"], route["call"], route["budget"], route.get("quota", False)).name
