"""Every sentence of the judge audit's prompts. A change raises `VERSION`; runs record the hash.

Those marked *published* are exact to the character. The paper's listings for several turns, for the
perception probe and for the form of answers are not available; those sentences are ours.

Source: `docs/papers.md`, counterfactual judge audits, prompts.
"""

import hashlib
import json
from collections.abc import Mapping

VERSION = "1"

NO, SOFT, HARD, TRANSITION = "no", "soft", "hard", "transition"

SINGLE_CUES: Mapping[str, str] = {
    NO: "\n",
    SOFT: "Focus on tone of voice when making your decision.\n",
    HARD: "Focus *only* on tone of voice, and not words, when making your decision.\n",
}
"""Published."""

MULTI_CUES: Mapping[str, str] = {
    NO: "\n",
    SOFT: "Focus on the human's tone of voice when making your decision.\n",
    HARD: (
        "Focus *only* on the human's tone of voice, and not words, when making your decision.\n"
    ),
    TRANSITION: (
        "Follow the human's tone of voice turn by turn. Find the first turn in which it becomes "
        "negative, work out what the assistant did just before, and only then make your decision.\n"
    ),
}
"""Ours, with the published meaning."""

JUDGE_SINGLE = (
    "You will hear audio clip C, and then be given two possible voice assistant replies, R1 and "
    "R2. Your task: decide which response is more appropriate for the conversation C based on user "
    "experience."
)
"""Published."""

JUDGE_MULTI = (
    "You will hear a conversation C between a human and a voice assistant, turn by turn, and then "
    "be given two possible replies of the assistant to the last turn, R1 and R2. Your task: decide "
    "which response is more appropriate for the conversation C based on user experience."
)
LAST_TURN_ONLY = " Only the last turn of the conversation is given."
MATCH_SINGLE = (
    "You will hear two audio clips, CA and CB, and then be given two possible voice assistant "
    "replies, R1 and R2. Your task: match each reply to the clip for which it is more appropriate "
    "based on user experience. Exactly one reply belongs to each clip."
)
MATCH_MULTI = (
    "You will hear two conversations between a human and a voice assistant, CA and CB, turn by "
    "turn, and then be given two possible replies of the assistant to the last turn, R1 and R2. "
    "Your task: match each reply to the conversation for which it is more appropriate based on "
    "user experience. Exactly one reply belongs to each conversation."
)
CHOOSE_CONTEXT = (
    "You will be given two contexts, CA and CB, and one reply of a voice assistant, R. Your task: "
    "decide for which of the two contexts the reply is more appropriate based on user experience."
)
ORACLE = (
    "You will be given a user input C, and then be given two possible voice assistant replies, R1 "
    'and R2. The user input will have a text transcript ("transcript"), and a description of the '
    'speaker’s emotional tone of voice ("emotion"). Your task: select which response is more '
    "appropriate for the conversation based on user experience."
)
"""Published."""

STAGING = (
    " Keep in mind that the human’s emotions were detected by an audio-language model which does "
    "not have perfect accuracy."
)
"""Published."""

TEXT_ONLY = (
    "You will be given the transcript of a user input C, and then be given two possible voice "
    "assistant replies, R1 and R2. Your task: decide which response is more appropriate for the "
    "conversation C based on user experience."
)
PERCEIVE_SINGLE = (
    "You will hear an audio clip of a human. Your task: decide which emotion the human's tone of "
    "voice conveys. Choose exactly one of: {labels}."
)
PERCEIVE_MULTI = (
    "You will hear a conversation between a human and a voice assistant, turn by turn. Your task: "
    "decide for every turn of the human which emotion the tone of voice conveys. The human's turns "
    "are {turns}. Choose exactly one for each, of: {labels}."
)

CHOICE_FORM = (
    'Answer with JSON only, in this form: {"reasoning": "...", "pred": "R1"} or '
    '{"reasoning": "...", "pred": "R2"}'
)
MATCH_FORM = (
    'Answer with JSON only: {"pred": {"CA": "R1", "CB": "R2"}} or '
    '{"pred": {"CA": "R2", "CB": "R1"}}'
)
CONTEXT_FORM = 'Answer with JSON only: {"pred": "CA"} or {"pred": "CB"}'
EMOTION_FORM = 'Answer with JSON only, in this form: {"emotion": "..."}'
EMOTIONS_FORM = (
    "Answer with JSON only: one emotion for each turn of the human, by its number, in this form: "
    '{{"emotions": {form}}}'
)


def prompts_sha256() -> str:
    """Hash of every text of this file, for the record of a run."""
    own = {name: value for name, value in globals().items() if name.isupper()}
    plain = {n: dict(v) if isinstance(v, Mapping) else v for n, v in own.items()}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()
