"""Common Voice Spontaneous Speech, from folders that mimic its own: tables, MP3s, the draw."""

import csv
import io
import random
import shutil
from collections import Counter
from itertools import product

import numpy as np
import pytest
import soundfile

from builders.corpora.base import CorpusError
from builders.corpora.reading.partition import carve_validation
from builders.corpora.reading.resampled import resample
from builders.corpora.spontaneous import selection as spontaneous_selection
from builders.corpora.spontaneous.layout import read_locale, read_tsv
from builders.corpora.spontaneous.opening import open_spontaneous
from builders.corpora.spontaneous.selection import draw_clips
from builders.vocalgrad.planning.survey import survey
from otoscope.acoustics import codec
from otoscope.acoustics.codec import AudioError
from tests.builders.corpora.recorded_progress import RecordedProgress

LOCALES = ("cdo", "cgg", "kbd", "qxp", "shi")
HEADER = [
    *("client_id", "audio_id", "audio_file", "duration_ms", "prompt_id", "prompt"),
    *("transcription", "votes", "age", "gender", "language", "split"),
]
RELEASE = "sps-corpus-4.0-2026-06-12"


def mp3(samples, rate=32_000):
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, rate, format="MP3", subtype="MPEG_LAYER_III")
    return buffer.getvalue()


def tone(*, rate=32_000, seconds=0.2, level=0.3, hz=440.0):
    return level * np.sin(2 * np.pi * hz * np.arange(round(seconds * rate)) / rate)


@pytest.fixture(scope="module")
def short_mp3():
    return mp3(tone())


def rows_of(locale, n_clips=150, n_speakers=15):
    """As many rows, the first speaker with the most; every twentieth lasts 30 s or more."""
    return [
        {
            "client_id": f"{locale}-client-{(n % n_speakers) * (n % 3 > 0):02d}",
            "audio_id": str(1000 + n),
            "audio_file": f"spontaneous-speech-{locale}-{1000 + n}.mp3",
            "duration_ms": "30000" if n % 20 == 7 else str(2000 + 180 * n),
            "prompt_id": str(n % 9),
            "prompt": "What?",
            "transcription": f"  words {n} " if n % 4 == 0 else "",
            "split": ("train", "dev", "test", "")[n % 4],
        }
        for n in range(n_clips)
    ]


def write_locale(root, locale, rows, audio, *, release=RELEASE, header=HEADER):
    folder = root / f"{release}-{locale}"
    (folder / "audios").mkdir(parents=True)
    with (folder / f"ss-corpus-{locale}.tsv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, header, delimiter="\t", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    for row in rows:
        (folder / "audios" / row["audio_file"]).write_bytes(audio)
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory, short_mp3):
    root = tmp_path_factory.mktemp("spontaneous")
    for locale in LOCALES:
        write_locale(root, locale, rows_of(locale), short_mp3)
    return root


@pytest.fixture
def corpus_folder(whole, tmp_path):
    """A copy to spoil."""
    return shutil.copytree(whole, tmp_path / "corpus")


def audio_of(root, locale, number):
    name = f"spontaneous-speech-{locale}-{number}.mp3"
    return root / f"{RELEASE}-{locale}" / "audios" / name


def plain_draw(rows_by_locale):
    """Train and test file stems by the words of the rules, and nothing of our code."""
    all_train, all_test = [], []
    for index, locale in enumerate(LOCALES):
        rng = random.Random(42 + index)
        rows = [r for r in rows_by_locale[locale] if int(r["duration_ms"]) / 1000 < 30]
        clients = sorted({r["client_id"] for r in rows})
        for _ in range(100_000):
            test_clients = [c for c in clients if rng.random() < 20 / (100 + 20)]
            test = [r for r in rows if r["client_id"] in test_clients]
            train = [r for r in rows if r["client_id"] not in test_clients]
            if test and train and len(test) >= 20 and len(train) >= 100:
                break
        all_train += rng.sample(train, 100)
        all_test += rng.sample(test, 20)
    random.Random(42 + 11).shuffle(all_test)
    return [[r["audio_file"].removesuffix(".mp3") for r in side] for side in (all_train, all_test)]


class TestPublishedSelection:
    def test_it_agrees_with_a_plain_computation(self, whole, tmp_path):
        train, test = plain_draw({locale: rows_of(locale) for locale in LOCALES})
        corpus = open_spontaneous(whole, work_folder=tmp_path, splits=["test", "train"])
        drawn = {split: [s for s in corpus.sources if s.split == split] for split in ("test",)}
        assert [s.clip_id for s in drawn["test"]] == test
        assert [s.item_id for s in drawn["test"]] == [f"cvss_test_{n:04d}" for n in range(1, 101)]
        ids = [f"cvss_train_{n:04d}" for n in range(1, 501)]
        validation = carve_validation(ids)
        expected = [(i, c) for i, c in zip(ids, train, strict=True) if i not in validation]
        ours = [(s.item_id, s.clip_id) for s in corpus.sources if s.split == "train"]
        assert ours == expected
        assert len(ours) == 450

    def test_twenty_a_language_and_no_speaker_on_both_sides(self, whole, tmp_path):
        corpus = open_spontaneous(
            whole, work_folder=tmp_path, splits=["test", "train", "validation"]
        )
        sides = {
            test: [s for s in corpus.sources if (s.split == "test") == test]
            for test in (True, False)
        }
        for test, n in ((True, 20), (False, 100)):
            locales = Counter(s.speaker_id.split(":")[0] for s in sides[test])
            assert locales == dict.fromkeys(LOCALES, n)
        speakers = [{s.speaker_id for s in sides[test]} for test in sides]
        assert not speakers[0] & speakers[1]
        assert sum(s.split == "validation" for s in corpus.sources) == 50
        assert sorted(s.position for s in sides[False]) == list(range(500))

    def test_the_fields_of_a_source(self, whole, tmp_path):
        corpus = open_spontaneous(whole, work_folder=tmp_path)
        by_clip = {r["audio_file"]: r for locale in LOCALES for r in rows_of(locale)}
        for s in corpus.sources:
            row = by_clip[f"{s.clip_id}.mp3"]
            locale = s.clip_id.split("-")[2]
            assert s.speaker_id == f"{locale}:{row['client_id']}"
            assert s.sentence_id == row["prompt_id"]
            assert s.transcript == row["transcription"].strip()
            assert s.span_s is None
            assert (codec.read(s.path).sampling_rate, s.path.suffix) == (16_000, ".flac")
        assert len(list(tmp_path.iterdir())) == 100  # only the selected clips are decoded
        assert (corpus.licence, corpus.language) == ("cc0-1.0", None)
        eastern_min = (
            f"Eastern Min: 142 of 150 rows of {RELEASE}-cdo to draw from (not 8 of 30 s or longer)."
        )
        assert eastern_min in corpus.notes
        assert not corpus.skipped

    def test_progress_counts_the_selected_clips(self, whole, tmp_path):
        progress = RecordedProgress()
        open_spontaneous(whole, work_folder=tmp_path, progress=progress)
        assert (progress.steps[0], progress.steps[-1]) == ((1, 100), (100, 100))

    def test_thirty_seconds_are_too_long_and_a_millisecond_less_is_not(self, tmp_path, short_mp3):
        rows = rows_of("cdo", 2)
        rows[0]["duration_ms"], rows[1]["duration_ms"] = "29999", "30000"
        folder = write_locale(tmp_path, "cdo", rows, short_mp3)
        read = read_locale("cdo", folder / "ss-corpus-cdo.tsv", below_s=30.0)
        assert [u.duration_s for u in read.clips] == [29.999]
        assert read.excluded == {"of 30 s or longer": 1}

    def test_of_two_rows_with_one_file_the_first_counts(self, whole, corpus_folder, tmp_path):
        before = open_spontaneous(whole, work_folder=tmp_path / "w")
        table = corpus_folder / f"{RELEASE}-cdo" / "ss-corpus-cdo.tsv"
        _, rows = table.read_text().split("\n", 1)
        table.write_text(table.read_text() + rows.replace("cdo-client-", "cdo-other-"))
        after = open_spontaneous(corpus_folder, work_folder=tmp_path / "w")
        assert after.sources == before.sources
        assert any(
            "16 of 30 s or longer, 142 naming an audio file again)" in n for n in after.notes
        )

    def test_the_older_name_of_the_column_with_milliseconds(self, tmp_path, short_mp3):
        header = ["duration" if name == "duration_ms" else name for name in HEADER]
        rows = [row | {"duration": row["duration_ms"]} for row in rows_of("shi", 3)]
        folder = write_locale(tmp_path, "shi", rows, short_mp3, header=header)
        read = read_locale("shi", folder / "ss-corpus-shi.tsv", below_s=30.0)
        assert [u.duration_s for u in read.clips] == [2.0, 2.18, 2.36]

    def test_another_release_is_noted(self, corpus_folder, tmp_path):
        (corpus_folder / f"{RELEASE}-kbd").rename(corpus_folder / "sps-corpus-3.0-2026-03-09-kbd")
        corpus = open_spontaneous(corpus_folder, work_folder=tmp_path / "w")
        notes = [note for note in corpus.notes if f"the published one is {RELEASE}" in note]
        assert len(notes) == 1
        assert notes[0].startswith("Kabardian: 142 of 150 rows of sps-corpus-3.0-2026-03-09-kbd")


class TestPartition:
    def clips(self, tmp_path, counts, short_mp3):
        rows = []
        for speaker, n in enumerate(counts):
            for row in rows_of("cdo", n):
                number = len(rows)
                rows.append(
                    row
                    | {"client_id": f"speaker{speaker}", "audio_file": f"clip{number}.mp3"}
                    | {"duration_ms": "5000"}
                )
        folder = write_locale(tmp_path, "cdo", rows, short_mp3)
        return read_locale("cdo", folder / "ss-corpus-cdo.tsv", below_s=30.0).clips

    @pytest.mark.parametrize(
        ("counts", "possible"),
        [
            ([100, 20], True),  # exactly
            ([100, 19], False),
            ([99, 21], False),
            ([130, 6, 6, 6], False),  # one speaker is too dominant
            ([130, 6, 6, 8], True),
            ([119], False),
            ([150], False),
        ],
    )
    def test_whether_any_division_is_large_enough(self, tmp_path, short_mp3, counts, possible):
        # by trying every set of speakers
        tried = [
            sum(n for n, out in zip(counts, sides, strict=True) if out)
            for sides in product([False, True], repeat=len(counts))
        ]
        assert any(n >= 20 and sum(counts) - n >= 100 for n in tried) == possible
        clips = self.clips(tmp_path, counts, short_mp3)
        if possible:
            train, test = draw_clips(clips, random.Random(42))
            assert (len(train), len(test)) == (100, 20)
        else:
            with pytest.raises(CorpusError, match="no division of"):
                draw_clips(clips, random.Random(42))

    def test_the_dominant_speaker_is_named(self, tmp_path, short_mp3):
        clips = self.clips(tmp_path, [130, 6, 6, 6], short_mp3)
        complaint = (
            "no division of 4 speakers leaves 20 clips for test and 100 for train: there are 148, "
            "of which 130 are by speaker0"
        )
        with pytest.raises(CorpusError, match=complaint):
            draw_clips(clips, random.Random(42))

    def test_an_unlucky_draw_ends(self, tmp_path, short_mp3, monkeypatch):
        clips = self.clips(tmp_path, [100, 20], short_mp3)
        first = random.Random(1)
        assert not (first.random() >= 1 / 6 and first.random() < 1 / 6)
        monkeypatch.setattr(spontaneous_selection, "N_DRAWS", 1)
        with pytest.raises(CorpusError, match="none of 1 divisions drawn of 2 speakers"):
            draw_clips(clips, random.Random(1))


class TestBadInput:
    def test_no_table_at_all(self, tmp_path):
        with pytest.raises(CorpusError, match=r"holds no ss-corpus-LOCALE.tsv; unpack"):
            open_spontaneous(tmp_path, work_folder=tmp_path)
        with pytest.raises(CorpusError, match="there is no folder"):
            open_spontaneous(tmp_path / "no", work_folder=tmp_path)

    def test_a_missing_language(self, corpus_folder, tmp_path):
        shutil.rmtree(corpus_folder / f"{RELEASE}-qxp")
        with pytest.raises(CorpusError, match=r"Puno Quechua \(qxp\): no ss-corpus-qxp.tsv in"):
            open_spontaneous(corpus_folder, work_folder=tmp_path / "w")
        corpus = open_spontaneous(corpus_folder, work_folder=tmp_path / "w", on_error="skip")
        assert len(corpus.sources) == 80
        (skipped,) = corpus.skipped
        assert skipped.name == "qxp"
        assert str(tmp_path) not in skipped.reason
        assert any(note.startswith("Languages are missing") for note in corpus.notes)

    def test_a_table_is_missing_though_its_audio_is_there(self, corpus_folder, tmp_path):
        (corpus_folder / f"{RELEASE}-cdo" / "ss-corpus-cdo.tsv").unlink()
        with pytest.raises(CorpusError, match=r"no ss-corpus-cdo.tsv in .*\['cgg', 'kbd'"):
            open_spontaneous(corpus_folder, work_folder=tmp_path / "w")

    def test_no_language_can_be_used(self, tmp_path, short_mp3):
        write_locale(tmp_path, "en", rows_of("en"), short_mp3)
        with pytest.raises(CorpusError, match="none of the five languages can be used; no ss-cor"):
            open_spontaneous(tmp_path, work_folder=tmp_path / "w", on_error="skip")

    def test_two_releases_in_one_folder(self, corpus_folder, tmp_path, short_mp3):
        write_locale(corpus_folder, "shi", rows_of("shi", 2), short_mp3, release="older")
        with pytest.raises(CorpusError, match=r"older-shi.* are both of shi; keep one release"):
            open_spontaneous(corpus_folder, work_folder=tmp_path / "w")

    def test_audio_files_that_are_missing_are_counted(self, corpus_folder, tmp_path):
        for number in (1003, 1010):
            audio_of(corpus_folder, "cgg", number).unlink()
        corpus = open_spontaneous(corpus_folder, work_folder=tmp_path / "w")
        (note,) = (note for note in corpus.notes if note.startswith("Chiga: 140 of 150"))
        assert "2 without their audio file" in note

    def test_a_language_without_its_audio(self, corpus_folder, tmp_path):
        shutil.rmtree(corpus_folder / f"{RELEASE}-cgg" / "audios")
        with pytest.raises(CorpusError, match=r"Chiga \(cgg\): there is no clip to draw from"):
            open_spontaneous(corpus_folder, work_folder=tmp_path / "w")

    def test_rows_that_cannot_be_drawn(self, tmp_path, short_mp3):
        rows = rows_of("cdo", 6)
        rows[0]["duration_ms"], rows[1]["duration_ms"], rows[2]["duration_ms"] = "", "nan", "-5"
        rows[3]["client_id"] = ""
        folder = write_locale(tmp_path, "cdo", rows, short_mp3)
        table = folder / "ss-corpus-cdo.tsv"
        outside = rows[4]["audio_file"]
        (folder / outside).write_bytes(short_mp3)
        table.write_text(table.read_text().replace(outside, f"../{outside}"))
        read = read_locale("cdo", table, below_s=30.0)
        assert len(read.clips) == 1
        assert read.excluded == {
            "without a length in milliseconds": 3,
            "without a speaker": 1,
            "without their audio file": 1,
        }

    @pytest.mark.parametrize("audio", [b"", b"ID3 and nothing more", "cut"])
    def test_a_selected_clip_that_is_no_audio_is_rejected_by_name(
        self, corpus_folder, tmp_path, short_mp3, audio
    ):
        selected = open_spontaneous(corpus_folder, work_folder=tmp_path / "w").sources[4].clip_id
        path = audio_of(corpus_folder, *selected.split("-")[2:])
        path.write_bytes(short_mp3[:-400] if audio == "cut" else audio)
        sources = open_spontaneous(corpus_folder, work_folder=tmp_path / "w").sources
        assert sources[4].path == path
        rejected = survey(sources[4:5]).rejected
        assert [r.name for r in rejected] == [selected]
        assert f"{path.name}: " in rejected[0].reason

    def test_options(self, whole, tmp_path):
        for options, complaint in (
            (
                {"selection": "frozen"},
                "there are published. No list of the published clips is known",
            ),
            ({"on_error": "x"}, "no on_error 'x'; there are stop, skip"),
            ({"splits": ["tset"]}, "no split 'tset'"),
        ):
            with pytest.raises(CorpusError, match=complaint):
                open_spontaneous(whole, work_folder=tmp_path, **options)


class TestTable:
    def read(self, tmp_path, text):
        path = tmp_path / "table.tsv"
        path.write_bytes(text.encode())
        return read_tsv(path)[1]

    def test_quotes_that_are_quoting(self, tmp_path):
        rows = self.read(tmp_path, 'a\tb\r\n1\t"he said ""yes"""\r\n\r\n2\tplain\r\n')
        assert rows == [{"a": "1", "b": 'he said "yes"'}, {"a": "2", "b": "plain"}]

    def test_a_stray_quote_swallows_nothing(self, tmp_path):
        rows = self.read(tmp_path, 'a\tb\n1\t"never closed\n2\tx\n3\ty"\n')
        assert [row["a"] for row in rows] == ["1", "2", "3"]
        assert rows[0]["b"] == '"never closed'

    def test_a_quoted_cell_over_two_lines(self, tmp_path):
        rows = self.read(tmp_path, 'a\tb\tc\n1\t"first\nsecond"\tx\n2\ty\tz\n')
        assert rows == [{"a": "1", "b": "first\nsecond", "c": "x"}, {"a": "2", "b": "y", "c": "z"}]

    def test_a_row_of_the_wrong_length_is_named(self, tmp_path):
        with pytest.raises(CorpusError, match=r"line 3: 3 cells where the header has 2"):
            self.read(tmp_path, "a\tb\n1\t2\n1\t2\t3\n")
        with pytest.raises(CorpusError, match="0 cells"):
            self.read(tmp_path, "")

    def test_a_missing_column_and_other_text(self, tmp_path):
        path = tmp_path / "t.tsv"
        path.write_text("client_id\tduration_ms\nx\t1\n")
        with pytest.raises(CorpusError, match=r"no column 'audio_file'; it has \['client_id'"):
            read_locale("cdo", path, below_s=30.0)
        path.write_text("client_id\n")
        with pytest.raises(CorpusError, match="no column 'audio_file'; it has \\['client_id'\\]"):
            read_locale("cdo", path, below_s=30.0)
        path.write_bytes(b"\xff\xfe\x00")
        with pytest.raises(CorpusError, match="is not UTF-8 text"):
            read_tsv(path)
        with pytest.raises(CorpusError, match="No such file"):
            read_tsv(tmp_path / "none.tsv")


class TestResampled:
    def written(self, tmp_path, samples, rate, *, form="WAV", subtype="FLOAT"):
        path = tmp_path / f"clip.{form.lower()}"
        soundfile.write(path, samples, rate, format=form, subtype=subtype)
        return resample(path, tmp_path / "out")

    def test_a_stereo_tone_becomes_the_mean_of_its_channels_at_16_khz(self, tmp_path):
        left = tone(rate=48_000, seconds=1, level=0.5)
        audio = self.written(tmp_path, np.stack([left, 0 * left], axis=1), 48_000)
        made = codec.read(audio.path)
        expected = tone(rate=16_000, seconds=1, level=0.25)
        assert (made.pcm.shape, made.sampling_rate) == ((1, 16_000), 16_000)
        inner = slice(800, -800)  # the resampler rings at the ends
        assert np.max(np.abs(made.pcm[0][inner] / 32768 - expected[inner])) < 2e-4
        assert audio.attenuation_db == 0

    def test_sixteen_bits_at_16_khz_are_left_alone(self, tmp_path):
        pcm = np.int16([[100], [-32768], [32767], [5]])
        audio = self.written(tmp_path, pcm, 16_000, subtype="PCM_16")
        # -32768 is one step beyond what the largest value mirrors, hence 0.0003 dB
        assert codec.read(audio.path).pcm[0].tolist() == [100, -32767, 32766, 5]
        assert audio.attenuation_db == pytest.approx(0.000265, abs=1e-6)

    def test_beyond_full_scale_the_whole_clip_is_attenuated_and_nothing_clipped(self, tmp_path):
        loud = tone(rate=16_000, seconds=0.5, level=2.0)
        audio = self.written(tmp_path, loud, 16_000)
        made = codec.read(audio.path).pcm[0]
        assert audio.attenuation_db == pytest.approx(6.02, abs=0.01)
        assert np.max(np.abs(made / 32767 - loud / 2)) < 1e-4
        assert np.sum(np.abs(made) == 32767) < 0.02 * made.size

    def test_an_mp3_that_decodes_to_more_than_it_was_made_of(self, tmp_path):
        noise = np.random.default_rng(0).choice([-1.0, 1.0], 32_000)
        (tmp_path / "loud.mp3").write_bytes(mp3(noise))
        audio = resample(tmp_path / "loud.mp3", tmp_path)
        made = codec.read(audio.path).pcm
        assert audio.attenuation_db > 0.1
        assert np.max(np.abs(made)) == 32767

    def test_too_short_and_not_finite(self, tmp_path):
        with pytest.raises(AudioError, match="too short to be resampled to 16000 Hz"):
            self.written(tmp_path, np.float32([0.1]), 96_000)
        with pytest.raises(AudioError, match="NaN or infinite"):
            self.written(tmp_path, np.float32([0.1, np.nan] * 50), 16_000)

    def test_attenuated_clips_are_counted(self, corpus_folder, tmp_path):
        names = [s.clip_id for s in open_spontaneous(corpus_folder, work_folder=tmp_path).sources]
        loud = mp3(np.random.default_rng(0).choice([-1.0, 1.0], 8_000))
        for name in names[:3]:
            audio_of(corpus_folder, *name.split("-")[2:]).write_bytes(loud)
        notes = open_spontaneous(corpus_folder, work_folder=tmp_path).notes
        (note,) = (note for note in notes if "attenuated as a whole" in note)
        assert note.startswith("3 of 100 clips were beyond full scale")
