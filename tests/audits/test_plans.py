"""Plans: core columns, declared columns, and runs whose plan has other columns than today's."""

import hashlib
import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from otoscope.audits import AUDITS, open_audit
from otoscope.audits.audio_input import bandwidth_warning
from otoscope.audits.items import Items
from otoscope.audits.meld import run as run_meld
from otoscope.audits.perception import plan, run
from otoscope.audits.plans import CORE, LABEL_COLUMNS, TEXT, Plan
from otoscope.audits.running import Audit
from otoscope.audits.runs import RunError, load_run, read_about, write_plan
from otoscope.cli import app
from otoscope.errors import InputError
from otoscope.models.base import Answer, ModelError
from otoscope.prompts.parts import Clip, Question, Text
from tests.audits.models import RecordingModel
from tests.audits.test_meld import Weighing, made
from tests.audits.tiny_dataset import full_row, in_memory, rows

VERSION_0_1 = [
    "question_id",
    "id",
    "category",
    "attribute",
    "label",
    "labels",
    "parser",
    "prompt_name",
    "prompt",
    "audio_ids",
    "audio_sha256",
    "audio_s",
    "config",
    "profile",
    "direction",
    "curve",
    "tier",
    "source_id",
    "speaker_id",
    "no_effect",
]
"""Columns as version 0.1 wrote and hashed them."""


def as_version_0_1_wrote(folder):
    """Rewrites a run as version 0.1 would have written it, its hash included."""
    table = pq.read_table(folder / "plan.parquet")
    old = pa.table(
        {
            name: table[name] if name in table.column_names else pa.nulls(len(table), pa.string())
            for name in VERSION_0_1
        }
    )
    pq.write_table(old, folder / "plan.parquet")
    lines = (json.dumps([row[name] for name in VERSION_0_1]) for row in old.to_pylist())
    about = json.loads((folder / "run.json").read_text())
    about |= {"schema": 1, "plan_sha256": hashlib.sha256("".join(lines).encode()).hexdigest()}
    del about["columns"]
    if about["audit"] == "meld":
        del about["retry_unparsed"]  # it had no such option
    (folder / "run.json").write_text(json.dumps(about))


def shortened(folder, n):
    """Keeps the first answers only, as if the run had been stopped there."""
    answers = folder / "answers" / "rank-000.jsonl"
    answers.write_text("".join(answers.read_text().splitlines(keepends=True)[:n]))
    (folder / "answers" / "rank-000.sent").write_text("")


class TestRunsOfVersion01:
    @pytest.fixture
    def dataset(self):
        made = [full_row(i, tier="low", curve="linear", no_effect=i == 1) for i in range(4)]
        return in_memory(made)

    @pytest.fixture
    def old(self, dataset, tmp_path):
        run(dataset, RecordingModel(), out=tmp_path / "old")
        as_version_0_1_wrote(tmp_path / "old")
        return tmp_path / "old"

    def test_are_read(self, old):
        assert read_about(old)["schema"] == 1
        assert list(load_run(old)["text"]) == ["increase"] * 4
        assert load_run(old)["tier"][0] == "low"

    def test_are_resumed_under_their_own_hash(self, old, dataset):
        shortened(old, 1)
        before = [(old / name).read_bytes() for name in ("run.json", "plan.parquet")]
        model = RecordingModel()
        run(dataset, model, out=old)
        assert len(model.requested) == 3
        assert list(load_run(old)["status"]) == ["ok"] * 4
        assert [(old / name).read_bytes() for name in ("run.json", "plan.parquet")] == before

    def test_of_another_plan_are_named_with_the_column(self, old, dataset):
        other = dataset.map(lambda row: {"tier": "high"})
        with pytest.raises(RunError, match=r"the plan \('volume-0\|main' has another tier\)"):
            run(other, RecordingModel(), out=old)

    def test_are_compared(self, old, dataset, tmp_path):
        run(dataset, RecordingModel(lambda _: Answer("decrease")), out=tmp_path / "new")
        done = CliRunner().invoke(app, ["compare", str(old), str(tmp_path / "new")])
        assert done.exit_code == 0, done.output
        assert "correct, n = 3." in done.output  # of 4, one clip does not change

    def test_of_meld_are_resumed_too(self, tmp_path):
        meld = made(tmp_path / "MELD")
        run_meld(meld, Weighing(), out=tmp_path / "old")
        as_version_0_1_wrote(tmp_path / "old")
        shortened(tmp_path / "old", 1)
        progress = run_meld(meld, Weighing(), out=tmp_path / "old")
        assert (progress.n_before, progress.n_answered) == (1, progress.n_planned - 1)


class TestColumns:
    ROWS = ({"question_id": "a", "id": "a", "tier": "low", "era": "old"},)

    def test_a_new_one_leaves_a_run_as_it_is(self, tmp_path):
        write_plan(tmp_path, self.ROWS, {}, {**CORE, "tier": TEXT})
        before = (tmp_path / "run.json").read_bytes()
        write_plan(tmp_path, self.ROWS, {}, {**CORE, "tier": TEXT, "era": TEXT})
        assert (tmp_path / "run.json").read_bytes() == before
        assert "era" not in load_run(tmp_path).column_names

    def test_a_declared_one_is_part_of_the_run(self, tmp_path):
        write_plan(tmp_path, self.ROWS, {}, {**CORE, "tier": TEXT})
        other = [{**self.ROWS[0], "tier": "high"}]
        with pytest.raises(RunError, match=r"the plan \('a' has another tier\)"):
            write_plan(tmp_path, other, {}, {**CORE, "tier": TEXT})

    def test_one_that_the_audit_no_longer_has_is_named(self, tmp_path):
        write_plan(tmp_path, self.ROWS, {}, {**CORE, "tier": TEXT})
        without = [{"question_id": "a", "id": "a"}]
        with pytest.raises(RunError, match=r"the plan \('a' has another tier\)"):
            write_plan(tmp_path, without, {}, CORE)

    def test_are_declared_in_run_json(self, tmp_path):
        run(in_memory(rows(1)), RecordingModel(), out=tmp_path / "run")
        columns = read_about(tmp_path / "run")["columns"]
        assert columns["tier"] == "string"
        assert columns["no_effect"] == "bool"
        assert columns["labels"].startswith("list<")
        assert set(columns) == set(pq.read_schema(tmp_path / "run" / "plan.parquet").names)


class TestAnyQuestion:
    items = Items([("", in_memory(rows(2)))])
    words = Text("Answer in one word.", role="system")

    def planned(self):
        return Plan(
            [
                Question("none|t", "none", "t", (self.words, Text("Well?")), ("yes", "no", "?")),
                Question(
                    "pair|t", "pair", "t", (Text("Same?"), Clip("volume-0"), Clip("volume-1")),
                    ("yes", "no"), "yes", "yes_no", columns={"order": "01"},
                ),
            ],
            self.items,
            columns=LABEL_COLUMNS | {"order": TEXT},
        )  # fmt: skip

    def test_has_no_clip_or_several_in_the_plan(self):
        none, pair = self.planned().rows()
        assert (none["audio_ids"], none["audio_sha256"], none["audio_s"]) == ([], [], 0.0)
        assert none["labels"] == ["yes", "no", "?"]
        assert none["order"] is None
        assert pair["audio_ids"] == ["volume-0", "volume-1"]
        assert pair["audio_s"] == pytest.approx(0.1)
        assert pair["order"] == "01"

    def test_leaves_category_and_attribute_to_the_dataset(self):
        def row(question, dataset):
            columns = {**LABEL_COLUMNS, "category": TEXT, "attribute": TEXT}
            return Plan([question], Items([("", dataset)]), columns=columns).rows()[0]

        data = in_memory(rows(1))
        found = row(Question("volume-0|t", "volume-0", "t", (Clip("volume-0"),)), data)
        assert (found["category"], found["attribute"], found["label"]) == ("volume",) * 2 + (None,)
        named = Question(
            "volume-0|t", "volume-0", "t", (), category="echo", columns={"attribute": ""}
        )
        assert [row(named, data)[name] for name in ("category", "attribute")] == ["echo", ""]
        unknown = Question("x|t", "x", "t", ())
        assert [row(unknown, data)[name] for name in ("category", "attribute")] == ["", ""]

    def test_has_an_id_of_its_own(self):
        one = Question("a|t", "a", "t", (Text("Up?"),))
        assert list(Plan([one, replace(one)]).questions) == ["a|t"]
        with pytest.raises(InputError, match=r"two questions of the plan have the id 'a\|t'"):
            Plan([one, replace(one, parts=(Text("Down?"),))])

    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            ("text", TEXT), ("status", pa.int64()), ("prompt", pa.int64()),
            *((name, TEXT) for name in ("prediction", "rule", "exact", "outcome")),
        ],
    )  # fmt: skip
    def test_has_no_column_of_a_name_that_is_taken(self, name, kind):
        with pytest.raises(InputError, match=f"no {kind} column '{name}' of its own: the name is"):
            Plan([], columns={name: kind})

    def test_may_declare_a_core_column_as_it_is(self):
        assert Plan([], columns={"prompt": TEXT}).columns == CORE

    def test_runs_as_any_audit_does(self, tmp_path):
        class Checked(RecordingModel):
            sampling_rate = 8000

            def input_fingerprint(self, request):
                return b"".join(a.samples.tobytes() for a in request.audio_inputs)

        audit = Audit("toy", lambda dataset: self.planned())
        audit.run("nowhere", Checked(lambda _: Answer("yes")), out=tmp_path / "run")
        about = read_about(tmp_path / "run")
        assert about["audit"] == "toy"
        assert about["hearing"] == "the model is given the sound"
        assert list(load_run(tmp_path / "run")["text"]) == ["yes", "yes"]

    @pytest.mark.parametrize("rate", ["16000", 0, [8000]])
    def test_a_sampling_rate_that_is_none_is_named(self, rate):
        class Odd(RecordingModel):
            sampling_rate = rate

        with pytest.raises(ModelError, match=r"Odd\.sampling_rate: .* is no rate in Hz"):
            bandwidth_warning(Odd(), self.planned())

    def test_without_any_audio_there_is_nothing_to_check(self, tmp_path):
        question = Question("a|t", "a", "t", (Text("Yes or no?"),), ("yes", "no"))
        Audit("text", lambda dataset: Plan([question])).run(
            "", RecordingModel(), out=tmp_path / "run"
        )
        assert read_about(tmp_path / "run")["hearing"] == "not checked: no audio"

    def test_offers_two_labels_or_more_or_none(self):
        with pytest.raises(ValueError, match="offers one label, 'yes'"):
            Question("a|t", "a", "t", (Text("Up?"),), ("yes",))


def test_every_audit_is_in_the_table_under_its_own_name():
    for name in AUDITS:
        assert open_audit(name).name == name


def test_a_plan_is_what_the_audit_says(tmp_path):
    planned = plan(in_memory(rows(2)), prompts=["main", "swap_order"])
    assert planned.choices["prompts"] == ["main", "swap_order"]
    assert list(planned.columns)[: len(CORE)] == list(CORE)
