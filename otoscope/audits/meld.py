"""MELD: does a model fine-tuned on one acoustic factor still recognise emotions as before?

    run("/data/MELD", "transformers:PATH_OR_ID@REV", out="runs/meld")

One question a clip, seven lettered options. The letter whose token is likeliest at the end of the
input is the answer; no text is generated or parsed. MELD is not included: a run needs a folder with
the official CSV of a split and its clips, or a dataset with the columns `audio`, `emotion` and
`dialogue_id`.

Source: VocalGrad, appendix C.13; the prompt is exact to the character.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import datasets

from otoscope.audits.audio_files import AudioFiles
from otoscope.audits.items import Items, class_name
from otoscope.audits.opening import DatasetError, DatasetLike, dataset_name, load_table
from otoscope.audits.plans import LABEL_COLUMNS, TEXT, Plan, PlanColumns
from otoscope.audits.running import Audit
from otoscope.audits.sampling import limited_rows
from otoscope.errors import first_names
from otoscope.models.option_logits import OptionLogitsModel
from otoscope.prompts.parts import Clip, Question, Text

AUDIT = "meld"
COLUMNS: PlanColumns = {
    **LABEL_COLUMNS,
    **dict.fromkeys(("category", "attribute", "config", "source_id", "speaker_id"), TEXT),
}
"""Columns of a plan: the category is the emotion, the source is the dialogue."""

_NAMES = ("anger", "disgust", "fear", "joy", "neutral", "sadness", "surprise")
EMOTIONS = dict(zip("ABCDEFG", _NAMES, strict=True))
PROMPT = (
    "What is the speaker's emotion in this audio?\n\nOptions:\n"
    + "".join(f"{letter}. {emotion}\n" for letter, emotion in EMOTIONS.items())
    + "\nAnswer with only the option letter."
)
LETTERS = {emotion: letter for letter, emotion in EMOTIONS.items()}
CSV_COLUMNS = ("Emotion", "Dialogue_ID", "Utterance_ID")
DATASET_COLUMNS = ("audio", "emotion", "dialogue_id")
AUDIO_FILES = (".flac", ".wav", ".mp3", ".ogg")
CLIP_NAME = re.compile(r"(?:final_videos_test)?dia(\d+)_utt(\d+)")
"""Names of clips; some of the test split have a prefix."""


def plan(
    dataset: DatasetLike,
    *,
    split: str = "test",
    revision: str | None = None,
    limit_dialogues: int | None = None,
    leave_out_missing: bool = False,
) -> Plan:
    """Decides every question.

    Args:
        dataset: A folder with `{split}_sent_emo.csv` and clips, as MELD comes; a folder or Hub
            repository that `load_dataset` reads; or a dataset in memory.
        limit_dialogues: Take so many dialogues, chosen by hash.
        leave_out_missing: Ask about the clips that are there where the CSV names more.

    Raises:
        DatasetError: What is missing is named: the CSV, a column, clips, an emotion that is none of
            the seven.
    """
    rows, n_missing, files = _rows(dataset, split, revision)
    if n_missing and not leave_out_missing:
        raise DatasetError(
            f"{n_missing} of {n_missing + len(rows)} utterances of {dataset} have no clip; get "
            "them, or ask about the others with --leave-out-missing"
        )
    if not rows:
        raise DatasetError(f"{dataset_name(dataset)} has no clips of split {split!r}")
    if twice := [name for name, n in Counter(row["id"] for row in rows).items() if n > 1]:
        raise DatasetError(f"{dataset_name(dataset)} has {first_names(twice)} more than once")
    chosen, part = limited_rows(rows, limit_dialogues)
    missing = f"{n_missing} utterances without a clip are left out" if n_missing else ""
    table = datasets.Dataset.from_list([dict(row) for row in chosen])
    audio = table.cast_column("audio", datasets.Audio(decode=False))
    items = Items([(AUDIT, audio)], files=files)
    return Plan(
        map(_question, chosen),
        items,
        columns=COLUMNS,
        partial="; ".join(filter(None, (part.replace("sources", "dialogues"), missing))),
        choices={"split": split, "revision": revision, "limit_dialogues": limit_dialogues},
    )


def _question(row: Mapping[str, Any]) -> Question:
    return Question(
        question_id=f"{row['id']}|{AUDIT}",
        id=row["id"],
        prompt_name=AUDIT,
        category=row["category"],
        attribute=row["attribute"],
        parts=(Text(PROMPT), Clip(row["id"])),
        labels=tuple(EMOTIONS),
        label=row["label"],
        parser="option_letter",
    )


def _rows(
    dataset: DatasetLike, split: str, revision: str | None
) -> tuple[list[dict[str, Any]], int, AudioFiles]:
    """The rows to ask about, the number of utterances without a clip, and where clips lie."""
    files = AudioFiles()
    if not isinstance(dataset, datasets.Dataset):
        table = next(iter(sorted(Path(dataset).rglob(f"{split}_sent_emo.csv"))), None)
        if table is not None:
            return (*_rows_of_folder(Path(dataset), table), files)
        if Path(dataset).is_dir() and any(Path(dataset).rglob("*_sent_emo.csv")):
            raise DatasetError(f"{dataset} has no {split}_sent_emo.csv; choose another --split")
        try:
            dataset, files = load_table(dataset, split=split, revision=revision)
        except DatasetError as error:
            raise DatasetError(f"no {split}_sent_emo.csv, and no dataset: {error}") from error
    return list(_rows_of_table(dataset)), 0, files


def _rows_of_folder(folder: Path, table: Path) -> tuple[list[dict[str, Any]], int]:
    clips = clips_below(folder)
    rows, missing = [], []
    for where, line in _lines(table):
        name = _name(line["Dialogue_ID"], line["Utterance_ID"], where)
        letter = _letter(line["Emotion"], where)
        if name not in clips:
            missing.append(name)
            continue
        audio = {"path": str(clips[name].resolve()), "bytes": None}
        rows.append(_row(name, audio, letter, line["Dialogue_ID"], line.get("Speaker")))
    return rows, len(missing)


def _lines(table: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The lines of the official CSV, which is no UTF-8 in places, each with where it stands."""
    try:
        with table.open(encoding="utf-8", errors="replace", newline="") as file:
            lines = csv.DictReader(file)
            if absent := [name for name in CSV_COLUMNS if name not in (lines.fieldnames or ())]:
                raise DatasetError(
                    f"{table} lacks the column(s) {absent}; it has {lines.fieldnames}"
                )
            for number, line in enumerate(lines, start=2):
                yield f"{table}, line {number}", line
    except (OSError, csv.Error) as error:
        raise DatasetError(f"{table}: not readable as CSV ({error})") from error


def clips_below(folder: Path) -> dict[str, Path]:
    """Every clip by `dia{D}_utt{U}`; of two files for one clip, the one without a prefix."""
    clips: dict[str, Path] = {}
    for path in sorted(folder.rglob("*"), key=lambda path: (len(path.stem), str(path))):
        named = CLIP_NAME.fullmatch(path.stem)
        if named and path.suffix.lower() in AUDIO_FILES and path.is_file():
            clips.setdefault(f"dia{int(named[1])}_utt{int(named[2])}", path)
    return clips


def _rows_of_table(table: datasets.Dataset) -> Iterator[dict[str, Any]]:
    if absent := [name for name in DATASET_COLUMNS if name not in table.column_names]:
        raise DatasetError(
            f"a dataset of emotions needs the columns {', '.join(DATASET_COLUMNS)}; this one lacks "
            f"{', '.join(absent)} and has {', '.join(table.column_names)}"
        )
    emotions = table.features["emotion"]
    for number, line in enumerate(table.cast_column("audio", datasets.Audio(decode=False))):
        emotion, where = line["emotion"], f"row {number}"
        if isinstance(emotions, datasets.ClassLabel):
            emotion = class_name(emotions, emotion, f"{where}: emotion")
        name = str(line.get("id") or f"row-{number}")
        letter = _letter(emotion, where)
        yield _row(name, line["audio"], letter, line["dialogue_id"], line.get("speaker"))


def _row(name: str, audio: Any, letter: str, dialogue: Any, speaker: Any) -> dict[str, Any]:
    return {
        "id": name,
        "audio": audio,
        "category": EMOTIONS[letter],
        "attribute": "emotion",
        "label": letter,
        "source_id": f"dialogue {dialogue}",
        "speaker_id": None if speaker is None else str(speaker),
    }


def _name(dialogue: str, utterance: str, where: str) -> str:
    try:
        return f"dia{int(dialogue)}_utt{int(utterance)}"
    except (TypeError, ValueError):
        raise DatasetError(
            f"{where}: {dialogue!r} and {utterance!r} are no numbers of dialogue and utterance"
        ) from None


def _letter(emotion: Any, where: str) -> str:
    letter = LETTERS.get(str(emotion).strip().lower())
    if letter is None:
        raise DatasetError(
            f"{where}: the emotion {emotion!r} is none of {', '.join(EMOTIONS.values())}"
        )
    return letter


def _prepare(model: Any, dataset: DatasetLike, plan: Plan) -> OptionLogitsModel:
    return OptionLogitsModel(model)


MELD = Audit(AUDIT, plan, _prepare)
run = MELD.run
