"""Names in tables and contracts of the call-value audit."""

from collections.abc import Mapping

from otoscope.errors import InputError

DEVELOPMENT, HOLDOUT = "development", "holdout"
SPLITS: Mapping[str, str] = {
    "development": DEVELOPMENT,
    "dev": DEVELOPMENT,
    "holdout": HOLDOUT,
    "hold-out": HOLDOUT,
    "test": HOLDOUT,
}
"""Values of the column `split`, and what they mean."""

TRANSCRIPT, ENCODER, GENERATIVE = "transcript", "encoder", "generative"
KINDS = (TRANSCRIPT, ENCODER, GENERATIVE)
"""Kinds of action; those before the last are local, the last is a call."""

SIMULATED = "simulated"
"""In the name of an action whose predictions were not made by a model."""

AGREEMENT, AGREEMENT_NO_CALL = "post-call agreement", "post-call agreement, no_call"
STACKED = "post-call stacked"
"""Names of policies that read what calls return."""

UNPARSED = -1
"""Index of a prediction without a label: never correct."""

NOT_FITTED = "none"
"""Value of `fold` for an encoder without a fitted probe, such as a zero-shot one."""

SHARED_COLUMNS = ("task", "split", "cluster_id")
"""Columns that either table may have; they must agree."""

EXAMPLE_NUMBERS = ("duration", "asr_len", "asr_unc", "no_speech")
"""Numbers of an example that are known before any call."""

COSTS = ("wall_s", "price", "audio_s", "tokens")
"""Columns of cost: seconds, money, seconds of audio sent out, tokens in and out."""

PREDICTION_COLUMNS = (
    *SHARED_COLUMNS, "example_id", "action", "kind", "label", "parse_status", "conf", "scores",
    "logprob", "fold", "fold_seed", "revision", "prompt_id", "parser", SIMULATED, *COSTS,
)  # fmt: skip
EXAMPLE_COLUMNS = (
    *SHARED_COLUMNS, "example_id", "label", "asr_text", "speaker", "group", "sha256", "source",
    *EXAMPLE_NUMBERS,
)  # fmt: skip


class CallValueError(InputError, ValueError):
    """A table, a contract or a folder that the audit cannot use; the message names the thing."""
