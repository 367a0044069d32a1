"""What is planned: how many questions, about what, with which clips."""

import hashlib
import json
from collections import Counter

import datasets
import pytest

from otoscope import audits
from otoscope.audits.items import DatasetError
from otoscope.audits.perception import plan, run
from otoscope.audits.runs import RunError, load_run, read_about, read_plan
from otoscope.models.base import ModelError
from otoscope.models.retrying import RetryPolicy
from otoscope.models.simple import Constant
from otoscope.processes import LaunchError
from otoscope.prompts import PROMPTS
from otoscope.registry import UnknownName
from tests.audits.models import RecordingModel
from tests.audits.tiny_dataset import full_row, in_memory, row, rows, write

NINE = (
    "audio_distortion", "background_noise", "echo", "pitch_variation", "speaking_rate",
    "speech_clarity", "speech_rhythm", "voice_pitch", "volume",
)  # fmt: skip


def counted(planned):
    return Counter(q.prompt_name for q in planned.questions.values())


class TestPlan:
    def test_main_asks_each_row_once_in_order(self):
        planned = plan(in_memory(rows(3, "volume", "echo")))
        assert list(planned.questions) == [f"{r['id']}|main" for r in rows(3, "volume", "echo")]
        first = planned.questions["echo-100|main"]
        assert "Does the echo increase or decrease over time?" in first.prompt
        assert first.label == "decrease"
        assert planned.partial == ""

    def test_several_prompts(self):
        table = in_memory(rows(2, "volume", "echo"))
        planned = plan(table, prompts=["main", "swap_order", "rise_fall", "main_audio_first"])
        assert counted(planned) == {
            "main": 4, "swap_order": 4, "rise_fall": 2, "main_audio_first": 4,
        }  # fmt: skip
        clip, text = planned.questions["volume-0|main_audio_first"].parts
        assert (clip.id, "volume" in text.text) == ("volume-0", True)

    def test_a_prompt_named_twice_is_used_once(self):
        planned = plan(in_memory(rows(2)), prompts=["main", "main", "main@volume"])
        assert counted(planned) == {"main": 2}

    @pytest.mark.parametrize(
        ("prompt", "complaint"),
        [
            ("mian", "no prompt named 'mian'; did you mean 'main'?"),
            ("mian@volume", "no prompt named 'mian'; did you mean 'main'?"),
            ("main@", "names no attribute behind '@'"),
        ],
    )
    def test_an_unknown_prompt(self, prompt, complaint):
        with pytest.raises((LookupError, ValueError), match=complaint):
            plan(in_memory(rows(1)), prompts=[prompt])

    def test_unchanged_clips_alone_name_no_attribute(self):
        sources = in_memory(rows(2, "source"))
        with pytest.raises(DatasetError, match="name it, as in source_bias@volume"):
            plan(sources, prompts=["source_bias"])
        assert counted(plan(sources, prompts=["source_bias@volume"])) == {"source_bias@volume": 2}

    def test_a_prompt_for_no_row(self):
        with pytest.raises(DatasetError, match=r"no row fits the prompt\(s\) \['rise_fall'\]"):
            plan(in_memory(rows(1, "echo")), prompts=["rise_fall"])

    @pytest.mark.parametrize(
        "label", ["up", "Increase", None, 2, "constant"],
    )  # fmt: skip
    def test_references_that_are_no_label_are_named(self, label):
        with pytest.raises(ValueError, match=r"row 'volume-0'.* label"):
            plan(in_memory([row(0, label=label)]))

    def test_class_labels_of_other_words_are_named(self):
        table = in_memory([row(0, label=1)]).cast_column(
            "label", datasets.ClassLabel(names=["down", "up"])
        )
        with pytest.raises(ValueError, match="row 'volume-0' has label 'up'; it must be one of"):
            plan(table)

    def test_question_ids_are_unique_over_all_prompts(self, tmp_path):
        few = [
            full_row(10 * i + j, c)
            for i, c in enumerate(("volume", "voice_pitch"))
            for j in range(8)
        ]
        tables = {
            "all": {"test": few[:2] + few[8:10], "train": few[2:5] + few[10:13],
                    "validation": few[5:8] + few[13:]},
            "source": {"test": rows(2, "source")},
        }  # fmt: skip
        planned = plan(write(tmp_path, tables), prompts=sorted(PROMPTS))
        ids = [row["question_id"] for row in planned.rows()]
        assert len(set(ids)) == len(ids) == sum(counted(planned).values())
        assert {name.partition("@")[0] for name in counted(planned)} >= {
            name for name in PROMPTS if PROMPTS[name].category in (None, "volume", "voice_pitch")
        }

    def test_own_asks_each_rows_own_words(self):
        table = in_memory([row(0, prompt="Louder?\n\nSay it."), row(1, prompt="And this?")])
        planned = plan(table, prompts=["own"])
        text, clip = planned.questions["volume-0|own"].parts
        assert (text.text, clip.id) == ("Louder?\n\nSay it.", "volume-0")
        with pytest.raises(DatasetError, match="row 'volume-1' has no `prompt` to ask"):
            plan(in_memory([row(0, prompt="x"), row(1, prompt="")]), prompts=["own"])


class TestCrossAttribute:
    def test_nine_by_nine_with_main_on_the_diagonal(self):
        planned = plan(in_memory(rows(2, *NINE)), cross_attribute=True)
        cells = Counter(
            (q.category, q.attribute.replace(" ", "_")) for q in planned.questions.values()
        )
        assert cells == {(a, b): 2 for a in NINE for b in NINE}
        for q in planned.questions.values():
            own = q.attribute.replace(" ", "_") == q.category
            assert q.prompt_name == ("main" if own else f"main@{q.attribute.replace(' ', '_')}")
            assert q.label in ("increase", "decrease")
        assert planned.questions["echo-200|main"].label == "decrease"
        assert planned.questions["echo-200|main@volume"].label == "decrease"


class TestSources:
    @pytest.mark.parametrize("where", ["config", "rows"])
    def test_have_questions_about_every_category(self, tmp_path, where):
        clips, sources = rows(2, "volume", "voice_pitch"), rows(3, "source")
        dataset = (
            write(tmp_path, {"all": {"test": clips}, "source": {"test": sources}})
            if where == "config"
            else in_memory(clips + sources)
        )
        planned = plan(dataset, prompts=["source_bias", "change"])
        assert counted(planned) == {
            "change": 4,
            **dict.fromkeys(
                ("source_bias@volume", "source_bias@voice_pitch", "change@volume",
                 "change@voice_pitch"), 3,
            ),
        }  # fmt: skip
        labels = {q.prompt_name: q.label for q in planned.questions.values()}
        assert labels["source_bias@volume"] is None
        assert labels["change@volume"] == "no"
        assert labels["change"] == "yes"

    def test_must_be_there_when_a_prompt_needs_them(self, tmp_path):
        folder = write(tmp_path, {"all": {"test": rows(1)}})
        for dataset in (folder, in_memory(rows(1))):
            with pytest.raises(DatasetError, match="need unchanged clips: a config `source`"):
                plan(dataset, prompts=["source_bias"])

    def test_have_no_question_about_a_direction(self):
        planned = plan(in_memory(rows(2) + rows(2, "source")), prompts=["main"])
        assert counted(planned) == {"main": 2}


class TestFewShot:
    @pytest.fixture
    def folder(self, tmp_path):
        made = [full_row(i) for i in range(14)]
        splits = {"test": made[:2], "train": made[2:8], "validation": made[8:]}
        return write(tmp_path, {"all": splits})

    def test_examples_come_from_train_and_validation(self, folder):
        planned = plan(folder, prompts=["few_shot"])
        assert list(planned.questions) == ["volume-0|few_shot", "volume-1|few_shot"]
        pool = {f"volume-{i}" for i in range(2, 14)}
        for q in planned.questions.values():
            assert len(q.clips) == 5
            assert set(q.clips[:4]) <= pool
            assert q.clips[4] == q.id
        request = planned.fill("volume-0|few_shot")
        assert [audio.id for audio in request.audio_inputs] == list(
            planned.questions[request.question.question_id].clips
        )

    def test_the_plan_names_every_clip_of_a_question(self, folder, tmp_path):
        planned = plan(folder, prompts=["few_shot"])
        run(folder, Constant("increase"), out=tmp_path / "run", planned=planned)
        for r in read_plan(tmp_path / "run"):
            assert r["audio_ids"] == list(planned.questions[r["question_id"]].clips)
            assert r["audio_sha256"] == [
                hashlib.sha256(planned.items.audio_bytes(i)).hexdigest() for i in r["audio_ids"]
            ]
            assert r["audio_s"] == pytest.approx(5 * 0.05)

    @pytest.mark.parametrize(
        ("asked", "others"),
        [
            ("test", ["train"]),
            ("test", ["validation"]),
            ("validation", ["train", "test"]),
            ("train", ["validation"]),
        ],
    )
    def test_one_other_split_is_enough(self, tmp_path, asked, others):
        made = {name: [full_row(10 * n + i) for i in range(6)] for n, name in enumerate(others, 1)}
        folder = write(tmp_path, {"all": {asked: [full_row(0)], **made}})
        planned = plan(folder, prompts=["few_shot"], split=asked)
        (question,) = planned.questions.values()
        assert set(question.clips[:4]) <= {r["id"] for r in made[others[0]]}

    def test_rows_without_a_clip_id_take_examples_too(self, tmp_path):
        made = [{k: v for k, v in full_row(i).items() if k != "clip_id"} for i in range(7)]
        folder = write(tmp_path, {"all": {"test": made[:1], "train": made[1:]}})
        (question,) = plan(folder, prompts=["few_shot"]).questions.values()
        assert len(set(question.clips)) == 5

    def test_a_dataset_without_those_splits(self, tmp_path):
        folder = write(tmp_path / "small", {"all": {"test": [full_row(0)]}})
        needs = "few_shot takes its examples from train and validation; "
        with pytest.raises(DatasetError, match=needs + r".*small has the split\(s\) test"):
            plan(folder, prompts=["few_shot"])
        with pytest.raises(DatasetError, match=needs + "a dataset in memory is one split"):
            plan(in_memory([full_row(0)]), prompts=["few_shot"])


class TestLimitSources:
    made = tuple(
        row(100 * s + i, source_id=f"s{s}", speaker_id=f"p{s % 4}")
        for s in range(12)
        for i in range(2)
    )

    @pytest.mark.parametrize("n", [1, 3, 4, 6, 11])
    def test_takes_whole_sources_spread_over_speakers(self, n):
        planned = plan(in_memory(self.made), limit_sources=n)
        speaker = {r["id"]: (r["source_id"], r["speaker_id"]) for r in self.made}
        chosen = Counter(speaker[q.id] for q in planned.questions.values())
        assert len(chosen) == n
        assert set(chosen.values()) == {2}
        of_speakers = Counter(p for _, p in chosen)
        assert len(of_speakers) == min(n, 4)
        assert max(of_speakers.values()) - min(of_speakers.values()) <= 1
        assert planned.partial == f"{n} of 12 sources"

    def test_the_order_of_rows_does_not_matter_and_fewer_are_a_part_of_more(self):
        def ids(made, n):
            return {q.id for q in plan(in_memory(made), limit_sources=n).questions.values()}

        assert ids(self.made, 5) == ids(self.made[::-1], 5)
        assert ids(self.made, 3) < ids(self.made, 5)

    def test_sources_may_be_numbers(self):
        made = [r | {"source_id": int(r["source_id"][1:])} for r in self.made]
        planned = plan(in_memory(made), limit_sources=3)
        assert (planned.partial, len(planned.questions)) == ("3 of 12 sources", 6)

    def test_all_of_them_is_not_partial(self):
        planned = plan(in_memory(self.made), limit_sources=12)
        assert (planned.partial, len(planned.questions)) == ("", 24)

    def test_rows_that_name_no_source_are_one_each(self):
        assert len(plan(in_memory(rows(5)), limit_sources=2).questions) == 2

    def test_none_is_no_limit(self):
        with pytest.raises(ValueError, match="must be 1 or more, not 0"):
            plan(in_memory(rows(2)), limit_sources=0)


class TestRun:
    def test_a_model_may_be_named_as_on_the_command_line(self, tmp_path):
        run(in_memory(rows(2)), "constant:increase", out=tmp_path / "run")
        assert list(audits.load_run(tmp_path / "run")["text"]) == ["increase"] * 2
        about = read_about(tmp_path / "run")
        assert about["model"] == "constant:increase"
        assert about["model_description"] == {"kind": "constant", "text": "increase"}

    def test_columns_of_a_dataset_come_along_whatever_their_type(self, tmp_path):
        made = [row(i, speaker_id=19, source_id=7, tier=2, no_effect=i == 1) for i in range(2)]
        run(in_memory(made), Constant("increase"), out=tmp_path / "run")
        found = load_run(tmp_path / "run")
        assert (found["speaker_id"][0], found["source_id"][0], found["tier"][0]) == ("19", "7", "2")
        assert list(found["no_effect"]) == [False, True]
        assert found["curve"][0] is None

    def test_run_json_says_everything_that_changes_the_result(self, tmp_path):
        made = in_memory(rows(3))
        run(
            made, Constant("increase"), out=tmp_path / "run", spec="constant:increase",
            prompts=["main", "swap_order"], limit_sources=2,
        )  # fmt: skip
        about = json.loads((tmp_path / "run" / "run.json").read_text())
        assert about.items() >= {
            "schema": 2, "audit": "perception", "model": "constant:increase", "partial":
            "2 of 3 sources", "prompts": ["main", "swap_order"], "split": "test", "revision": None,
            "configs": [], "cross_attribute": False, "limit_sources": 2, "n_questions": 4,
            "model_description": {"kind": "constant", "text": "increase"},
        }.items()  # fmt: skip

    def test_another_clip_under_the_same_id_is_another_run(self, tmp_path):
        run(in_memory([row(0)]), Constant("increase"), out=tmp_path / "run")
        changed = in_memory([row(0, audio=row(1)["audio"])])
        with pytest.raises(RunError, match=r"'volume-0\|main' has another audio_sha256"):
            run(changed, Constant("increase"), out=tmp_path / "run")

    def test_a_model_without_audio_input_is_rejected_before_anything_is_written(self, tmp_path):
        class IgnoresAudio(RecordingModel):
            def input_fingerprint(self, request):
                return b"the text alone"

        model = IgnoresAudio()
        with pytest.raises(ModelError, match="does not reach the model"):
            run(in_memory(rows(2)), model, out=tmp_path / "run")
        assert not (tmp_path / "run").exists()
        assert model.requested == []
        run(in_memory(rows(2)), model, out=tmp_path / "run", audio_input_check=False)
        assert read_about(tmp_path / "run")["hearing"] == "not checked"
        assert len(model.requested) == 2

    def test_a_model_with_audio_input_passes_the_check(self, tmp_path):
        class UsesAudio(RecordingModel):
            def input_fingerprint(self, request):
                return b"".join(audio.samples.tobytes() for audio in request.audio_inputs)

        run(in_memory(rows(1)), UsesAudio(), out=tmp_path / "run")
        assert read_about(tmp_path / "run")["hearing"] == "the model is given the sound"

    @pytest.mark.parametrize(("rank", "world"), [(2, 2), (-1, 2), (0, 0)])
    def test_a_rank_beyond_the_world(self, tmp_path, rank, world):
        with pytest.raises(LaunchError, match=f"rank {rank} is not below a world size of {world}"):
            run(in_memory(rows(1)), Constant("x"), out=tmp_path / "run", rank=rank, world=world)

    def test_ranks_share_the_plan_out_and_one_may_have_nothing(self, tmp_path):
        made = in_memory(rows(2))
        shares = []
        for rank in range(3):
            model = RecordingModel()
            progress = run(made, model, out=tmp_path / "run", rank=rank, world=3)
            shares.append(model.requested)
            assert progress.n_planned == len(model.requested)
        assert shares == [["volume-0|main"], ["volume-1|main"], []]
        assert list(load_run(tmp_path / "run")["status"]) == ["ok", "ok"]

    def test_a_status_that_does_not_exist_cannot_be_retried(self):
        with pytest.raises(UnknownName, match="no status named 'refuesd'; did you mean 'refused'"):
            RetryPolicy({"refuesd"})

    def test_the_retry_on_parse_failure_needs_a_model_that_can(self, tmp_path):
        retry = RetryPolicy(on_parse_failure=256)
        with pytest.raises(ModelError, match="no limit on tokens to raise"):
            run(in_memory(rows(1)), Constant("x"), out=tmp_path / "run", retry=retry)
        assert not (tmp_path / "run").exists()


def test_a_model_whose_check_of_rows_raises_is_named(tmp_path):
    class Odd(RecordingModel):
        def check_rows(self, rows):
            raise KeyError("speaker")

    with pytest.raises(ModelError, match=r"Odd\.check_rows raised KeyError: 'speaker'"):
        run(in_memory(rows(2)), Odd(), out=tmp_path / "run")
