"""Blocks of features: found again, added to, shared out, and never mixed up."""

import os
from types import MappingProxyType

import numpy as np
import pytest
from asking_inside import question

from otoscope.representations.extraction import plan_extraction
from otoscope.representations.features import Features, FeaturesError
from otoscope.representations.hidden_states import HiddenStateExtractor, HiddenStates
from tests.representations.folder import files

N, BLOCK = 10, 4
SITES = ["text.0", "text.1", "answer"]


class Remembering(HiddenStateExtractor):
    """Sites whose numbers follow from the question's number; keeps what it was asked for."""

    batch_size, description, extract_from_model = 3, None, None
    model_widths = widths = MappingProxyType({"mel": 2, "text.0": 3, "text.1": 4, "answer": 2})

    def __init__(self, states=lambda i, site: float(i), answer=lambda i: i / 3, **description):
        self.description = {"name": "remembering", **description}
        self.states, self.answer, self.extracted = states, answer, []

    def extract(self, questions, sites):
        numbers = [int(q.question.id.removeprefix("q")) for q in questions]
        self.extracted += [(i, tuple(sites)) for i in numbers]
        made = {
            site: np.array([[self.states(i, site)] * self.widths[site] for i in numbers])
            for site in sites
            if site != "answer"
        }
        answers = [
            (np.full((1 + i % 2, 2), self.answer(i), np.float32), np.arange(1 + i % 2))
            for i in numbers
        ]
        return HiddenStates(
            {site: states.astype(np.float32) for site, states in made.items()},
            answers if "answer" in sites else [],
        )


def rows(n=N, **more):
    return {
        "question_id": [f"q{i}|main" for i in range(n)],
        "id": [f"q{i}" for i in range(n)],
        "category": ["volume"] * n,
        "label": [i % 2 for i in range(n)],
        "prompt": ["Does it?"] * n,
        "audio_sha256": [str(i) for i in range(n)],
    } | more


def fill(question_id):
    return question(int(question_id.removeprefix("q").removesuffix("|main")), seconds=0.01)


def extraction(folder, extractor, sites=SITES, **options):
    given = {"rows": rows(), "rows_per_block": BLOCK, "prompt": "main"} | options
    return plan_extraction(extractor, given.pop("rows"), fill, sites, folder, **given)


def made(folder, extractor, sites=SITES, rank=0, world=1, **options):
    return extraction(folder, extractor, sites, **options).run(ignore, rank=rank, world=world)


def ignore(n):
    """Nobody watches."""


class TestMaking:
    def test_what_was_seen_is_what_is_read(self, tmp_path):
        extractor = Remembering()
        assert made(tmp_path, extractor) == (N, N)
        assert extractor.extracted == [(i, tuple(SITES)) for i in range(N)], (
            "each once, all sites at once"
        )
        features = Features.open(tmp_path, prompt="main")
        assert features.sites == ["text.0", "text.1", "answer"]
        read = features.matrix("text.1")
        assert read.dtype == np.float16
        np.testing.assert_array_equal(read, np.arange(N)[:, None] * np.ones(4))
        targets = features.targets()
        assert targets.row.tolist() == [i for i in range(N) for _ in range(1 + i % 2)]
        # a third is not whole in float16: answers are kept in float32
        np.testing.assert_array_equal(targets.states[:, 0], (targets.row / 3).astype(np.float32))

    def test_a_second_time_finds_all_of_it(self, tmp_path):
        made(tmp_path, Remembering())
        again, before = Remembering(), files(tmp_path)
        assert extraction(tmp_path, again).size() == (0, 0)
        assert made(tmp_path, again) == (N, 0)
        assert again.extracted == []
        assert files(tmp_path) == before

    def test_an_added_site_computes_only_itself(self, tmp_path):
        made(tmp_path, Remembering(), ["text.0"])
        before, more = files(tmp_path), Remembering()
        assert made(tmp_path, more, ["text.0", "mel", "text.1"]) == (N, N)
        assert {sites for _, sites in more.extracted} == {("mel", "text.1")}
        assert files(tmp_path).items() > before.items(), "what was there is as it was"
        assert sorted(Features.open(tmp_path).sites) == ["mel", "text.0", "text.1"]

    def test_shares_of_any_number_make_the_same_files(self, tmp_path):
        made(tmp_path / "one", Remembering())
        extractors = [Remembering() for _ in range(3)]
        for rank in (2, 0, 1):
            made(tmp_path / "three", extractors[rank], rank=rank, world=3)
        assert files(tmp_path / "three") == files(tmp_path / "one")
        assert [len(extractor.extracted) for extractor in extractors] == [4, 4, 2]

    def test_more_processes_than_blocks(self, tmp_path):
        idle = Remembering()
        assert made(tmp_path, idle, rank=5, world=6) == (0, 0)
        assert idle.extracted == []

    def test_the_size_is_what_lands_on_the_disk(self, tmp_path):
        size = extraction(tmp_path, Remembering(), ["text.0", "text.1"]).size()
        assert size == (N, N * (3 + 4) * 2)
        made(tmp_path, Remembering(), ["text.0"])
        assert extraction(tmp_path, Remembering(), ["text.0", "text.1"]).size() == (N, N * 4 * 2)

    def test_progress_counts_every_row_once(self, tmp_path):
        steps = []
        extraction(tmp_path, Remembering()).run(steps.append)
        assert steps == [3, 1, 3, 1, 2], "batches of 3 within blocks of 4"
        steps.clear()
        extraction(tmp_path, Remembering()).run(steps.append)
        assert sum(steps) == N


class Killed(BaseException):
    """As abrupt as a signal, seen from here."""


class TestStopping:
    def test_finished_blocks_are_not_extracted_again(self, tmp_path):
        def stop_at_6(i, site):
            if i == 6:
                raise Killed
            return float(i)

        killed, whole = tmp_path / "killed", tmp_path / "whole"
        with pytest.raises(Killed):
            made(killed, Remembering(stop_at_6))
        features = Features.open(killed)
        assert features.sites == []
        with pytest.raises(
            FeaturesError, match=r"'text.0' is there for 1 of 3 blocks; start the command"
        ):
            features.matrix("text.0")
        again = Remembering()
        assert made(killed, again) == (N, 6)
        assert [i for i, _ in again.extracted] == [4, 5, 6, 7, 8, 9]
        made(whole, Remembering())
        assert files(killed) == files(whole)

    def test_what_a_kill_left_half_written_goes(self, tmp_path):
        made(tmp_path, Remembering(), ["text.0"])
        block = min((tmp_path / "blocks").iterdir())
        (block / "tmpabc").write_bytes(b"half")
        made(tmp_path, Remembering())
        assert not (block / "tmpabc").exists()

    @pytest.mark.parametrize("kept", [0, 0.3, 0.6, 0.95])
    def test_a_block_that_was_cut_is_named_and_made_anew(self, tmp_path, kept):
        made(tmp_path, Remembering())
        before = files(tmp_path)
        path = sorted(tmp_path.glob("blocks/*/*.arrow"))[1]
        path.write_bytes(path.read_bytes()[: int(kept * path.stat().st_size)])
        with pytest.raises(FeaturesError, match=f"{path.name} is damaged .*makes it anew"):
            Features.open(tmp_path).matrix("text.1")
        again = extraction(tmp_path, Remembering())
        assert again.damaged() == [path]
        assert again.size().n_rows == BLOCK
        assert again.run(ignore) == (N, BLOCK)
        assert files(tmp_path) == before
        assert again.damaged() == []

    @pytest.mark.parametrize("content", [b"", None])
    def test_rows_that_were_lost_are_written_again(self, tmp_path, content):
        made(tmp_path, Remembering())
        before, path = files(tmp_path), tmp_path / "rows.parquet"
        path.unlink() if content is None else path.write_bytes(content)
        assert made(tmp_path, Remembering()) == (N, 0)
        assert files(tmp_path) == before


class TestRefusals:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"extractor": Remembering(revision="2")}, "model.revision None, now '2'"),
            (
                {"extractor": Remembering(adapter={"name": "lora"})},
                "model.adapter None, now {'name'",
            ),
            ({"prompt": "audio_ref"}, "prompt 'main', now 'audio_ref'"),
            ({"rows": rows(prompt=["Else?"] * N)}, "questions '"),
            ({"rows": rows(audio_sha256=["other"] * N)}, "questions '"),
            ({"rows": rows(9)}, "questions '"),
            ({"store": "float32"}, "store 'float16', now 'float32'"),
            ({"rows_per_block": 5}, "rows_per_block 4, now 5"),
        ],
    )
    def test_another_model_prompt_or_dataset(self, tmp_path, change, message):
        made(tmp_path, Remembering())
        with pytest.raises(FeaturesError, match=message):
            extraction(tmp_path, **({"extractor": Remembering()} | change))

    def test_nothing_is_another_while_nothing_was_made(self, tmp_path):
        extraction(tmp_path, Remembering())
        made(tmp_path, Remembering(), store="float32", prompt="audio_ref")
        assert Features.open(tmp_path).description["prompt"] == "audio_ref"

    def test_another_version_of_the_code(self, tmp_path):
        made(tmp_path, Remembering())
        about = tmp_path / "features.json"
        about.write_text(about.read_text().replace('"version": 1', '"version": 7'))
        with pytest.raises(FeaturesError, match="version 7, now 1"):
            extraction(tmp_path, Remembering())

    def test_a_folder_of_something_else(self, tmp_path):
        (tmp_path / "thesis.tex").touch()
        with pytest.raises(FeaturesError, match="holds something that is no feature set"):
            extraction(tmp_path, Remembering())

    def test_a_state_beyond_float16_is_named_and_float32_holds_it(self, tmp_path):
        def loud(i, site):
            return 7e4 if (i, site) == (5, "text.1") else 1.0

        with pytest.raises(FeaturesError, match=r"'text.1' of question 'q5\|main' reaches 7e\+04"):
            made(tmp_path / "16", Remembering(loud))
        made(tmp_path / "32", Remembering(loud), store="float32")
        assert Features.open(tmp_path / "32").matrix("text.1").max() == 7e4

    def test_a_state_that_is_no_number_is_the_models_fault(self, tmp_path):
        extractor = Remembering(lambda i, site: np.nan if i == 5 else 1.0)
        with pytest.raises(FeaturesError, match=r"'q5\|main' is not finite in the model itself"):
            made(tmp_path, extractor)

    @pytest.mark.parametrize("fault", [np.nan, np.inf])
    def test_neither_is_one_of_an_answer(self, tmp_path, fault):
        extractor = Remembering(answer=lambda i: fault if i == 5 else 1.0)
        with pytest.raises(FeaturesError, match=r"'answer' of question 'q5\|main' is not finite"):
            made(tmp_path, extractor)

    def test_a_question_that_is_there_twice(self, tmp_path):
        twice = rows(question_id=["q0|main"] * N)
        with pytest.raises(FeaturesError, match="a question is there twice"):
            extraction(tmp_path, Remembering(), rows=twice)

    @pytest.mark.parametrize(
        ("options", "message"),
        [({"store": "int8"}, "not 'int8'"), ({"rows_per_block": 0}, "rows_per_block=0")],
    )
    def test_settings_that_are_none(self, tmp_path, options, message):
        with pytest.raises(FeaturesError, match=message):
            extraction(tmp_path, Remembering(), **options)

    def test_a_model_that_describes_itself_with_more_than_data(self, tmp_path):
        with pytest.raises(FeaturesError, match=r"cannot be put in features\.json"):
            extraction(tmp_path, Remembering(weights=np.zeros(2)))

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
    def test_a_folder_that_cannot_be_written(self, tmp_path):
        tmp_path.chmod(0o500)
        with pytest.raises(OSError, match="Permission"):
            extraction(tmp_path / "features", Remembering())
