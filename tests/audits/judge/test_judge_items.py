"""Items of a judge audit: what makes a pair of contexts a fair test of the voice."""

import json
from copy import deepcopy

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from otoscope.audits.judge.item_rows import item_of, items_of, open_judge_items, row_of
from otoscope.audits.judge.items import JudgeItemError
from otoscope.prompts.judge.turns import display_text
from tests.audits.tiny_dataset import RATE, clip


def single(**more):
    contexts = [
        [
            {
                "turn": 1,
                "speaker": "user",
                "text": text,
                "emotion": emotion,
                "clip_id": f"u-{emotion}",
            }
        ]
        for text, emotion in (("They moved it.", "anger"), ("they moved it", "sadness"))
    ]
    responses = [{"text": f"Reply {k}", "emotion": "neutral", "clip_id": f"r{k}"} for k in (0, 1)]
    known = {"item_id": "s1", "task": "single_turn_emotions", "cluster_id": "moved"}
    about = {"source": {"corpus": "written"}, "generator": "by hand"}
    return known | about | {"contexts": contexts, "responses": responses} | more


def positional(onset=(1, 3), emotions=(("sad", "angry"), ("neutral", "sad")), **more):
    contexts = [
        [
            {"turn": 1, "speaker": "user", "text": "Book it", "emotion": first},
            {"turn": 2, "speaker": "assistant", "text": "Done", "emotion": "neutral"},
            {"turn": 3, "speaker": "user", "text": "And now?", "emotion": second},
        ]
        for first, second in emotions
    ]
    goals = ["a table", "a taxi"]
    task = {"task": "positional_emotion", "contexts": contexts, "onset": list(onset)}
    return single() | {"item_id": "p1", "goals": goals} | task | more


def changed(row, where, value):
    row = deepcopy(row)
    *path, last = where
    into = row
    for key in path:
        into = into[key]
    into[last] = value
    return row


@pytest.mark.parametrize("row", [single(), positional()])
def test_a_row_is_read_back_as_it_was(row):
    item = item_of(row)
    assert item_of(json.loads(json.dumps(row_of(item)))) == item


def test_what_an_item_knows():
    item = item_of(positional())
    assert item.user_emotions(0) == ("sad", "angry")
    assert (item.onset, item.goals) == ((1, 3), ("a table", "a taxi"))
    assert item.emotion_pair == ("angry", "sad")
    assert item_of(single()).clip_ids == ("u-anger", "u-sadness", "r0", "r1")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("They   moved—it!", "they moved it"), ("It’s 5.30 a_b", "it's 5 30 a b"), ("?!", "")],
)
def test_display_text(text, expected):
    assert display_text(text) == expected


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (changed(single(), ("contexts", 1, 0, "text"), "They sold it"), "words of turn 1 differ"),
        (changed(single(), ("contexts", 1, 0, "emotion"), "anger"), "same in both contexts"),
        (changed(single(), ("contexts", 1, 0, "emotion"), "bored"), "has emotion 'bored'"),
        (changed(single(), ("contexts", 1, 0, "speaker"), "bot"), "speaker is 'bot'"),
        (changed(single(), ("responses", 1, "text"), "reply 0!"), "its two replies are equal"),
        (changed(single(), ("responses", 1, "text"), "…"), "a reply has no words"),
        (single(responses=[]), "2 contexts and 0 replies"),
        (single(task="other"), "task is 'other'"),
        (single(contexts=[[], []]), "no turn is the user's"),
        ({k: v for k, v in single().items() if k != "cluster_id"}, "has no cluster_id"),
        (changed(positional(), ("contexts", 0, 2, "speaker"), "assistant"), "another speaker's"),
        (positional(onset=(3, 3)), "needs two different turns"),
        (positional(onset=(1, 2)), "'neutral' with onset 2|no user turn 2"),
        (positional(emotions=(("sad", "happy"), ("neutral", "sad"))), "turn 3: 'happy' with onset"),
        (changed(positional(), ("onset",), [1]), r"\[1\] is not a pair"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(row, message):
    with pytest.raises(JudgeItemError, match=message):
        item_of(row)


def test_a_context_that_ends_with_the_assistant():
    row = positional()
    row["contexts"] = [context[:2] for context in row["contexts"]]
    with pytest.raises(JudgeItemError, match="last turn of its contexts is not the user's"):
        item_of(row)


def test_two_items_of_one_id():
    with pytest.raises(JudgeItemError, match="two items have the id 's1'"):
        items_of([single(), single()])


def folder(path, rows, clips):
    """A judge dataset as a build leaves it."""
    audio = [{"clip_id": c, "audio": {"bytes": clip(i), "path": None}} for i, c in enumerate(clips)]
    items = [row_of(item_of(row)) for row in rows]
    tables = {"items": pa.Table.from_pylist(items), "clips": pa.Table.from_pylist(audio)}
    lines = ["---", "configs:"]
    for name, table in tables.items():
        (path / name).mkdir(parents=True)
        pq.write_table(table, path / name / "test-0.parquet")
        lines += [f"- config_name: {name}", "  data_files:", "  - split: test"]
        lines.append(f"    path: {name}/test-*.parquet")
    (path / "README.md").write_text("\n".join([*lines, "---", ""]))
    return path


def test_a_folder(tmp_path):
    data = open_judge_items(folder(tmp_path, [single()], ["u-anger", "u-sadness", "r0", "r1"]))
    assert data.items == (item_of(single()),)
    assert data.clips.audio("r1").sampling_rate == RATE


def test_a_missing_clip_is_named(tmp_path):
    with pytest.raises(JudgeItemError, match="'s1': missing clips 'r1'"):
        open_judge_items(folder(tmp_path, [single()], ["u-anger", "u-sadness", "r0"]))


def test_an_item_that_is_not_rendered(tmp_path):
    with pytest.raises(JudgeItemError, match="no clip_id; render it"):
        open_judge_items(folder(tmp_path, [positional()], ["r0", "r1"]))
