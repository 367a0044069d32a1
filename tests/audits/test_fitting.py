"""Training the fitted observer on a split, and asking it about another."""

import io
import json

import numpy as np
import pytest
import soundfile
import tiny_dataset
from typer.testing import CliRunner

from otoscope.audits.fitting import fit_observer
from otoscope.audits.items import DatasetError
from otoscope.audits.perception import run
from otoscope.audits.runs import load_run
from otoscope.cli import app
from otoscope.models.base import ModelError

RATE = 8_000


def swell(seed, db, duration_s=0.5):
    """The bytes of a WAV file of noise that rises by `db`."""
    n = round(duration_s * RATE)
    noise = 0.02 * np.random.default_rng(seed).standard_normal(n)
    buffer = io.BytesIO()
    loud = noise * 10 ** (np.linspace(-db / 2, db / 2, n) / 20)
    soundfile.write(buffer, loud, RATE, format="WAV", subtype="PCM_16")
    return buffer.getvalue()


def rows(split, n_speakers, *, first=0, n_each=2, **more):
    """Clips of volume, two a source, sources of speakers."""
    made = []
    for speaker in range(first, first + n_speakers):
        for source in range(n_each):
            for label, db in (("increase", 6), ("decrease", -6)):
                name = f"p{speaker}-{source}"
                made.append(
                    {
                        "id": f"{split}-{name}-{label}",
                        "audio": swell(len(made) + 1000 * first, db),
                        "category": "volume",
                        "label": label,
                        "source_id": name,
                        "speaker_id": f"p{speaker}",
                        "span_start_s": 0.0,
                        "span_end_s": 0.5,
                        "profile": "controlled",
                        "no_effect": False,
                    }
                    | more
                )
    return made


@pytest.fixture
def folder(tmp_path):
    splits = {"train": rows("train", 4), "test": rows("test", 2, first=10)}
    return tiny_dataset.write(tmp_path / "data", {"all": splits})


def written(tmp_path, **splits):
    return tiny_dataset.write(tmp_path / "data", {"all": splits})


def test_learns_a_split_and_answers_about_another(folder, tmp_path):
    trained = fit_observer(folder)
    (result,) = trained.categories
    assert (result.category, result.n_clips, result.held_out.estimate) == ("volume", 16, 1)
    assert trained.groups == "speaker"
    description = trained.model.description["trained_on"]
    assert (description["n_sources"], description["n_speakers"], description["profiles"]) == (
        8,
        4,
        ["controlled"],
    )
    run(folder, trained.model, out=tmp_path / "run")
    answered = load_run(tmp_path / "run")
    assert answered["text"] == answered["label"]
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    assert about["model_description"]["trained_on"] == description


def test_its_training_data_is_rejected(folder, tmp_path):
    model = fit_observer(folder).model
    with pytest.raises(ModelError, match=r"trained on 8 source\(s\)"):
        run(folder, model, out=tmp_path / "run", split="train")
    assert not (tmp_path / "run").exists()


def test_equal_clips_give_the_same_fit_in_any_order(folder):
    in_memory = tiny_dataset.in_memory(rows("train", 4)[::-1])
    first, again = fit_observer(folder).model, fit_observer(in_memory).model
    assert first.trained_on.content_sha256 == again.trained_on.content_sha256
    ours, theirs = (m.observer.weights["volume"] for m in (first, again))
    np.testing.assert_allclose(ours.weight, theirs.weight)


def test_other_audio_is_other_content(folder):
    other = rows("train", 4)
    other[3]["audio"] = swell(99, 3)
    changed = fit_observer(tiny_dataset.in_memory(other)).model.trained_on
    assert changed.content_sha256 != fit_observer(folder).model.trained_on.content_sha256


@pytest.mark.parametrize(
    ("test_rows", "named"),
    [
        (rows("test", 1, first=3), r"'train' and 'test' share 2 source\(s\) \('p3-0', 'p3-1'\)"),
        (
            rows("test", 1, first=3, source_id="other"),
            r"'train' and 'test' share 1 speaker\(s\) \('p3'\)",
        ),
    ],
)
def test_splits_that_share_a_source_or_speaker_are_rejected(test_rows, named, tmp_path):
    folder = written(tmp_path, train=rows("train", 4), test=test_rows)
    with pytest.raises(DatasetError, match=named):
        fit_observer(folder)


def test_a_dataset_without_a_train_split_says_how_to_get_one(tmp_path):
    folder = written(tmp_path, test=rows("test", 4))
    with pytest.raises(DatasetError, match=r"no split 'train'.*only test; .*--splits train,test"):
        fit_observer(folder)


def test_a_split_without_clips_too(tmp_path):
    sources = rows("train", 4, category="source", label=None)
    folder = written(tmp_path, train=sources)
    with pytest.raises(DatasetError, match=r"'train' has no clips to fit; .*--splits"):
        fit_observer(folder)


def test_clips_that_cannot_be_fitted_are_left_out_and_counted(tmp_path):
    useless = [
        row | {"id": f"{row['id']}-{nth}"} for nth, row in enumerate(rows("train", 1, n_each=3))
    ]
    useless[0] |= {"no_effect": True}
    useless[1] |= {"audio": b"this is no audio"}
    useless[2] |= {"audio": swell(1, 0).replace(b"data", b"data")[:44] + bytes(2 * RATE // 2)}
    folder = written(tmp_path, train=rows("train", 4) + useless[:3], test=rows("t", 2, first=10))
    (result,) = fit_observer(folder).categories
    counted = (result.n_clips, result.n_no_effect, result.n_unreadable, result.n_not_measurable)
    assert counted == (17, 1, 1, 1)
    # the silent clip has no answer, so 16 of 17 are right
    assert result.held_out.estimate == pytest.approx(16 / 17)


def test_two_speakers_are_judged_by_source(tmp_path):
    folder = written(tmp_path, train=rows("train", 2), test=rows("test", 2, first=10))
    assert fit_observer(folder).groups == "source"


def test_rows_that_name_nobody_stand_for_themselves(tmp_path):
    nameless = rows("train", 4, source_id=None, speaker_id=None)
    trained = fit_observer(tiny_dataset.in_memory(nameless))
    assert trained.groups == "source"
    assert trained.model.trained_on.speakers == ()
    assert len(trained.model.trained_on.sources) == 16


def test_too_few_sources_are_named():
    few = tiny_dataset.in_memory(rows("train", 1))
    with pytest.raises(DatasetError, match=r"volume: 4 clips of 2 source\(s\): at least 3"):
        fit_observer(few)


class TestCommand:
    def call(self, *arguments):
        return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "160"})

    def test_writes_a_file_that_a_run_takes(self, folder, tmp_path):
        out = tmp_path / "observer.json"
        done = self.call("fit-observer", "--dataset", folder, "--out", out)
        assert done.exit_code == 0, done.output
        (row,) = [line.split() for line in done.output.splitlines() if line.startswith(" volume")]
        assert row[1:6] == ["16", "0", "0", "0", "100.0"]
        assert "16 clips of 8 sources and 4 speakers" in done.output
        ended = self.call(
            "run", "perception", "--dataset", folder, "--model", f"fitted:{out}",
            "--out", tmp_path / "run", "--no-cache",
        )  # fmt: skip
        assert ended.exit_code == 0, ended.output
        assert "100.0 % of them parsed" in ended.output

    def test_keeps_a_file_that_is_there(self, folder, tmp_path):
        out = tmp_path / "observer.json"
        out.write_text("mine")
        done = self.call("fit-observer", "--dataset", folder, "--out", out)
        assert (done.exit_code, out.read_text()) == (2, "mine")
        assert "--overwrite" in done.output
        assert self.call(
            "fit-observer", "--dataset", folder, "--out", out, "--overwrite"
        ).exit_code == 0  # fmt: skip
        assert json.loads(out.read_text())["kind"] == "fitted observer"

    def test_a_fault_is_one_line(self, tmp_path):
        done = self.call("fit-observer", "--dataset", tmp_path / "no", "--out", tmp_path / "o.json")
        assert done.exit_code == 2
        assert done.output.startswith("error: ")
        assert done.output.count("\n") == 1
