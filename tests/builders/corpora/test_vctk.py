"""VCTK on disk and the published choice of its clips."""

import hashlib
import io
import random
from collections import Counter
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
import soundfile

from builders.corpora.base import CorpusError
from builders.corpora.vctk.frozen import VctkListRow, read_vctk_list
from builders.corpora.vctk.layout import VctkClip, VctkSpeaker, parse_speakers, scan
from builders.corpora.vctk.opening import open_vctk
from builders.corpora.vctk.selection import (
    accent_group,
    draw_speakers,
    draw_test_clips,
    draw_train_clips,
)
from builders.corpora.vctk.verification import verify_vctk
from tests.builders.corpora.recorded_progress import RecordedProgress
from tests.builders.own_vctk import LAYOUTS, write_own_vctk

REAL = Path(__file__).parents[3].parent / "shared" / "data" / "real" / "vctk"

# Who the 108 speakers of VCTK 0.80 are (a fact from its speaker-info.txt).
SPEAKERS = {
    ("F", "English"): "225 228 229 230 231 233 236 239 240 244 250 257 267 268 269 276 277 282",
    ("M", "English"): "226 227 232 243 254 256 258 259 270 273 274 278 279 286 287",
    ("F", "Scottish"): "234 249 262 264 265",
    ("M", "Scottish"): "237 241 246 247 252 255 260 263 271 272 275 281 284 285",
    ("F", "NorthernIrish"): "238 261 293 351",
    ("M", "NorthernIrish"): "292 304",
    ("F", "Irish"): "266 283 288 295 313 340",
    ("M", "Irish"): "245 298 364",
    ("F", "American"): "294 297 299 300 301 305 306 308 310 318 329 330 333 339 341 361 362",
    ("M", "American"): "311 315 334 345 360",
    ("F", "Canadian"): "303 307 312 317 343",
    ("M", "Canadian"): "302 316 363",
    ("F", "Indian"): "248",
    ("M", "Indian"): "251 376",
    ("F", "Welsh"): "253",
    ("F", "SouthAfrican"): "314 323 336",
    ("M", "SouthAfrican"): "347",
    ("F", "NewZealand"): "335",
    ("M", "Australian"): "326 374",
}
PEOPLE = {
    f"p{number}": VctkSpeaker(f"p{number}", "22", gender, accent)
    for (gender, accent), numbers in SPEAKERS.items()
    for number in numbers.split()
}
CANDIDATES = sorted(PEOPLE.keys() - {"p315"})
N_CLIPS = 16


def text_of(speaker_id, number):
    """The first two sentences are read by everybody, the next by pairs, the rest by one."""
    if number <= 2:
        return f"Everybody reads sentence {number}."
    if number <= 4:
        return f"Sentence {number} of group {int(speaker_id[1:]) // 2}."
    return f"Sentence {number} of {speaker_id}."


def seconds_of(speaker_id, number):
    """2 to 5 s; every fifth clip is too short."""
    return 2.0 if (number + int(speaker_id[1:])) % 5 == 0 else 3.0 + number % 3


@pytest.fixture(scope="module")
def clips():
    return {
        name: [
            VctkClip(
                f"{name}_{number:03d}",
                name,
                f"{number:03d}",
                text_of(name, number),
                seconds_of(name, number),
                Path(f"{name}_{number:03d}.wav"),
            )
            for number in range(1, N_CLIPS + 1)
        ]
        for name in CANDIDATES
    }


@pytest.fixture(scope="module")
def published(clips):
    """The whole published selection on made-up clips: speakers, test, train."""
    rng = random.Random(42)
    speakers = draw_speakers((PEOPLE[name] for name in CANDIDATES), rng)
    test = draw_test_clips(speakers, clips, rng)
    rest = [name for name in CANDIDATES if name not in speakers]
    texts = {clip.text for _, clip in test}
    return speakers, test, draw_train_clips(rest, clips, texts, random.Random(42))


def audio_file(seconds, *, file_format="WAV", rate=100):
    buffer = io.BytesIO()
    subtype = "PCM_U8" if file_format == "WAV" else "PCM_16"
    zeros = np.zeros(round(seconds * rate), dtype=np.int16)
    soundfile.write(buffer, zeros, rate, format=file_format, subtype=subtype)
    return buffer.getvalue()


def write_corpus(root, names, *, version="0.80", n_clips=N_CLIPS):
    """A VCTK of silence; in 0.92 with both microphones, but p280 with mic1 only."""
    old = version == "0.80"
    lines = ["ID  AGE  GENDER  ACCENTS  REGION" + ("  " if old else " COMMENTS ")]
    kind = ("WAV", 100) if old else ("FLAC", 8000)
    data = {s: audio_file(s, file_format=kind[0], rate=kind[1]) for s in (2.0, 3.0, 4.0, 5.0)}
    for name in names:
        person = PEOPLE.get(name, VctkSpeaker(name, "25", "F", "Unknown"))
        written = name.removeprefix("p") if old else name
        lines.append(f"{written}  {person.age}  {person.gender}    {person.accent}  Some  Town")
        folder = root / ("wav48" if old else "wav48_silence_trimmed") / name
        folder.mkdir(parents=True)
        (root / "txt" / name).mkdir(parents=True)
        for number in range(1, n_clips + 1):
            clip = f"{name}_{number:03d}"
            digits = int("".join(filter(str.isdigit, name)))
            content = data[seconds_of(f"p{digits}", number)]
            microphones = [""] if old else ["_mic1"] if name == "p280" else ["_mic1", "_mic2"]
            for microphone in microphones:
                (folder / f"{clip}{microphone}.{kind[0].lower()}").write_bytes(content)
            if name != "p315":
                text = text_of(f"p{digits}", number)
                (root / "txt" / name / f"{clip}.txt").write_text(f" {text}\n")
    (root / "speaker-info.txt").write_text("\n".join(lines) + "\n\n")
    return root


@pytest.fixture(scope="module")
def old_corpus(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("vctk080"), sorted(PEOPLE))


class TestSpeakerInfo:
    def test_lines_of_both_versions_and_odd_ones(self):
        text = (
            "\ufeffID  AGE  GENDER  ACCENTS  REGION COMMENTS \r\n"
            "225  23  F    English    Southern  England\r\n"
            "p248  23  F    Indian  \r\n"
            "p280  25  F    Unknown    France (mic2 files unavailable)\n"
            "p329  23  F    American  (one comment)\n"
            "s5  22  M    English    a b c\n"
            "\n"
            "nonsense\n"
        )
        speakers, skipped = parse_speakers(text)
        assert list(speakers) == ["p225", "p248", "p280", "p329", "s5"]
        assert speakers["p225"] == ("p225", "23", "F", "English", "Southern England", "")
        assert speakers["p248"].region == ""
        assert speakers["p280"][3:] == ("Unknown", "France", "mic2 files unavailable")
        assert speakers["p329"][3:] == ("American", "", "one comment")
        assert speakers["s5"].region == "a b c"
        assert [name for name, _ in skipped] == ["speaker-info.txt line 8"]

    def test_a_speaker_named_twice_is_rejected(self):
        with pytest.raises(CorpusError, match="line 2: p225 is there twice"):
            parse_speakers("225  23  F  English\np225  23  F  English")

    def test_the_real_file_has_108_speakers_as_in_the_table_above(self):
        path = REAL / "VCTK-Corpus-0.80" / "speaker-info.txt"
        if not path.is_file():
            pytest.skip("an extra on the real list of speakers; it is not beside the clone")
        speakers, skipped = parse_speakers(path.read_text())
        assert not skipped
        assert {n: (s.gender, s.accent) for n, s in speakers.items()} == {
            n: (s.gender, s.accent) for n, s in PEOPLE.items()
        }


class TestPublishedTestSelection:
    def test_the_draw_gives_the_speakers_of_the_published_list(self):
        drawn = draw_speakers((PEOPLE[name] for name in CANDIDATES), random.Random(42))
        assert drawn == sorted({row.speaker_id for row in read_vctk_list()})

    def test_the_draw_is_balanced_as_published(self, published):
        speakers = [PEOPLE[name] for name in published[0]]
        assert Counter(s.gender for s in speakers) == {"F": 25, "M": 25}
        accents = Counter(accent_group(s.accent) for s in speakers)
        assert accents == {"American": 13, "English": 13, "Others": 12, "Scottish": 12}

    def test_speakers_and_clips_agree_with_a_plain_computation(self, clips):
        # A pool without a perfect draw, in which gender pulls against accent: all men are Scots.
        accents = ["English", "American", "Indian"]
        people = {
            name: VctkSpeaker(name, "22", "F", accents[place % 3])
            if place < 45
            else VctkSpeaker(name, "22", "M", "Scottish")
            for place, name in enumerate(CANDIDATES[:70])
        }
        pool = sorted(people)
        wanted = {"American": 13, "English": 13, "Others": 12, "Scottish": 12}
        group_of = {name: accent_group(person.accent) for name, person in people.items()}
        rng = random.Random(42)
        best = (10**9, [])
        for _ in range(20_000):
            draw = rng.sample(pool, 50)
            men = sum(people[n].gender == "M" for n in draw)
            score = 10 * (abs(men - 25) + abs(50 - men - 25))
            groups = [group_of[n] for n in draw]
            score += sum(abs(groups.count(g) - target) for g, target in wanted.items())
            if score < best[0]:
                best = (score, sorted(draw))
        expected = []
        for name in best[1]:
            long_enough = [c.clip_id for c in clips[name] if c.duration_s >= 3]
            expected += sorted(rng.sample(long_enough, 2))
        ours = random.Random(42)
        speakers = draw_speakers(people.values(), ours)
        assert best[0] > 0
        assert speakers == best[1]
        assert [c.clip.clip_id for c in draw_test_clips(speakers, clips, ours)] == expected

    def test_two_clips_each_numbered_in_clip_order(self, published):
        speakers, test, _ = published
        assert [item_id for item_id, _ in test] == [
            f"{s}_{k:02d}" for s in speakers for k in (1, 2)
        ]
        assert all(a.clip.clip_id < b.clip.clip_id for a, b in pairwise(test))
        assert all(clip.duration_s >= 3 for _, clip in test)

    def test_excluded_clips_are_never_drawn(self, clips):
        banned = [clip.clip_id for clip in clips["p226"][1:]]
        with pytest.raises(CorpusError, match="needs 2 clips of test speaker p226"):
            draw_test_clips(["p226"], clips, random.Random(0), exclude=banned)
        one, two = clips["p226"][0], clips["p226"][1]
        assert min(one.duration_s, two.duration_s) >= 3
        left = [c.clip_id for c in clips["p226"] if c.clip_id not in (one.clip_id, two.clip_id)]
        drawn = draw_test_clips(["p226"], clips, random.Random(0), exclude=left)
        assert [numbered.clip for numbered in drawn] == [one, two]

    def test_too_few_speakers_points_to_the_way_out(self):
        with pytest.raises(CorpusError, match=r"needs 50 test speakers .* has 4 .*--selection all"):
            draw_speakers(list(PEOPLE.values())[:4], random.Random(42))


class TestPublishedTrainSelection:
    def test_500_clips_of_57_speakers_8_or_9_each(self, published):
        speakers, _, train = published
        counts = Counter(clip.speaker_id for _, clip in train)
        assert len(train) == 500
        assert not counts.keys() & set(speakers)
        assert Counter(counts.values()) == {8: 13, 9: 44}
        assert len({item_id for item_id, _ in train}) == 500

    def test_no_text_twice_and_none_of_the_test_texts(self, published):
        _, test, train = published
        texts = [clip.text for _, clip in train]
        assert len(set(texts)) == 500
        assert not set(texts) & {clip.text for _, clip in test}
        assert all(clip.duration_s >= 3 for _, clip in train)

    def test_agrees_with_a_plain_computation(self, published, clips):
        speakers, test, train = published
        names = [name for name in CANDIDATES if name not in speakers]
        tested = {clip.text for _, clip in test}
        rng = random.Random(42)
        order = list(names)
        rng.shuffle(order)
        target = {name: 9 if order.index(name) < 44 else 8 for name in names}
        queue = {}
        for name in names:
            queue[name] = [c for c in clips[name] if c.duration_s >= 3 and c.text not in tested]
            rng.shuffle(queue[name])
        taken = {name: [] for name in names}
        used = set()
        while sum(map(len, taken.values())) < 500:
            for name in names:
                free = [c for c in queue[name] if c.text not in used]
                if len(taken[name]) < target[name]:
                    taken[name].append(free[0].clip_id)
                    used.add(free[0].text)
        expected = [clip_id for name in names for clip_id in sorted(taken[name])]
        assert [clip.clip_id for _, clip in train] == expected

    def test_texts_that_run_out_are_an_error(self, clips):
        shared = {name: clips[name][:2] for name in ("p225", "p227")}
        with pytest.raises(CorpusError, match=r"needs 2 clips of speaker p22[57]"):
            draw_train_clips(shared, shared, set(), random.Random(42), n_clips=4, min_duration_s=0)


class TestFrozenList:
    def test_clip_ids_made_from_it_have_the_published_hash(self):
        curves = ("linear", "quad_first_flat", "quad_last_flat", "jump")
        conditions = list(product(curves, ("low", "mid", "high"), ("up", "down")))
        ids = sorted(
            "__".join((row.item_id, row.clip_id, *condition))
            for row in read_vctk_list()
            for condition in conditions
        )
        digest = hashlib.sha256("\n".join(ids).encode()).hexdigest()
        assert len(ids) == 2400
        assert (digest[:8], digest[-5:]) == ("0ed4dd64", "114e8")

    def test_its_facts(self):
        durations = [row.duration_s for row in read_vctk_list()]
        spans = [row.offset_s - row.onset_s for row in read_vctk_list()]
        assert (min(durations), max(durations)) == (3.031042, 7.552812)
        assert np.mean(durations) == pytest.approx(4.095, abs=5e-4)
        assert np.mean(spans) == pytest.approx(2.323, abs=5e-4)
        assert np.median(spans) == pytest.approx(2.125, abs=5e-4)
        assert not {"p306_140", "p360_140"} & {row.clip_id for row in read_vctk_list()}

    @pytest.fixture
    def three_clips(self, tmp_path):
        """The first two listed clips as long as listed, the third a little longer."""
        (tmp_path / "speaker-info.txt").write_text("226  22  M    English\n230  22  F    English\n")
        for place, row in enumerate(read_vctk_list()[:3]):
            for kind in ("wav48", "txt"):
                (tmp_path / kind / row.speaker_id).mkdir(parents=True, exist_ok=True)
            seconds = row.duration_s + (0.01 if place == 2 else 0)
            path = tmp_path / "wav48" / row.speaker_id / f"{row.clip_id}.wav"
            path.write_bytes(audio_file(seconds, rate=48_000))
            (tmp_path / "txt" / row.speaker_id / f"{row.clip_id}.txt").write_text("Some words.")
        return tmp_path

    def test_gives_listed_spans_where_the_length_is_as_listed(self, three_clips):
        corpus = open_vctk(three_clips, selection="frozen", on_error="skip")
        assert [(s.item_id, s.clip_id, s.position) for s in corpus.sources] == [
            ("p226_01", "p226_106", 0),
            ("p226_02", "p226_161", 1),
            ("p230_01", "p230_191", 2),
        ]
        assert [s.span_s for s in corpus.sources] == [(1.66, 4.29), (1.56, 2.82), None]
        assert len(corpus.skipped) == 97
        assert any("1 of them differ in length" in note for note in corpus.notes)

    def test_missing_clips_are_an_error_unless_skipped(self, three_clips):
        with pytest.raises(CorpusError, match=r"97 of the 100 .* p230_417; .*--on-error skip"):
            open_vctk(three_clips, selection="frozen")


class TestOpening:
    def test_published_splits_of_a_whole_corpus(self, old_corpus, published):
        corpus = open_vctk(old_corpus, splits=("train", "validation", "test"))
        by_split = {
            split: [s for s in corpus.sources if s.split == split]
            for split in ("train", "validation", "test")
        }
        assert {split: len(clips) for split, clips in by_split.items()} == {
            "train": 450,
            "validation": 50,
            "test": 100,
        }
        _, test, train = published
        assert [(s.item_id, s.clip_id) for s in by_split["test"]] == [
            (item_id, clip.clip_id) for item_id, clip in test
        ]
        both = sorted(by_split["train"] + by_split["validation"], key=lambda s: s.position)
        assert [s.position for s in both] == list(range(500))
        assert [(s.item_id, s.clip_id) for s in both] == [(i, c.clip_id) for i, c in train]
        hashes = sorted((hashlib.sha256(i.encode()).hexdigest(), i) for i, _ in train)
        assert {s.item_id for s in by_split["validation"]} == {i for _, i in hashes[:50]}
        assert corpus.sources[0].transcript.startswith("Sentence ")
        assert (corpus.name, corpus.licence) == ("VCTK 0.80", "other")
        assert any("not confirmed" in note for note in corpus.notes)
        assert [s for s in corpus.skipped if s.name == "p315"] == [
            ("p315", "no text for its 16 recordings")
        ]

    def test_a_source_keeps_its_split_whatever_else_is_requested(self, old_corpus):
        alone = open_vctk(old_corpus, splits=("train",)).sources
        together = open_vctk(old_corpus, splits=("validation", "train")).sources
        assert alone == tuple(s for s in together if s.split == "train")

    def test_092_chooses_the_microphone_and_the_published_speakers(self, tmp_path):
        write_corpus(tmp_path, [*sorted(PEOPLE), "p280", "s5"], version="0.92", n_clips=4)
        corpus = open_vctk(tmp_path)
        assert (corpus.name, corpus.licence) == ("VCTK 0.92", "cc-by-4.0")
        assert sorted({s.speaker_id for s in corpus.sources}) == sorted(
            {row.speaker_id for row in read_vctk_list()}
        )
        assert {s.path.name[8:] for s in corpus.sources} == {"_mic1.flac"}
        assert {s.name for s in corpus.skipped} == {"p315", "p280", "s5"}
        second = open_vctk(tmp_path, microphone="mic2")
        assert {s.path.name[8:] for s in second.sources} == {"_mic2.flac"}
        assert ("p280", "no mic2 recording, only 4 of another microphone") in second.skipped

    def test_all_takes_everything_and_splits_by_speaker(self, tmp_path):
        write_corpus(tmp_path, ["p225", "p226", "p240", "p250", "p270", "p280"], n_clips=6)
        corpus = open_vctk(tmp_path, selection="all")
        assert len(corpus.sources) == 36
        assert corpus.sources[0].item_id == corpus.sources[0].clip_id == "p225_001"
        assert len(open_vctk(tmp_path, selection="all", min_duration_s=3).sources) < 36
        divided = open_vctk(tmp_path, selection="all", splits=("train", "test"))
        tested = [s for s in divided.sources if s.split == "test"]
        trained = [s for s in divided.sources if s.split == "train"]
        assert len(tested) == 12  # two of six speakers
        assert not {s.speaker_id for s in tested} & {s.speaker_id for s in trained}
        assert not {s.transcript for s in tested} & {s.transcript for s in trained}
        assert len(trained) + len(tested) + len(divided.skipped) == 36

    def test_what_lacks_its_other_half_is_skipped_with_a_reason(self, tmp_path):
        write_corpus(tmp_path, ["p225", "p226", "p227"], n_clips=3)
        (tmp_path / "wav48" / "p225" / "p225_001.wav").unlink()
        (tmp_path / "txt" / "p225" / "p225_002.txt").unlink()
        (tmp_path / "wav48" / "p226" / "p226_001.wav").write_bytes(b"no audio")
        for path in (tmp_path / "wav48" / "p227").iterdir():
            path.unlink()
        (tmp_path / "txt" / "p999").mkdir()
        (tmp_path / "txt" / "p225" / "._p225_003.txt").write_bytes(b"\0")
        with pytest.raises(
            CorpusError, match=r"1 clips cannot be read, first p226_001: not readable.*--on-error"
        ):
            open_vctk(tmp_path, selection="all")
        corpus = open_vctk(tmp_path, selection="all", on_error="skip")
        assert [s.clip_id for s in corpus.sources] == ["p225_003", "p226_002", "p226_003"]
        reasons = dict(corpus.skipped)
        assert reasons.pop("p226_001").startswith("not readable")
        assert reasons == {
            "p999": "not in speaker-info.txt",
            "p225_001": "text without audio",
            "p225_002": "audio without text",
            "p227": "no recording for its 3 texts",
        }

    def test_progress_counts_every_file(self, tmp_path):
        write_corpus(tmp_path, ["p225"], n_clips=3)
        progress = RecordedProgress()
        open_vctk(tmp_path, selection="all", progress=progress)
        assert progress.steps == [(1, 3), (2, 3), (3, 3)]

    def test_a_folder_that_is_not_vctk(self, tmp_path):
        with pytest.raises(CorpusError, match=r"holds no speaker-info.txt"):
            scan(tmp_path)
        write_corpus(tmp_path / "VCTK-Corpus", ["p225"], n_clips=1)
        with pytest.raises(CorpusError, match=r"did you mean .*VCTK-Corpus"):
            scan(tmp_path)
        with pytest.raises(CorpusError, match="no microphone 'mic3'"):
            scan(tmp_path / "VCTK-Corpus", microphone="mic3")
        with pytest.raises(CorpusError, match="no selection 'some'; there are published"):
            open_vctk(tmp_path / "VCTK-Corpus", selection="some")

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_own_clips_in_both_layouts(self, layout, tmp_path):
        corpus = open_vctk(write_own_vctk(tmp_path, layout), selection="all")
        assert [s.clip_id for s in corpus.sources] == [f"p90{n}_001" for n in range(1, 7)]
        assert corpus.sources[0].transcript == "The small boat drifted slowly to the shore."
        assert layout.startswith("-".join(("VCTK-Corpus", corpus.name.removeprefix("VCTK "))))

    @pytest.mark.parametrize("name", LAYOUTS)
    def test_real_recordings_in_both_layouts(self, name):
        if not (REAL / name).is_dir():
            pytest.skip("an extra on recordings that lie beside the clone; none are there")
        corpus = open_vctk(REAL / name, selection="all")
        by_id = {source.clip_id: source for source in corpus.sources}
        assert name.startswith("-".join(("VCTK-Corpus", corpus.name.removeprefix("VCTK "))))
        assert by_id["p225_001"].transcript == "Please call Stella."
        assert len(by_id) == len(list((REAL / name).rglob("p*_*.txt")))


class TestVerify:
    def test_same_draw_and_another_order(self, old_corpus, published):
        rows = [VctkListRow(i, c.clip_id, c.duration_s, 0.0, 1.0, 0) for i, c in published[1]]
        report = verify_vctk(old_corpus, listed=rows)
        assert report.complete
        assert not report.matches
        assert (report.selection, report.durations, report.segments) == ((), (), ())
        assert len(report.spans) == 100  # silence: no speech where 0 to 1 s was listed
        assert not report.agrees
        swapped = verify_vctk(old_corpus, listed=[rows[1], rows[0], *rows[2:]])
        assert swapped.selection == ("the same clips in another order",)

    def test_spans_lengths_and_segments_of_a_small_corpus(self, tmp_path):
        write_corpus(tmp_path, ["p225"], n_clips=2)
        wave = np.zeros(32_000)
        wave[8_000:24_000] = 0.3 * np.sin(np.arange(16_000))
        wave[23_999] = 0  # or the pre-emphasis leaves an echo in the next frame
        path = tmp_path / "wav48" / "p225" / "p225_001.wav"
        soundfile.write(path, wave, 16_000, subtype="PCM_16")
        rows = [VctkListRow("p225_01", "p225_001", 2.0, 0.5, 1.5, 1)]
        report = verify_vctk(tmp_path, listed=rows)
        assert report.agrees
        assert not report.complete
        assert "needs 50 test speakers" in report.selection_note
        wrong = VctkListRow("p225_01", "p225_001", 2.000001, 0.5, 1.51, 2)
        report = verify_vctk(tmp_path, listed=[wrong, rows[0]._replace(clip_id="p225_009")])
        assert report.missing == ("p225_009",)
        assert report.durations == ("p225_001: 2.000001 s listed, 2.000000 s here",)
        assert len(report.spans) == len(report.segments) == 1
        assert "1 of 2 listed clips compared" in report.summary()
