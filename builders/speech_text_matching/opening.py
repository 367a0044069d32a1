"""Where pairs of speech and text come from: a corpus with transcripts, or Dynamic-SUPERB's task."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from builders.corpora.base import Corpus, CorpusError, Skipped, SourceClip
from builders.corpora.reading.dataset_rows import cell_text
from builders.corpora.voices import TEST_ALONE
from builders.labelled import Division, LabelledClip, LabelledSource, clip_id
from builders.labelled.dataset_rows import published_rows
from builders.speech_text_matching import LABELS, MATCH, NO_MATCH, TASK
from builders.speech_text_matching.pairing import ONE_WORD, OTHER, Pair, pairs_of

DYNAMIC_SUPERB = "DynamicSuperb/SpeechTextMatching_LibriSpeech-TestClean"
HOLDOUT_ROWS = 100

WORDS: Mapping[str, str] = {
    **dict.fromkeys(("match", "matched", "matches", "matching", "yes", "true", "same"), MATCH),
    **dict.fromkeys(
        ("no match", "mismatch", "mismatched", "not match", "not matched", "unmatched", "no",
         "false", "different"), NO_MATCH,
    ),
}  # fmt: skip
"""Labels as others may write them, in lower case."""


def pairs_from_corpus(
    corpus: Corpus, *, holdout: float = 0.5, near_misses: float = 0.5, seed: int = 0
) -> LabelledSource:
    """Matched and mismatched pairs of a corpus's clips; those without transcript are left out.

    Raises:
        CorpusError: Too few sentences; see `pairs_of`.
    """
    clips = [clip for clip in corpus.sources if clip.transcript]
    silent = [Skipped(c.item_id, "no transcript") for c in corpus.sources if not c.transcript]
    if not clips:
        raise CorpusError(
            f"{corpus.name}: none of {len(silent)} clips has a transcript; give them in "
            "metadata.csv with the columns file_name and transcript"
        )
    pairs = pairs_of(clips, holdout=holdout, near_misses=near_misses, seed=seed)
    return LabelledSource(
        name=f"Speech–text matching from {corpus.name}",
        task=TASK,
        labels=LABELS,
        clips=tuple(map(_labelled, pairs)),
        licence=corpus.licence,
        attribution=corpus.attribution,
        origin=corpus.name,
        language=corpus.language,
        synthetic=corpus.synthetic,
        skipped=(*corpus.skipped, *silent),
        notes=(
            *_notes(pairs, holdout, seed),
            *(note for note in corpus.notes if note != TEST_ALONE),  # about other splits
        ),
    )


def _labelled(pair: Pair) -> LabelledClip:
    clip = pair.clip
    return LabelledClip(
        id=clip_id(f"{clip.item_id}\x1f{pair.text}"),
        path=clip.path,
        label=pair.label,
        file_name=clip.path.name or clip.item_id,
        cluster_id=pair.sentence,
        speaker_id=clip.speaker_id,
        source_id=clip.clip_id,
        split=pair.split,
        text=pair.text,
        transcript=clip.transcript,
        note=pair.kind,
    )


def _notes(pairs: Sequence[Pair], holdout: float, seed: int) -> list[str]:
    kinds = Counter((pair.split, pair.kind) for pair in pairs if pair.kind)
    counts = "; ".join(
        f"{split}: {kinds[split, OTHER]} with {OTHER}, {kinds[split, ONE_WORD]} with {ONE_WORD}"
        for split in sorted({pair.split for pair in pairs})
    )
    others = [pair for pair in pairs if pair.kind == OTHER]
    apart = [abs(len(p.text.split()) - len(p.clip.transcript.split())) for p in others]
    length = f", on average {sum(apart) / len(apart):.2f} words longer or shorter" if apart else ""
    return [
        "Every clip is in two rows: with its own sentence (match), and with another text (no "
        f"match). Mismatches: {counts}{length}.",
        "The text of a mismatch is a sentence of similar length from the same split, or the clip's "
        "own sentence with one word replaced by a word of another one. A sentence with a replaced "
        "word may read oddly, which a reader of the text alone can use.",
        f"Sentences were divided by hash (seed {seed}), {holdout:.0%} of the clips held out: no "
        "sentence is in both splits, spoken or written. cluster_id is the spoken sentence.",
    ]


def open_dynamic_superb(
    dataset: str = "",
    *,
    match_label: str | None = None,
    apart: tuple[str, ...] = (),
    seed: int = 0,
    work_folder: Path | None = None,
) -> LabelledSource:
    """Dynamic-SUPERB's SpeechTextMatching on LibriSpeech test-clean: 100 rows held out by hash.

    Columns file, audio, text, label. Which words its labels are was not published where we could
    read it: those of `WORDS` are understood, `match_label` names another.

    Args:
        dataset: `ORG/NAME@REVISION` or a folder with a copy; `@REVISION` alone is of the original.
        match_label: How the dataset writes a match; everything else is none.
        apart: `("speaker_id",)` for splits that share no reader.
        seed: Of the division.
        work_folder: Where the audio goes; the cache by default.

    Raises:
        CorpusError: It cannot be opened, is not pinned, or has other columns or labels.
    """
    where = f"{DYNAMIC_SUPERB}{dataset}" if dataset[:1] in ("", "@") else dataset
    found = published_rows(where, needed=("text", "label"), work_folder=work_folder)
    label_of = _label_words({cell_text(row.cells["label"]) for row in found.rows}, match_label)
    clips = []
    for row in found.rows:
        name = cell_text(row.cells.get("file")) or row.audio_name or f"row {row.number}"
        parts = PurePosixPath(name).stem.split("-")
        libri = len(parts) >= 3 and all(part.isdecimal() for part in parts[:3])
        text = cell_text(row.cells["text"])
        if not text:
            raise CorpusError(f"{where}, row {row.number}: no text")
        clips.append(
            LabelledClip(
                id=f"row-{row.number:05d}",
                path=row.path,
                label=label_of[cell_text(row.cells["label"])],
                file_name=name,
                cluster_id="-".join(parts[:3]) if libri else f"row-{row.number:05d}",
                speaker_id=parts[0] if libri else "",
                source_id="-".join(parts[:2]) if libri else "",
                text=text,
            )
        )
    n_known = sum(bool(clip.speaker_id) for clip in clips)
    return LabelledSource(
        name="Speech–text matching (Dynamic-SUPERB, LibriSpeech test-clean)",
        task=TASK,
        labels=LABELS,
        clips=tuple(clips),
        licence="cc-by-4.0",
        attribution="LibriSpeech: V. Panayotov, G. Chen, D. Povey, S. Khudanpur (2015), CC BY 4.0; "
        "pairs by the authors of Dynamic-SUPERB (2023).",
        origin=found.origin,
        division=Division(min(HOLDOUT_ROWS, len(clips) // 2), apart=apart, seed=seed),
        language="en",
        notes=(
            f"{HOLDOUT_ROWS} rows are held out by hash, as many of each label as its share allows, "
            "and the rest is development; the paper does not say which rows it held out.",
            f"The reader is known from the file name for {n_known} of {len(clips)} rows.",
            f"Labels as the dataset writes them: "
            f"{', '.join(f'{word!r} is {label}' for word, label in sorted(label_of.items()))}.",
        ),
    )


def _label_words(words: set[str], match_label: str | None) -> dict[str, str]:
    if match_label is not None:
        if match_label not in words:
            raise CorpusError(f"no row has the label {match_label!r}; there are {sorted(words)}")
        return {word: MATCH if word == match_label else NO_MATCH for word in words}
    plain = {word: " ".join(word.lower().replace("_", " ").strip(" .").split()) for word in words}
    unknown = sorted(word for word in words if plain[word] not in WORDS)
    if unknown:
        raise CorpusError(
            f"labels {sorted(words)}: it is not known which of them is a match; name it with "
            "--match-label"
        )
    return {word: WORDS[plain[word]] for word in words}


def corpus_without_audio(clips: Sequence[SourceClip], name: str) -> Corpus:
    """Planned clips of voices, for a dry run that synthesises nothing."""
    return Corpus(name, "unknown", "", "en", True, tuple(clips))
