"""MELD: does a model that learnt about one acoustic factor still hear emotions as before?

    run("/data/MELD", "transformers:PATH_OR_ID@REV", out="runs/meld")

One question a clip, seven lettered options. The letter whose token is likeliest at the last place
of the input is the answer; nothing is written or parsed. MELD is the user's own: a folder with the
official CSV of a split and its clips, or a dataset with the columns `audio`, `emotion` and
`dialogue_id`.

Source: VocalGrad, appendix on MELD; the prompt is exact to the character.
"""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets

from otoscope.audits.answer_cache import AnswerCache
from otoscope.audits.asking import Tally, ask
from otoscope.audits.items import DatasetError, Items, load_table
from otoscope.audits.perception import Perception
from otoscope.audits.runs import write_plan
from otoscope.audits.sampling import limited
from otoscope.models.base import description_of
from otoscope.models.opening import open_model
from otoscope.models.option_logits import OptionLogitsModel
from otoscope.processes import own_share
from otoscope.prompts.parts import Clip, Question, Text

AUDIT = "meld"
EMOTIONS = {
    "A": "anger",
    "B": "disgust",
    "C": "fear",
    "D": "joy",
    "E": "neutral",
    "F": "sadness",
    "G": "surprise",
}
PROMPT = (
    "What is the speaker's emotion in this audio?\n\nOptions:\n"
    + "".join(f"{letter}. {emotion}\n" for letter, emotion in EMOTIONS.items())
    + "\nAnswer with only the option letter."
)
LETTERS = {emotion: letter for letter, emotion in EMOTIONS.items()}
CSV_COLUMNS = ("Emotion", "Dialogue_ID", "Utterance_ID")
COLUMNS = ("audio", "emotion", "dialogue_id")
SOUNDS = (".flac", ".wav", ".mp3", ".ogg")
NAMED = re.compile(r"(?:final_videos_test)?dia(\d+)_utt(\d+)")
"""How clips are called; some of the test split have a word in front."""

FEW = 5


def plan(
    dataset: str | Path | datasets.Dataset,
    *,
    split: str = "test",
    revision: str | None = None,
    limit_dialogues: int | None = None,
    leave_out_missing: bool = False,
) -> Perception:
    """Decides every question.

    Args:
        dataset: A folder with `{split}_sent_emo.csv` and clips, as MELD comes; a folder or Hub
            repository that `load_dataset` reads; or a dataset in memory.
        split: Which split.
        revision: For a Hub repository.
        limit_dialogues: Take so many dialogues, chosen by hash.
        leave_out_missing: Ask about the clips that are there where the CSV names more.

    Raises:
        DatasetError: What is missing is named: the CSV, a column, clips, an emotion that is none of
            the seven.
    """
    rows, n_missing = _rows(dataset, split, revision)
    if n_missing and not leave_out_missing:
        raise DatasetError(
            f"{n_missing} of {n_missing + len(rows)} utterances of {dataset} have no clip; get "
            "them, or ask about the others with --leave-out-missing"
        )
    if not rows:
        raise DatasetError(f"{dataset} has no clips of split {split!r}")
    chosen, part = limited(rows, limit_dialogues)
    missing = f"{n_missing} utterances without a clip are left out" if n_missing else ""
    table = datasets.Dataset.from_list([dict(row) for row in chosen])
    items = Items([(AUDIT, table.cast_column("audio", datasets.Audio(decode=False)))])
    return Perception(
        items,
        [_question(row) for row in chosen],
        "; ".join(filter(None, (part.replace("sources", "dialogues"), missing))),
        {"split": split, "revision": revision, "limit_dialogues": limit_dialogues},
    )


def run(
    dataset: str | Path | datasets.Dataset,
    model: Any,
    *,
    out: str | Path,
    planned: Perception | None = None,
    spec: str = "",
    rank: int | None = None,
    world: int | None = None,
    cache: AnswerCache | None = None,
    check_hearing: bool = True,
    on_answer: Callable[[Tally], None] = lambda tally: None,
    **planning: Any,
) -> Tally:
    """Asks a model about MELD; asks only what is missing when called again.

    Args:
        dataset: See `plan`.
        model: One that gives logits (`otoscope.models.option_logits.GivesOptionLogits`), or what
            `--model` takes.
        out: The run folder.
        planned: A plan made before; otherwise made here from `planning`.
        spec: How the model was named, for run.json.
        rank, world: Which share to ask; from RANK and WORLD_SIZE when absent.
        cache, on_answer: See `asking.ask`.
        check_hearing: Refuse a model whose input does not change with the sound.
        planning: Arguments of `plan`.

    Raises:
        ModelError: The model gives no logits, or the letters are not one token each.
        RunError: The folder holds another run.
    """
    if isinstance(model, str):
        spec, model = spec or model, open_model(model)
    reader = OptionLogitsModel(model)
    rank, world = own_share(rank, world)
    planned = planned or plan(dataset, **planning)
    about = planned.about(
        AUDIT, dataset, spec, description_of(reader), model if check_hearing else None
    )
    write_plan(Path(out), planned.rows(), about)
    return ask(
        Path(out),
        reader,
        list(planned.questions)[rank::world],
        planned.fill,
        rank=rank,
        world=world,
        cache=cache,
        on_answer=on_answer,
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
    dataset: str | Path | datasets.Dataset, split: str, revision: str | None
) -> tuple[list[dict[str, Any]], int]:
    """What there is to ask about, and how many utterances have no clip."""
    if not isinstance(dataset, datasets.Dataset):
        table = next(iter(sorted(Path(dataset).rglob(f"{split}_sent_emo.csv"))), None)
        if table is not None:
            return _rows_of_folder(Path(dataset), table)
        if Path(dataset).is_dir() and any(Path(dataset).rglob("*_sent_emo.csv")):
            raise DatasetError(f"{dataset} has no {split}_sent_emo.csv; choose another --split")
        try:
            dataset = load_table(dataset, split=split, revision=revision)
        except DatasetError as error:
            raise DatasetError(f"no {split}_sent_emo.csv, and no dataset: {error}") from error
    return list(_rows_of_table(dataset)), 0


def _rows_of_folder(folder: Path, table: Path) -> tuple[list[dict[str, Any]], int]:
    clips = clips_below(folder)
    rows, missing = [], []
    with table.open(encoding="utf-8", errors="replace", newline="") as file:
        lines = csv.DictReader(file)
        if absent := [name for name in CSV_COLUMNS if name not in (lines.fieldnames or ())]:
            raise DatasetError(f"{table} lacks the column(s) {absent}; it has {lines.fieldnames}")
        for number, line in enumerate(lines, start=2):
            name = _name(line["Dialogue_ID"], line["Utterance_ID"], f"{table}, line {number}")
            letter = _letter(line["Emotion"], f"{table}, line {number}")
            if name not in clips:
                missing.append(name)
                continue
            audio = {"path": str(clips[name].resolve()), "bytes": None}
            rows.append(_row(name, audio, letter, line["Dialogue_ID"], line.get("Speaker")))
    _refuse_twice([row["id"] for row in rows], str(table))
    return rows, len(missing)


def clips_below(folder: Path) -> dict[str, Path]:
    """Every clip by `dia{D}_utt{U}`; where one has two files, the plainly named."""
    found: dict[str, Path] = {}
    for path in sorted(folder.rglob("*"), key=lambda path: (len(path.stem), str(path))):
        named = NAMED.fullmatch(path.stem)
        if named and path.suffix.lower() in SOUNDS and path.is_file():
            found.setdefault(f"dia{int(named[1])}_utt{int(named[2])}", path)
    return found


def _rows_of_table(table: datasets.Dataset) -> Iterator[dict[str, Any]]:
    if absent := [name for name in COLUMNS if name not in table.column_names]:
        raise DatasetError(
            f"a dataset of emotions needs the columns {', '.join(COLUMNS)}; this one lacks "
            f"{', '.join(absent)} and has {', '.join(table.column_names)}"
        )
    emotions = table.features["emotion"]
    names = emotions.names if isinstance(emotions, datasets.ClassLabel) else None
    seen: list[str] = []
    for number, line in enumerate(table.cast_column("audio", datasets.Audio(decode=False))):
        emotion = names[line["emotion"]] if names else line["emotion"]
        name = str(line.get("id") or f"row-{number}")
        seen.append(name)
        letter = _letter(emotion, f"row {number}")
        yield _row(name, line["audio"], letter, line["dialogue_id"], line.get("speaker"))
    _refuse_twice(seen, "the dataset")


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


def _refuse_twice(names: Sequence[str], where: str) -> None:
    if twice := [name for name, n in Counter(names).items() if n > 1]:
        raise DatasetError(f"{where} has {', '.join(twice[:FEW])} more than once")
