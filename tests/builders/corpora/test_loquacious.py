"""LoquaciousSet, from Parquet files that mimic its own: rows, names and doubtful spans."""

import hashlib
import io
import random
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import soundfile

from builders.corpora.base import CorpusError
from builders.corpora.loquacious import rows as loquacious_rows
from builders.corpora.loquacious import verification as loquacious_verify
from builders.corpora.loquacious.frozen import LoquaciousListRow, read_loquacious_list
from builders.corpora.loquacious.opening import open_loquacious
from builders.corpora.loquacious.selection import draw_rows, sex_of
from builders.corpora.loquacious.verification import verify_loquacious
from builders.vocalgrad.planning.corrections import Correction
from builders.vocalgrad.planning.survey import survey
from otoscope.acoustics.spans import detect
from tests.acoustics.synthetic_speech import speech_pcm
from tests.builders.corpora.recorded_progress import RecordedProgress

AUDIO = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
N_ROWS = 7_500
RATE = 16_000
COMMIT = "0123456789abcdef" * 2 + "01234567"


def write_set(root, ids, recordings=None, *, sexes=None, n_files=3):
    """A copy of the test split: `ids` in order, over several files, row groups of 100."""
    (root / "test").mkdir(parents=True)
    table = pa.table(
        {
            "ID": ids,
            "duration": [1.0] * len(ids),
            "start": [0.0] * len(ids),
            "wav": pa.array(
                [
                    {"bytes": b, "path": f"{i}.wav"}
                    for i, b in enumerate(recordings or map(fake, ids))
                ],
                AUDIO,
            ),
            "spk_id": [f"speaker {i % 7}" for i in range(len(ids))],
            "sex": sexes or ["female", "male"] * (len(ids) // 2) + ["M"] * (len(ids) % 2),
            "text": [f"words  of {name}" for name in ids],
        }
    )
    n_files = min(n_files, len(ids))
    each = len(ids) // n_files
    for k in range(n_files):
        part = table.slice(k * each, each if k + 1 < n_files else None)
        name = f"test-{k:05d}-of-{n_files:05d}.parquet"
        pq.write_table(part, root / "test" / name, row_group_size=100)
    return root


def fake(name):
    return f"audio of {name}".encode()


def ids_of_the_set():
    """Every listed clip in its row, and made-up ones in all others."""
    ids = [f"other_{row}" for row in range(N_ROWS)]
    for listed in read_loquacious_list():
        ids[listed.row] = listed.clip_id
    return ids


@pytest.fixture(scope="module")
def whole_set(tmp_path_factory):
    return write_set(tmp_path_factory.mktemp("loquacious"), ids_of_the_set())


class TestTheList:
    def test_clip_ids_made_from_it_have_the_published_hash(self):
        curves = ("linear", "quad_first_flat", "quad_last_flat", "jump")
        ids = sorted(
            "__".join((row.item_id, row.clip_id, *condition))
            for row in read_loquacious_list()
            for condition in product(curves, ("low", "mid", "high"), ("up", "down"))
        )
        digest = hashlib.sha256("\n".join(ids).encode()).hexdigest()
        assert len(ids) == 2400
        assert (digest[:8], digest[-4:]) == ("4b6bd942", "b1ee")

    def test_its_facts(self):
        rows = read_loquacious_list()
        assert sum(row.clip_id.startswith("common_voice_en_") for row in rows) == 17
        assert len({row.row for row in rows}) == len(rows) == 100
        assert [row.item_id for row in rows] == [
            f"loquaciousset_test_{n:04d}" for n in range(1, 101)
        ]
        whole = [row.item_id[-4:] for row in rows if row.whole_clip]
        assert whole == ["0035", "0041", "0057", "0059"]
        assert all(row.onset_s == 0 for row in rows if row.whole_clip)

    def test_seven_of_its_spans_are_doubtful(self):
        doubts = {row.item_id[-4:]: row.doubt for row in read_loquacious_list() if row.doubt}
        assert set(doubts) == {"0030", "0035", "0041", "0047", "0057", "0059", "0099"}
        assert doubts["0047"] == "listed with 0.18 s of speech"
        assert doubts["0041"] == "listed without speech and with the whole clip as its span"


class TestFrozen:
    def test_every_listed_row_is_read_in_order_with_its_span(self, whole_set, tmp_path):
        progress = RecordedProgress()
        corpus = open_loquacious(
            str(whole_set), work_folder=tmp_path, selection="frozen", progress=progress
        )
        rows = read_loquacious_list()
        assert [(s.item_id, s.clip_id, s.span_s) for s in corpus.sources] == [
            (row.item_id, row.clip_id, (row.onset_s, row.offset_s)) for row in rows
        ]
        assert [s.position for s in corpus.sources] == list(range(100))
        assert all(s.path.read_bytes() == fake(s.clip_id) for s in corpus.sources)
        assert all(s.transcript == f"words of {s.clip_id}" for s in corpus.sources)
        assert corpus.sources[0].speaker_id == f"speaker {1571 % 7}"
        assert corpus.notes[0].startswith("100 of the 100 clips of the published list")
        assert sum("0.18 s of speech" in note for note in corpus.notes) == 1
        assert not any("another row" in note for note in corpus.notes)
        assert len(list(tmp_path.iterdir())) == 100  # no other audio is stored
        assert progress.steps[-1] == (
            7496,
            7496,
        )  # the last listed row is 7495, and nothing after it is read

    def test_rows_that_moved_are_matched_by_id(self, tmp_path):
        ids = ids_of_the_set()
        copy = write_set(tmp_path / "set", ids[5:] + ids[:5])  # row 3 goes near the end
        corpus = open_loquacious(str(copy), work_folder=tmp_path / "w", selection="frozen")
        assert [s.clip_id for s in corpus.sources] == [
            row.clip_id for row in read_loquacious_list()
        ]
        assert any(n.startswith("100 of them are in another row") for n in corpus.notes)

    def test_the_listed_row_wins_over_another_with_its_id(self, monkeypatch, tmp_path):
        row = LoquaciousListRow("loquaciousset_test_0001", "a", 2, 0.0, 0.5, False)
        monkeypatch.setattr(loquacious_rows, "read_loquacious_list", lambda: [row])
        copy = write_set(tmp_path / "set", ["a", "b", "a", "a"], [b"0", b"1", b"2", b"3"])
        corpus = open_loquacious(str(copy), work_folder=tmp_path / "w", selection="frozen")
        assert corpus.sources[0].path.read_bytes() == b"2"

    def test_a_missing_row_is_named(self, tmp_path):
        ids = ids_of_the_set()
        first = read_loquacious_list()[1]
        ids[first.row] = "somebody else"
        copy = write_set(tmp_path / "set", ids)
        with pytest.raises(
            CorpusError, match=r"1 of 100 selected clips .* common_voice_en_17407933"
        ):
            open_loquacious(str(copy), work_folder=tmp_path / "w", selection="frozen")
        corpus = open_loquacious(
            str(copy), work_folder=tmp_path / "w", selection="frozen", on_error="skip"
        )
        assert corpus.skipped == ((first.clip_id, "selected, but missing or without audio"),)
        assert [s.position for s in corpus.sources] == [0, *range(2, 100)]

    def test_a_row_without_audio_counts_as_missing(self, monkeypatch, tmp_path):
        rows = [LoquaciousListRow(f"i{n}", f"c{n}", n, 0.0, 0.5, False) for n in range(2)]
        monkeypatch.setattr(loquacious_rows, "read_loquacious_list", lambda: rows)
        copy = write_set(tmp_path / "set", ["c0", "c1"], [b"", b"x"])
        with pytest.raises(CorpusError, match="1 of 2 selected clips are missing or without audio"):
            open_loquacious(str(copy), work_folder=tmp_path / "w", selection="frozen")
        empty = write_set(tmp_path / "empty", ["c0", "c1"], [b"", b""])
        with pytest.raises(CorpusError, match="2 of 2 selected clips"):
            open_loquacious(
                str(empty), work_folder=tmp_path / "w", selection="frozen", on_error="skip"
            )

    def test_implausible_spans_are_doubtful_until_corrected(self, three_clips, tmp_path):
        corpus = open_loquacious(str(three_clips), work_folder=tmp_path, selection="frozen")
        result = survey(corpus.sources)
        assert [s.span_origin for s in result.sources] == ["given"] * 3
        assert [s.span for s in result.sources] == [(8_000, 24_000), (0, 32_000), (16_000, 18_400)]
        assert result.doubtful == (
            ("c1", "listed without speech and with the whole clip as its span; span given"),
            ("c2", "listed with 0.15 s of speech; span given"),
        )
        corrected = survey(corpus.sources, corrections={"c2": Correction((0.5, 1.5))})
        assert [skipped.name for skipped in corrected.doubtful] == ["c1"]

    def test_a_span_that_ends_after_the_clip_is_rejected(self, three_clips, monkeypatch, tmp_path):
        row = LoquaciousListRow("i0", "c0", 0, 0.5, 2.5, False)
        monkeypatch.setattr(loquacious_rows, "read_loquacious_list", lambda: [row])
        corpus = open_loquacious(str(three_clips), work_folder=tmp_path, selection="frozen")
        (rejected,) = survey(corpus.sources).rejected
        assert "span 0.5 to 2.5 s is not within the clip's 2 s" in rejected.reason


@pytest.fixture
def three_clips(monkeypatch, tmp_path):
    """Two seconds each: an ordinary listed span, a whole clip, and 0.15 s."""
    rows = [
        LoquaciousListRow("i0", "c0", 0, 0.5, 1.5, False),
        LoquaciousListRow("i1", "c1", 1, 0.0, 2.0, True),
        LoquaciousListRow("i2", "c2", 2, 1.0, 1.15, False),
    ]
    monkeypatch.setattr(loquacious_rows, "read_loquacious_list", lambda: rows)
    monkeypatch.setattr(loquacious_verify, "read_loquacious_list", lambda: rows)
    return write_set(tmp_path / "set", ["c0", "c1", "c2"], [wav(speech(n)) for n in range(3)])


def speech(seed):
    return speech_pcm(RATE, 2.0, seed=seed)[0]


def wav(pcm):
    buffer = io.BytesIO()
    soundfile.write(buffer, pcm, RATE, format="WAV", subtype="PCM_16")
    return buffer.getvalue()


class TestPublishedDraw:
    def test_it_agrees_with_a_plain_computation(self, tmp_path):
        words = ["F", "female", "male_masculine", "unknown", "", "Male", "feminine", "other", "m"]
        sexes = [words[(7 * n + n // 11) % len(words)] for n in range(900)]
        ids = [f"clip_{n}" for n in range(900)]
        copy = write_set(tmp_path / "set", ids, sexes=sexes)
        rng = random.Random(43)
        rng.shuffle(["female", "male"])
        women = [n for n in range(900) if sexes[n] in ("F", "female", "feminine")]
        men = [n for n in range(900) if sexes[n] in ("male_masculine", "Male", "m")]
        rng.shuffle(women)
        rng.shuffle(men)
        union = women[:50] + men[:50]
        rng.shuffle(union)
        corpus = open_loquacious(str(copy), work_folder=tmp_path / "w")
        assert [s.clip_id for s in corpus.sources] == [f"clip_{n}" for n in union]
        assert [s.item_id for s in corpus.sources][::99] == [
            "loquaciousset_test_0001", "loquaciousset_test_0100",
        ]  # fmt: skip
        assert [s.span_s for s in corpus.sources] == [None] * 100
        assert "options of the authors' own draw are lost" in corpus.notes[0]

    def test_an_odd_number_gives_one_more_to_the_first_sex_of_the_shuffle(self):
        labels = ["f", "m"] * 10
        for seed in range(6):
            order = ["female", "male"]
            random.Random(seed).shuffle(order)
            drawn = draw_rows(labels, random.Random(seed), n_rows=5)
            women = sum(labels[row] == "f" for row in drawn)
            assert women == (3 if order[0] == "female" else 2)

    def test_too_few_of_one_sex(self):
        with pytest.raises(CorpusError, match="needs 50 rows of female speakers, found 49 among"):
            draw_rows(["f"] * 49 + ["m"] * 90, random.Random(43))

    def test_labels_that_are_neither(self):
        labels = (" Female_Feminine ", "MASCULINE", "", "do_not_wish_to_say")
        assert [sex_of(label) for label in labels] == ["female", "male", "", ""]


class TestBadInput:
    def test_options(self, whole_set, tmp_path):
        for options, complaint in (
            ({"splits": ["test", "train"]}, "is a test split only; use --splits test"),
            (
                {"selection": "all"},
                r"no selection of LoquaciousSet 'all'; .* --source dataset:speechbrain/Loquacious",
            ),
            ({"on_error": "ignore"}, "no on_error 'ignore'; there are stop, skip"),
        ):
            with pytest.raises(CorpusError, match=complaint):
                open_loquacious(str(whole_set), work_folder=tmp_path, **options)

    def test_a_repository_must_be_pinned(self, tmp_path):
        with pytest.raises(
            CorpusError, match=r"speechbrain/LoquaciousSet is not on this disk.* pin it"
        ):
            open_loquacious(work_folder=tmp_path, selection="frozen")

    def test_what_is_no_copy_of_the_set(self, tmp_path):
        with pytest.raises(CorpusError, match=r"holds no test/\*.parquet, so it is no copy of"):
            open_loquacious(str(tmp_path), work_folder=tmp_path)
        (tmp_path / "test").mkdir()
        path = tmp_path / "test" / "test-00000-of-00001.parquet"
        pq.write_table(pa.table({"ID": ["a"], "gender": ["f"]}), path)
        with pytest.raises(CorpusError, match=r"columns ID, sex of .* cannot be read .*sex"):
            open_loquacious(str(tmp_path), work_folder=tmp_path)
        path.write_bytes(b"PAR1 and no more")
        with pytest.raises(CorpusError, match="cannot be read"):
            open_loquacious(str(tmp_path), work_folder=tmp_path)


class TestFromTheHub:
    @pytest.fixture
    def requests(self, whole_set, monkeypatch):
        """Every call that would go to the Hub, answered from the copy."""
        import datasets

        calls, local = [], datasets.load_dataset
        files = sorted(map(str, (whole_set / "test").iterdir()))

        def load_dataset(path, *args, **options):
            if path == "parquet":
                return local(path, *args, **options)
            calls.append((path, *args, options["split"], options["revision"], options["columns"]))
            del options["revision"]
            return local("parquet", data_files={"test": files}, **options)

        monkeypatch.setattr(datasets, "load_dataset", load_dataset)
        return calls

    def test_config_split_revision_and_only_the_columns_needed(self, requests, tmp_path):
        corpus = open_loquacious(revision=COMMIT, work_folder=tmp_path)
        repository = ("speechbrain/LoquaciousSet", "clean", "test", COMMIT)
        assert requests == [
            (*repository, ["ID", "sex"]),
            (*repository, ["ID", "spk_id", "sex", "text", "wav"]),
        ]
        assert open_loquacious(revision=COMMIT, work_folder=tmp_path) == corpus
        assert len(requests) == 2  # both are cached
        assert corpus.notes[-1] == (
            f"Rows of speechbrain/LoquaciousSet at revision {COMMIT}, configuration clean, "
            "split test."
        )

    def test_a_commit_is_read_once(self, requests, tmp_path):
        options = {"revision": COMMIT, "work_folder": tmp_path, "selection": "frozen"}
        corpus = open_loquacious(**options)
        assert open_loquacious(**options) == corpus
        assert len(requests) == 1
        corpus.sources[7].path.unlink()
        assert open_loquacious(**options) == corpus
        assert len(requests) == 2
        (cache,) = tmp_path.glob("*.json")
        cache.write_text("{")
        assert open_loquacious(**options) == corpus
        assert len(requests) == 3

    def test_a_branch_may_move_and_is_read_again(self, requests, tmp_path):
        for n in (1, 2):
            open_loquacious(revision="main", work_folder=tmp_path, selection="frozen")
            assert len(requests) == n


class TestVerify:
    def test_a_copy_with_the_listed_speech_agrees(self, monkeypatch, tmp_path):
        recordings = [speech(0), np.zeros(32_000, np.int16), speech(1)]
        rows = []
        for n, pcm in enumerate(recordings):
            span = detect(pcm[np.newaxis] / 32768, RATE).span
            ends = (0.0, 2.0) if span is None else (span.start / RATE, span.end / RATE)
            rows.append(LoquaciousListRow(f"i{n}", f"c{n}", n, *ends, span is None))
        monkeypatch.setattr(loquacious_rows, "read_loquacious_list", lambda: rows)
        monkeypatch.setattr(loquacious_verify, "read_loquacious_list", lambda: rows)
        copy = write_set(tmp_path / "set", ["c0", "c1", "c2"], [wav(pcm) for pcm in recordings])
        report = verify_loquacious(str(copy), work_folder=tmp_path / "w")
        assert report.matches
        assert (report.n_compared, report.spans, report.n_drawn) == (3, (), None)
        assert "needs 50 rows of female speakers, found 1 among 3" in report.draw_note

    def test_what_differs_is_named(self, three_clips, tmp_path):
        report = verify_loquacious(str(three_clips), work_folder=tmp_path)
        assert not report.matches
        assert len(report.spans) == 3
        assert report.spans[1].startswith("c1: 0.00 to 2.00 s (whole clip) listed, ")
        assert "3 of 3 listed clips compared, 0 missing, 0 in another row, 3 spans differ" in (
            report.summary()
        )

    def test_moved_missing_and_unreadable_clips(self, three_clips, tmp_path):
        ids, recordings = ["c2", "x", "c0"], [wav(speech(2)), b"", b"no audio"]
        copy = write_set(tmp_path / "other", ids, recordings)
        report = verify_loquacious(str(copy), work_folder=tmp_path / "w")
        assert report.missing == ("c1",)
        assert report.moved == ("c0: row 0 listed, 2 here", "c2: row 2 listed, 0 here")
        assert report.unreadable[0].startswith("c0: not readable as audio")
        assert report.n_compared == 1
        assert not report.matches

    def test_the_draw_is_compared_but_does_not_decide(self, whole_set, tmp_path):
        report = verify_loquacious(str(whole_set), work_folder=tmp_path)
        women, men = list(range(0, N_ROWS, 2)), list(range(1, N_ROWS, 2))
        rng = random.Random(43)
        rng.shuffle(["female", "male"])
        rng.shuffle(women)
        rng.shuffle(men)
        drawn = {*women[:50], *men[:50]}
        assert report.n_drawn == sum(row.row in drawn for row in read_loquacious_list())
        assert len(report.unreadable) == 100  # made-up audio
