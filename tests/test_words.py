"""Old identifiers and phrases are gone, and one class name has one meaning."""

import ast
import io
import re
import tokenize
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PRODUCT = ("otoscope", "builders", "trainers", "metrics", "cards", "benchmarks")
FILES = sorted(path for folder in PRODUCT for path in (ROOT / folder).rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))

OLD_IDENTIFIERS = frozenset(
    """
    Alone Answered Asked BEEP_CATEGORIES BOUND Blind CELLS CUES Calls Chosen Clock Coded
    Conditions Contrasted Counts Decided Desk Drawn EDGES EdgeLevels Encoder Fitted FromStates
    HEARD HOPELESS Heard Hearing HearingReport Hears INTENDED Idle Joined Judged KEPT Kept LAYOUTS
    Learner LeftOut Lesson Looker Loaded MOVES MOVES_OTHERWISE MadeFile Material NoStudy
    NothingChanges ONLY_HEAD OnlyHead OptionReader OwnLooker PASSING PLAN_SCHEMA Pace Passing
    Perception Places RETRY_TOKENS ReplyError Room SOURCES Said Searchable Seen ShardHeard
    Shown Sound SourceError Spoken Surveyed TOWERS Team ThroughModel TogetherRow Trained
    TransformersLooker UNTELLING Wanted WeighsOptions WithMel Windowed Listened ASKED_AGAIN REFUSE
    asked asked_again heard learnt own_share said tally
    beyond_guessing by_lot check_hearing confounds_of_build edge_levels encoded_table heard_by
    hearing hearing_check in_room is_meld is_said keep_findings kept_findings listen_to looker
    making_folder n_heard owned plain_errors ran_out read_runs refuse_adapted refuse_another
    refuse_shared_ids refuse_unheard refuses right_by_item second_try second_opinion sounds spoilt
    spoken_sources taught told unspoken_plan wears write_whole
    """.split()  # noqa: SIM905
)
"""Names that code of 0.1 had."""

OLD_IN_TEST_NAMES = re.compile(
    "(?<!^test)_refused|^refuse$|refuses_|_asked(_|$)|^asked|^told$|told_apart|^heard_|_hears?_"
    "|hearing_check|encoded_and|_teach(es)?_|_learnt|_free_one|_said(_|$)|every_cell|so_much_sound"
    "|a_cell_that_does|spoilt|weather$"
)

OLD_PHRASES = (
    "kept states", "second opinion", "by lot", "beyond guessing", "what a line can tell",
    "numbers to train", "addition of low rank", "encoded but not said", "free confound",
    "bound confound", "hearing check", "spoilt", "what lingers", "failure weather",
    "tells? the label", "asked now", "asked again", "nothing was asked", "prompts are refused",
    "the hearing is lost", "could be told by", "what it learnt",
)  # fmt: skip
TEXTS = sorted(
    path
    for pattern in ("*.md", "*.py", "*.jinja", "*.yaml", "*.js", "*.cfg")
    for path in ROOT.rglob(pattern)
    if path.relative_to(ROOT).parts[0]
    in {*PRODUCT, "docs", "README.md", "CONTRIBUTING.md", "setup.cfg"}
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_identifier_of_the_old_list_is_left(path):
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
    names = {token.string for token in tokens if token.type == tokenize.NAME}
    assert sorted(names & OLD_IDENTIFIERS) == []


@pytest.mark.parametrize("path", TESTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_test_is_named_in_old_words(path):
    names = {
        node.name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    assert [name for name in names if OLD_IN_TEST_NAMES.search(name)] == []


def test_no_text_uses_the_old_phrases():
    found = [
        f"{path.relative_to(ROOT)}: {phrase}"
        for path in TEXTS
        for phrase in OLD_PHRASES
        if re.search(rf"\b{phrase}\b", path.read_text(encoding="utf-8"), re.IGNORECASE)
    ]
    assert not found


def type_names(node):
    """Names in camel case that a statement gives to a class or another type."""
    if isinstance(node, ast.ClassDef):
        yield node.name
    for target in node.targets if isinstance(node, ast.Assign) else ():
        if isinstance(target, ast.Name) and re.match("[A-Z][A-Za-z]*[a-z]", target.id):
            yield target.id


def test_one_name_of_a_class_or_type_has_one_meaning():
    places = defaultdict(list)
    for path in FILES:
        if path.relative_to(ROOT).parts[0] != "benchmarks":
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                for name in type_names(node):
                    places[name].append(str(path.relative_to(ROOT)))
    assert not {name: found for name, found in places.items() if len(found) > 1}
