"""Imports point one way, and `import otoscope` is light."""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HEAVY = {"torch", "transformers", "datasets", "evaluate", "huggingface_hub", "accelerate", "peft"}
SIDE_BY_SIDE = {"builders", "metrics", "trainers", "spaces"}
FOLDERS = SIDE_BY_SIDE | {"cards", "push_scripts", "benchmarks", "tests"}
PURE = ("prompts", "responses", "statistics")
CORE = tuple(f"otoscope/{name}" for name in ("acoustics", *PURE))
ABOVE_CORE = {
    f"otoscope.{name}"
    for name in ("models", "representations", "probes", "tuning", "audits", "reports", "cli")
}
BELOW: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(PURE, ()),
    "acoustics": ("statistics",),
    "tables": (),
    "models": ("acoustics", *PURE, "tables"),
}
BELOW["representations"] = (*BELOW["models"], "models")
BELOW["probes"] = (*BELOW["representations"], "representations")
BELOW["speech"] = (*BELOW["models"], "models")
BELOW["audits"] = (*BELOW["representations"], "representations", "probes", "speech")
BELOW["tuning"] = (*BELOW["audits"], "audits")
BELOW["reports"] = (*BELOW["audits"], "audits")
BELOW["cli"] = (*BELOW["reports"], "reports", "tuning")
FORBIDDEN = {
    "otoscope": FOLDERS,
    **dict.fromkeys(CORE, HEAVY | ABOVE_CORE),
    **{layer: (FOLDERS - {layer, "cards"}) for layer in SIDE_BY_SIDE},
    "cards": FOLDERS - {"cards"} | {"otoscope"},
    "push_scripts": {"benchmarks", "tests"},
}


def imported(path):
    """Every module a file imports, with all its parents, `a.b` for `from a import b` too."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: line {node.lineno} imports relatively"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    parts = [name.split(".") for name in names]
    return {".".join(p[:n]) for p in parts for n in range(1, len(p) + 1)}


@pytest.mark.parametrize("layer", sorted(FORBIDDEN))
def test_layer_does_not_look_outwards(layer):
    guilty = {
        str(path.relative_to(ROOT)): sorted(bad)
        for path in sorted((ROOT / layer).rglob("*.py"))
        if (bad := imported(path) & FORBIDDEN[layer])
    }
    assert not guilty


@pytest.mark.parametrize("layer", sorted(BELOW))
def test_layers_of_the_package_look_downwards(layer):
    others = {f"otoscope.{name}" for name in BELOW} - {
        f"otoscope.{name}" for name in (layer, *BELOW[layer])
    }
    for path in sorted((ROOT / "otoscope" / layer).rglob("*.py")):
        assert not imported(path) & others, path


def test_datasets_share_corpora_building_and_labelled_and_nothing_else():
    folders = {p.name for p in (ROOT / "builders").iterdir() if (p / "__init__.py").is_file()}
    datasets = folders - {"corpora", "building", "labelled"}
    assert "vocalgrad" in datasets
    for folder in sorted(folders):
        others = {f"builders.{name}" for name in datasets - {folder}}
        if folder == "corpora":
            others |= {"builders.building", "builders.labelled"}
        for path in sorted((ROOT / "builders" / folder).rglob("*.py")):
            assert not imported(path) & others, path


def test_what_reports_share_knows_no_audit():
    """`scoring`, `tables`, `writing` and the like serve every audit; `inside` reads perception."""
    reports = ROOT / "otoscope" / "reports"
    rooms = {"otoscope.reports.perception", "otoscope.reports.inside"}
    for path in sorted(reports.glob("*.py")):
        assert not imported(path) & rooms, path
    for path in sorted((reports / "perception").glob("*.py")):
        assert "otoscope.reports.inside" not in imported(path), path


def test_parts_of_vocalgrad_import_downwards():
    rooms = ("planning", "rendering", "measuring", "pages", "commands")
    for i, room in enumerate(rooms):
        above = {f"builders.vocalgrad.{name}" for name in rooms[i + 1 :]}
        for path in sorted((ROOT / "builders" / "vocalgrad" / room).rglob("*.py")):
            assert not imported(path) & above, path


def test_building_knows_no_corpus():
    for path in sorted((ROOT / "builders" / "building").rglob("*.py")):
        assert not imported(path) & {"builders.corpora", "builders.labelled"}, path


def test_import_otoscope_loads_nothing_heavy():
    heavy = HEAVY | {"numpy", "scipy", "librosa", "soundfile", "audiomentations", "matplotlib"}
    code = "import sys, otoscope; print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert set(result.stdout.split()) & heavy == set()


def test_test_files_have_names_of_their_own():
    """pytest imports them by name alone; two of one name cannot be collected together."""
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, n in names.items() if n > 1] == []
