"""What holds of every folder in `metrics/`: each is one Space, loads by path and works offline."""

import ast
import doctest
import inspect
import json
import re
import runpy
import sys
from pathlib import Path
from unittest.mock import MagicMock

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(path.parent for path in ROOT.glob("metrics/*/README.md"))

pytestmark = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)

ANSWERS = ["Increase", "it decreases", None, "", "both increase and decrease", "increase."]
GOLD = ["increase", "decrease", "increase", "decrease", "decrease", "increase"]


@pytest.fixture
def metric(folder, load_metric):
    return load_metric(folder.name)


def arguments(metric, answers, gold):
    known = {"predictions": answers, "baselines": answers[::-1], "references": gold}
    labels = {"labels": ["decrease", "increase"]} if "labels" in parameters(metric) else {}
    return {name: known[name] for name in metric.features} | labels


def parameters(metric):
    return inspect.signature(metric._compute).parameters


def test_loads_from_its_folder_and_names_itself(metric, folder):
    assert metric.name == folder.name


def test_readme_is_a_space_card_and_its_examples_run(folder, load_metric, monkeypatch):
    monkeypatch.chdir(ROOT)
    text = (folder / "README.md").read_text(encoding="utf-8")
    card = yaml.safe_load(text.split("---")[1])
    assert card["sdk"] == "gradio"
    assert re.fullmatch(r"\d+\.\d+\.\d+", card["sdk_version"])
    assert (folder / card["app_file"]).is_file()
    assert {"evaluate", "metric"} <= set(card["tags"])
    failed, tried = doctest.testfile(str(folder / "README.md"), module_relative=False)
    assert tried > 0
    assert failed == 0


def test_takes_named_arguments_only(metric):
    kinds = {p.kind for p in parameters(metric).values()}
    assert kinds == {inspect.Parameter.POSITIONAL_OR_KEYWORD}


def test_documents_every_argument(metric):
    for name in parameters(metric):
        assert f"{name}:" in metric.inputs_description


def test_imports_one_module_a_line_because_evaluate_reads_them_with_a_pattern(folder):
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert len(node.names) == 1, f"{path}: line {node.lineno}"


def test_has_no_arithmetic(folder):
    tree = ast.parse((folder / f"{folder.name}.py").read_text(encoding="utf-8"))
    assert not [node.lineno for node in ast.walk(tree) if isinstance(node, ast.BinOp)]


def test_is_short(folder):
    assert len((folder / f"{folder.name}.py").read_text(encoding="utf-8").splitlines()) <= 60


def test_app_is_one_that_a_space_can_run(folder):
    tree = ast.parse((folder / "app.py").read_text(encoding="utf-8"))
    assert any(isinstance(node, ast.If) for node in tree.body), "launch only when run"


def test_app_scores_from_any_folder(folder, load_metric, tmp_path, monkeypatch):
    # gradio is replaced: only the page's own function is of interest
    monkeypatch.setitem(sys.modules, "gradio", MagicMock())
    monkeypatch.chdir(tmp_path)
    page = runpy.run_path(str(folder / "app.py"))
    answers, labels = "increase\nIt decreases.", "increase\nincrease"
    given = {"answers": answers, "parser": "ternary", "references": labels}
    given |= {"predictions": labels, "baselines": labels}
    asked = inspect.signature(page["score"]).parameters
    result = json.loads(page["score"](**{name: given[name] for name in asked}))
    assert result["n"] == 2


@pytest.mark.parametrize(
    ("answers", "gold"),
    [
        (ANSWERS, GOLD),
        ([], []),
        ([None, None], GOLD[:2]),
        (["increase"] * 4, ["increase"] * 4),
        (["increase"] * 4, ["decrease"] * 4),
        ([None, "increase"], ["increase", "decrease"]),
    ],
    ids=["mixed", "empty", "all unparsed", "all right", "all wrong", "first is null"],
)
def test_result_is_ready_for_strict_json(metric, answers, gold):
    result = metric.compute(**arguments(metric, answers, gold))
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert result["n"] == len(answers)


def test_adding_in_parts_is_the_same_as_all_at_once(metric):
    whole = arguments(metric, ANSWERS, GOLD)
    columns = {name: whole.pop(name) for name in metric.features}
    for i in range(2):
        single = {name: values[i] for name, values in columns.items()}
        prediction, reference = single.pop("predictions"), single.pop("references", None)
        metric.add(prediction=prediction, reference=reference, **single)
    metric.add_batch(**{name: values[2:] for name, values in columns.items()})
    parts = metric.compute(**whole)
    assert parts == metric.compute(**columns, **whole)


def test_breakdown_of_one_value_repeats_the_whole(metric):
    whole = metric.compute(**arguments(metric, ANSWERS, GOLD))
    result = metric.compute(**arguments(metric, ANSWERS, GOLD), by={"tier": ["low"] * len(GOLD)})
    assert result.pop("tier") == {"low": whole}
    assert result == whole


def test_groups_add_up_to_the_whole(metric):
    tiers = ["low", "mid", "low", "high", "mid", "low"]
    result = metric.compute(**arguments(metric, ANSWERS, GOLD), by={"tier": tiers})
    assert {tier: scores["n"] for tier, scores in result["tier"].items()} == {
        "high": 1, "low": 3, "mid": 2,
    }  # fmt: skip
    assert sum(scores["n_parsed"] for scores in result["tier"].values()) == result["n_parsed"]


def test_unknown_parser_is_named(metric):
    if "parser" not in parameters(metric):
        pytest.skip("takes labels")
    with pytest.raises(LookupError, match="no parser named 'papper'; did you mean 'paper'"):
        metric.compute(**arguments(metric, ANSWERS, GOLD), parser="papper")


def test_unknown_reference_is_named(metric):
    if "references" not in metric.features:
        pytest.skip("takes no references")
    for wrong in ("rising", None, 2, -1, "1.0"):
        with pytest.raises(ValueError, match=f"reference 1 is '?{wrong}'?, which is none of"):
            metric.compute(**arguments(metric, ["increase"] * 2, ["increase", wrong]))


def test_breakdown_of_another_length_is_named(metric):
    with pytest.raises(ValueError, match="breakdown 'tier' has 1 values for 6 items"):
        metric.compute(**arguments(metric, ANSWERS, GOLD), by={"tier": ["low"]})


def test_breakdown_cannot_hide_a_score(metric):
    with pytest.raises(ValueError, match="cannot be named 'n'"):
        metric.compute(**arguments(metric, ANSWERS, GOLD), by={"n": ANSWERS})
