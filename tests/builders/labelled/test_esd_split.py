from collections import Counter

import pytest
from typer.testing import CliRunner

from builders.corpora.base import CorpusError
from builders.esd_split.__main__ import app
from builders.esd_split.corpus import read_esd
from builders.esd_split.reading import open_esd
from builders.labelled import plan_build
from otoscope.acoustics.codec import AudioError
from tests.builders.labelled.tiny_labelled import esd, tone

LABELS = ("angry", "happy", "neutral", "sad", "surprised")


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """Files without audio: what is looked at is which are chosen."""
    return esd(tmp_path_factory.mktemp("esd"), empty=True)


def sentences(source, split):
    return {clip.source_id for clip in source.clips if clip.split == split}


def test_the_earlier_split_has_90_and_120_clips_and_shares_speakers(names):
    source = open_esd(names)
    counted = Counter((clip.split, clip.label) for clip in source.clips)
    assert counted == {
        (split, label): n for split, n in (("development", 18), ("holdout", 24)) for label in LABELS
    }
    assert not sentences(source, "development") & sentences(source, "holdout")
    assert source.labels == LABELS
    assert source.licence == "other"
    assert "which ones is not published: these are drawn by hash (seed 0)" in source.notes[0]


@pytest.mark.parametrize("seed", [0, 1])
def test_the_speaker_disjoint_split_has_five_speakers_and_125_clips_each(names, seed):
    source = open_esd(names, variant="speaker_disjoint", seed=seed)
    counted = Counter((c.split, c.speaker_id, c.label) for c in source.clips)
    assert set(counted.values()) == {5}
    assert Counter(split for split, _, _ in counted) == {"development": 25, "holdout": 25}
    of = {
        s: {c.speaker_id for c in source.clips if c.split == s} for s in ("development", "holdout")
    }
    assert {len(speakers) for speakers in of.values()} == {5}
    assert not of["development"] & of["holdout"]
    assert not sentences(source, "development") & sentences(source, "holdout")


def test_another_seed_draws_others_and_the_same_one_the_same(names):
    assert open_esd(names) == open_esd(names)
    assert open_esd(names).clips != open_esd(names, seed=1).clips


def test_sentences_follow_from_numbers(names):
    """350 sentences in the same order for each emotion: 351 and 1401 are the first again."""
    clips = read_esd(names).clips
    assert (clips["0011_000351"].sentence, clips["0011_000351"].label) == (1, "angry")
    assert (clips["0020_001403"].sentence, clips["0020_001403"].label) == (3, "surprised")


def ids(folder, clips, *, header="id,split", last=None):
    """The first 90 clips as development, the next 120 as hold-out."""
    lines = [header]
    for i, name in enumerate(sorted(clips)[:210]):
        lines.append(f"{name},{'development' if i < 90 else 'holdout'}")
    lines[-1] = last or lines[-1]
    (folder / "ids.csv").write_text("\n".join(lines))
    return folder / "ids.csv"


def test_ids_that_are_known_are_taken(names, tmp_path):
    clips = read_esd(names).clips
    source = open_esd(names, ids=ids(tmp_path, clips))
    assert [clip.file_name.removesuffix(".wav") for clip in source.clips] == sorted(clips)[:210]
    assert Counter(clip.split for clip in source.clips) == {"development": 90, "holdout": 120}
    assert source.notes[0] == "The earlier split, by the ids of ids.csv."


FAULTS_OF_IDS = {
    "unknown": (
        {"last": "0011_009999,holdout"},
        "line 211: there is no English clip '0011_009999'",
    ),
    "twice": ({"last": "0011_000001,holdout"}, "line 211: 0011_000001 is listed twice"),
    "other split": ({"last": "0020_000001,train"}, "line 211: split is 'train'"),
    "count": ({"last": "0020_000001,development"}, r"lists 91 \+ 119 clips"),
    "column": ({"header": "name,split"}, "no column 'id'"),
    "label": (
        {"header": "id,split,label", "last": "0020_000001,holdout,sad"},
        "0020_000001 is neutral, and the table has 'sad'",
    ),
}


@pytest.mark.parametrize("fault", FAULTS_OF_IDS)
def test_faults_of_the_table_of_ids_are_named(names, tmp_path, fault):
    change, message = FAULTS_OF_IDS[fault]
    with pytest.raises(CorpusError, match=message):
        open_esd(names, ids=ids(tmp_path, read_esd(names).clips, **change))


FAULTS = {
    "0011/Angry/hello.wav": "hello.wav is not a name of ESD",
    "0011/Disgust/0011_000360.wav": "0011_000360.wav is not in a folder of one emotion",
    "0012/Angry/0011_000360.wav": "in the folder of another speaker",
    "0011/Angry/train/0011_000351.wav": "0011_000351 is there twice",
    "0011/Angry/0011_000340.wav": "numbers 1 to 350 are of one emotion",
    "0011/Surprise/0011_001751.wav": "none is above 1750",
}


@pytest.mark.parametrize("file", FAULTS)
def test_files_that_are_not_as_in_esd_are_named(tmp_path, file):
    root = esd(tmp_path, 2, speakers=(11,), empty=True)
    (root / file).parent.mkdir(parents=True, exist_ok=True)
    (root / file).touch()
    with pytest.raises(CorpusError, match=FAULTS[file]):
        read_esd(root)


def test_other_speakers_are_left_out_and_counted(tmp_path):
    root = esd(tmp_path, 1, speakers=(3, 11), empty=True)
    found = read_esd(root)
    assert {clip.speaker for clip in found.clips.values()} == {"0011"}
    assert [s.reason for s in found.skipped if "0010" in s.name] == ["Mandarin, 5 clips"]
    with pytest.raises(CorpusError, match="speaker 0012 is missing"):
        open_esd(root, variant="speaker_disjoint")
    with pytest.raises(CorpusError, match=r"development, angry: \d clips, and 18 are needed"):
        open_esd(root)


def test_a_clip_that_cannot_be_read_and_one_under_two_labels_are_named(tmp_path):
    source = open_esd(esd(tmp_path, empty=True), variant="speaker_disjoint")
    for i, clip in enumerate(source.clips):
        tone(clip.path, i, duration_s=0.02)
    first, other = (
        source.clips[0],
        next(c for c in source.clips if c.label != source.clips[0].label),
    )
    for clip in (first, other):
        tone(clip.path, 999, duration_s=0.02)
    with pytest.raises(CorpusError, match=f"two labels: .*{first.file_name}"):
        plan_build(source)
    first.path.write_bytes(b"RIFF")
    with pytest.raises(AudioError, match=first.file_name):
        plan_build(source)


def run(*arguments):
    result = CliRunner().invoke(app, ["build", "--out", "none", "--dry-run", *map(str, arguments)])
    return result.exit_code, " ".join(result.output.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--variant", "later"), "no variant 'later'; there are earlier, speaker_disjoint"),
        (("--variant", "speaker_disjoint", "--ids", "x.csv"), "--ids lists the clips of"),
    ],
)
def test_options_that_cannot_be(names, options, message):
    code, printed = run("--from", names, *options)
    assert code == 2
    assert message in printed


def test_an_archive_is_to_be_unpacked(tmp_path):
    (tmp_path / "ESD.zip").write_bytes(b"PK")
    code, printed = run("--from", tmp_path)
    assert code == 2
    assert "unpack ESD.zip there first" in printed
