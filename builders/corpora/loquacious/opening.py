"""LoquaciousSet as a source corpus: the published list, or a draw by the published rules.

Its test split is six Parquet files, about 2 GB. They are streamed: the draw asks for two columns,
then one pass over the rows keeps the sound of the chosen ones and ends with the last of them. What
was drawn and kept of a commit is remembered, so that later calls do not read it again.
"""

import hashlib
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from builders.corpora.base import Corpus, CorpusError, Skipped, SourceClip
from builders.corpora.hub import audio_of, cell_text, keep_audio, refuse_unpinned
from builders.corpora.loquacious.frozen import read_loquacious_list
from builders.corpora.loquacious.selection import SEED, draw_rows
from builders.corpora.reading.partition import check_splits
from otoscope.atomic import write_atomic

REPOSITORY = "speechbrain/LoquaciousSet"
CONFIG, SPLIT = "clean", "test"
SELECTIONS = ("published", "frozen")
SOUND = "wav"
COLUMNS = ("ID", "spk_id", "text", SOUND)
COMMIT = re.compile(r"[0-9a-f]{40}")
ATTRIBUTION = (
    "Parcollet and others, SpeechBrain (arXiv:2505.21578), from VoxPopuli (European Parliament, "
    "Meta), Common Voice (Mozilla) and other corpora."
)
LICENCE_NOTE = (
    "LoquaciousSet gathers corpora with terms of their own; read its card before passing on "
    "anything but clips of VoxPopuli and Common Voice, which are CC0."
)

Progress = Callable[[int, int], None]


class Wanted(NamedTuple):
    """A clip that was chosen, and the row where it should stand."""

    item_id: str
    clip_id: str
    row: int
    span_s: tuple[float, float] | None = None
    doubt: str = ""


class Kept(NamedTuple):
    """A row whose sound was kept; `file` lies in the work folder."""

    row: int
    speaker_id: str
    transcript: str
    file: str


def open_loquacious(
    where: str = REPOSITORY,
    *,
    revision: str | None = None,
    work_folder: Path,
    splits: Iterable[str] = ("test",),
    selection: str = "published",
    on_error: str = "raise",
    progress: Progress | None = None,
) -> Corpus:
    """The hundred chosen clips of the test split.

    Args:
        where: A Hub repository, or a folder with its `test/*.parquet`.
        revision: A commit of the repository; required for one.
        work_folder: Where the sound of the chosen clips is kept.
        splits: Test is all there is.
        selection: `published` draws by the published rules and leaves spans to the detector;
            `frozen` takes the clips of the published list with its spans.
        on_error: What to do about a chosen clip that is missing: `raise` or `skip`.
        progress: Called with how many rows have been passed and how many there may be.

    Raises:
        CorpusError: An unpinned repository, another split, no such set, or missing clips.
    """
    if check_splits(splits) != ("test",):
        raise CorpusError(
            "the published choice from LoquaciousSet is a test split only; ask for --splits test"
        )
    if selection not in SELECTIONS:
        raise CorpusError(
            f"no selection {selection!r} of LoquaciousSet; there are {', '.join(SELECTIONS)}. For "
            f"every row: --source dataset:{REPOSITORY}@REVISION --config {CONFIG} "
            f"--audio-column {SOUND}"
        )
    if on_error not in ("raise", "skip"):
        raise CorpusError(f"on_error must be 'raise' or 'skip', got {on_error!r}")
    if selection == "frozen":
        wanted = listed()
        how = "{} of the {} clips of the published list, with its onsets and offsets."
    else:
        wanted = drawn(where, revision, work_folder)
        how = (
            "{} of {} clips drawn by the published rules, "
            f"seed {SEED}. The options of the authors' own draw are lost: their clips are "
            "--selection frozen."
        )
    kept = collect(where, revision, wanted, work_folder, progress)
    missing = [w.clip_id for w in wanted if w.item_id not in kept]
    if missing and (on_error == "raise" or len(missing) == len(wanted)):
        raise CorpusError(
            f"{where}: {len(missing)} of {len(wanted)} chosen clips are missing or without sound, "
            f"first {missing[0]}; --on-error skip (on_error='skip') goes on without them"
        )
    sources = tuple(
        _source(w, at, kept[w.item_id], work_folder)
        for at, w in enumerate(wanted)
        if w.item_id in kept
    )
    moved = sum(kept[w.item_id].row != w.row for w in wanted if w.item_id in kept)
    notes = [how.format(len(sources), len(wanted)), LICENCE_NOTE]
    if moved:
        notes.append(f"{moved} of them stand in another row than listed, and were found by id.")
    notes += [f"{s.clip_id} is {s.doubt}." for s in sources if s.doubt]
    return Corpus(
        name="LoquaciousSet",
        licence="other",
        attribution=ATTRIBUTION,
        language="en",
        synthetic=False,
        sources=sources,
        skipped=tuple(Skipped(name, "chosen, but missing or without sound") for name in missing),
        notes=(*notes, _origin(where, revision)),
    )


def listed() -> list[Wanted]:
    """The clips of the published list."""
    return [
        Wanted(row.item_id, row.clip_id, row.row, (row.onset_s, row.offset_s), row.doubt)
        for row in read_loquacious_list()
    ]


def drawn(where: str, revision: str | None, work_folder: Path) -> list[Wanted]:
    """The clips that the published rules draw.

    Raises:
        CorpusError: The set cannot be read, or holds too little.
    """
    memory = _memory(work_folder, where, revision, "draw")
    if memory and (known := _recall(memory)) is not None:
        return [Wanted(*row) for row in known]
    ids, sexes = [], []
    for row in stream(where, revision, ("ID", "sex")):
        ids.append(cell_text(row["ID"]))
        sexes.append(cell_text(row["sex"]))
    rows = draw_rows(sexes, random.Random(SEED))
    wanted = [Wanted(f"loquaciousset_test_{n:04d}", ids[row], row) for n, row in enumerate(rows, 1)]
    if memory:
        write_atomic(memory, json.dumps(wanted, indent=1).encode())
    return wanted


def collect(
    where: str,
    revision: str | None,
    wanted: Sequence[Wanted],
    work_folder: Path,
    progress: Progress | None = None,
) -> dict[str, Kept]:
    """Rows of the clips that are there and have sound, by item id.

    A clip stands in its row; failing that, it is the first row with its id.

    Raises:
        CorpusError: The set cannot be read.
    """
    memory = _memory(work_folder, where, revision, [w[:3] for w in wanted])
    if memory and (known := _recall(memory)) is not None:
        kept = {name: Kept(*values) for name, values in known.items()}
        if all((work_folder / k.file).is_file() for k in kept.values()):
            return kept
    by_row = {w.row: w for w in wanted}
    by_id = {w.clip_id: w for w in reversed(wanted)}
    last, kept = max(by_row), {}
    for number, row in enumerate(stream(where, revision, COLUMNS)):
        clip_id = cell_text(row["ID"])
        there = by_row.get(number)
        found = there if there and there.clip_id == clip_id else by_id.get(clip_id)
        if found and (found.row == number or found.item_id not in kept):
            data, hint = audio_of(row[SOUND])
            if data:
                file = keep_audio(work_folder, data, hint).name
                speaker_id, text = cell_text(row["spk_id"]), cell_text(row["text"])
                kept[found.item_id] = Kept(number, speaker_id, text, file)
        if progress is not None:
            progress(number + 1, max(number, last) + 1)
        if number >= last and len(kept) == len(wanted):
            break
    if memory:
        write_atomic(memory, json.dumps(kept, indent=1).encode())
    return kept


def stream(where: str, revision: str | None, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Some columns of every row of the test split, in order; sound stays encoded.

    Raises:
        CorpusError: An unpinned repository, or one that cannot be read as LoquaciousSet.
    """
    folder = Path(where)
    files = sorted(map(str, folder.glob("test/*.parquet")))
    if folder.is_dir() and not files:
        raise CorpusError(f"{where} holds no test/*.parquet, so it is no copy of {REPOSITORY}")
    if not files:
        refuse_unpinned(where, revision)
    import datasets

    what: dict[str, Any] = {"split": SPLIT, "columns": list(columns), "streaming": True}
    try:
        rows: Any
        if files:
            rows = datasets.load_dataset("parquet", data_files={SPLIT: files}, **what)
        else:
            rows = datasets.load_dataset(where, CONFIG, revision=revision, **what)
        if SOUND in columns:
            rows = rows.cast_column(SOUND, datasets.Audio(decode=False))
        yield from rows
    except (ValueError, OSError) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise CorpusError(
            f"{where}: the columns {', '.join(columns)} of LoquaciousSet cannot be read ({why})"
        ) from error


def _source(wanted: Wanted, position: int, kept: Kept, work_folder: Path) -> SourceClip:
    return SourceClip(
        wanted.item_id,
        wanted.clip_id,
        "test",
        position,
        work_folder / kept.file,
        kept.speaker_id,
        "",
        kept.transcript,
        wanted.span_s,
        wanted.doubt,
    )


def _memory(work_folder: Path, where: str, revision: str | None, what: object) -> Path | None:
    """The file that remembers something of a commit; None for what may change."""
    if Path(where).is_dir() or COMMIT.fullmatch(revision or "") is None:
        return None
    key = hashlib.sha256(json.dumps([where, revision, what]).encode()).hexdigest()[:16]
    return work_folder / f"loquacious-{key}.json"


def _recall(memory: Path) -> Any:
    try:
        return json.loads(memory.read_text())
    except (OSError, ValueError):
        return None


def _origin(where: str, revision: str | None) -> str:
    if Path(where).is_dir():
        return f"Rows of a copy of {REPOSITORY} in {Path(where).name}, split {SPLIT}."
    return f"Rows of {where} at revision {revision}, configuration {CONFIG}, split {SPLIT}."
