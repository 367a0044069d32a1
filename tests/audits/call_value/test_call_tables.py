"""Tables of predictions: what is read, and every fault is one line that names the thing."""

import json

import pandas as pd
import pytest

from otoscope.audits.call_value.schema import HOLDOUT, CallValueError
from otoscope.audits.call_value.tables import read_call_tables
from tests.audits.call_value.call_tables import (
    example_rows,
    prediction_rows,
    write_csv,
    write_tables,
)


@pytest.fixture
def examples():
    return example_rows(10, 5)


@pytest.fixture
def predictions(examples):
    return prediction_rows(examples)


def rejected(tmp_path, examples, predictions, match):
    with pytest.raises(CallValueError, match=match) as found:
        read_call_tables(write_tables(tmp_path, examples, predictions))
    assert "\n" not in str(found.value)


def row_of(predictions, example, action):
    return next(
        row for row in predictions if row["example_id"] == example and row["action"] == action
    )


def test_labels_of_held_out_examples_are_sealed_until_requested(tmp_path):
    tables = write_tables(tmp_path)
    sealed = read_call_tables(tables).examples
    assert sealed.loc[sealed["split"] == HOLDOUT, "label"].isna().all()
    assert read_call_tables(tables, holdout_labels=True).examples["label"].notna().all()


def test_csv_and_parquet_and_several_tables_read_the_same(tmp_path, examples, predictions):
    csv = read_call_tables(write_tables(tmp_path, examples, predictions))
    pd.DataFrame(predictions[:20]).to_parquet(tmp_path / "a.parquet")
    pd.DataFrame(predictions[20:]).to_parquet(tmp_path / "b.parquet")
    pd.DataFrame(examples).to_parquet(tmp_path / "e.parquet")
    parquet = read_call_tables([tmp_path / f"{name}.parquet" for name in "eba"])
    pd.testing.assert_frame_equal(csv.examples, parquet.examples)
    columns = ["example_id", "action", "label", "conf", "fold", "wall_s"]
    left, right = csv.predictions[columns], parquet.predictions[columns]
    pd.testing.assert_frame_equal(left, right, check_dtype=False)


def test_margin_is_the_distance_of_the_two_largest_scores(tmp_path, examples, predictions):
    row = row_of(predictions, "d000", "clap")
    del row["conf"]
    row["scores"] = json.dumps([0.1, 0.7, 0.2])
    tables = read_call_tables(write_tables(tmp_path, examples, predictions))
    found = tables.predictions.set_index(["example_id", "action"]).loc[("d000", "clap")]
    assert found["conf"] == 0.7
    assert found["margin"] == pytest.approx(0.5)


def test_empty_label_is_unparsed(tmp_path, examples, predictions):
    row_of(predictions, "d000", "omni")["label"] = ""
    tables = read_call_tables(write_tables(tmp_path, examples, predictions))
    assert tables.predictions["label"].isna().sum() == 1


def test_missing_prediction(tmp_path, examples, predictions):
    predictions.remove(row_of(predictions, "h002", "omni"))
    rejected(tmp_path, examples, predictions, r"1 examples have no prediction of 'omni': 'h002'")


def test_doubled_prediction(tmp_path, examples, predictions):
    predictions.append(dict(row_of(predictions, "h002", "omni")))
    rejected(tmp_path, examples, predictions, r"line 62: example 'h002' has two predictions of")


def test_doubled_example(tmp_path, examples, predictions):
    examples.append(dict(examples[0]))
    rejected(tmp_path, examples, predictions, r"examples.csv, line 17: example 'd000' is in this")


def test_label_outside_the_set(tmp_path, examples, predictions):
    row_of(predictions, "d001", "text")["label"] = "hiccup"
    paths = write_tables(tmp_path, examples, predictions)
    with pytest.raises(CallValueError, match=r"line 3: label 'hiccup' is not in the set"):
        read_call_tables(paths, labels=["cough", "laughter", "sigh"])


def test_an_examples_label_outside_the_set_is_not_taken_for_an_answer(
    tmp_path, examples, predictions
):
    examples[0]["label"] = "hiccup"
    paths = write_tables(tmp_path, examples, predictions)
    with pytest.raises(CallValueError, match=r"line 2: the example's label 'hiccup'") as caught:
        read_call_tables(paths, labels=["cough", "laughter", "sigh"])
    assert "parsed" not in str(caught.value)


@pytest.mark.parametrize("conf", ["nan", "inf", "high"])
def test_confidence_that_is_no_finite_number(tmp_path, examples, predictions, conf):
    row_of(predictions, "d001", "clap")["conf"] = conf
    rejected(tmp_path, examples, predictions, f"conf is '{conf}', not a finite number")


def test_local_action_without_confidence(tmp_path, examples, predictions):
    del row_of(predictions, "d001", "clap")["conf"]
    rejected(tmp_path, examples, predictions, "'clap' has neither conf nor scores")


def test_fold_missing_from_a_row(tmp_path, examples, predictions):
    del row_of(predictions, "d001", "clap")["fold"]
    rejected(tmp_path, examples, predictions, "development prediction of encoder 'clap' has no fo")


def test_fold_missing_from_all_rows(tmp_path, examples, predictions):
    for row in predictions:
        if row.get("fold") == 3:
            row["fold"] = 4
    rejected(tmp_path, examples, predictions, "encoder 'clap' has no examples in fold 3")


def test_one_fold_is_not_out_of_fold(tmp_path, examples, predictions):
    for row in predictions:
        if "fold" in row:
            row["fold"] = 0
    rejected(tmp_path, examples, predictions, "encoder 'clap' has one fold, '0'")


def test_probe_fitted_on_holdout(tmp_path, examples, predictions):
    row_of(predictions, "h001", "wavlm")["fold"] = 2
    rejected(tmp_path, examples, predictions, "has the fold '2', so its probe was fitted on held")


def test_encoder_without_a_probe_has_no_folds(tmp_path, examples, predictions):
    for row in predictions:
        if row["action"] == "clap":
            row["fold"] = "none"
    read_call_tables(write_tables(tmp_path, examples, predictions))


def test_holdout_example_in_development(tmp_path, examples, predictions):
    other = write_csv(tmp_path / "more.csv", [examples[-1] | {"split": "development"}])
    with pytest.raises(CallValueError, match=r"split of example 'h004' is 'holdout' in .* and 'd"):
        read_call_tables([*write_tables(tmp_path, examples, predictions), other])


def test_two_tables_that_disagree_about_a_label(tmp_path, examples, predictions):
    label = {"cough": "sigh"}.get(examples[0]["label"], "cough")
    other = write_csv(tmp_path / "more.csv", [{"example_id": "d000", "label": label}])
    with pytest.raises(CallValueError, match=r"label of example 'd000' is 'cough' in .*line 2 and"):
        read_call_tables([*write_tables(tmp_path, examples, predictions), other])


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"split": "train"}, "split is 'train', not one of"),
        ({"split": ""}, "example 'd000' has no split in any table"),
        ({"asr_unc": ""}, "example 'd000' has no asr_unc, others have"),
        ({"loudness": 1}, "columns that no call-value table has: 'loudness'"),
        ({"example_id": "x"}, "no predictions for 1 examples: 'x'|has no label in any table"),
    ],
)
def test_faults_of_examples(tmp_path, examples, predictions, change, match):
    examples[0] |= change
    rejected(tmp_path, examples, predictions, match)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"kind": "oracle"}, "kind is 'oracle', not one of"),
        ({"kind": "encoder", "fold": 1}, "action 'text' is of two kinds"),
        ({"wall_s": -1}, "wall_s is '-1', which is below 0"),
        ({"scores": "[1]", "conf": 1}, "scores are not a list of at least two numbers"),
        ({"fold_seed": 1}, "has a fold_seed; only development predictions of encoders do"),
    ],
)
def test_faults_of_predictions(tmp_path, examples, predictions, change, match):
    predictions[0] |= change
    rejected(tmp_path, examples, predictions, match)


def test_examples_only(tmp_path, examples):
    with pytest.raises(CallValueError, match="no table has predictions"):
        read_call_tables([write_csv(tmp_path / "examples.csv", examples)])


def test_one_split_only(tmp_path):
    rejected(tmp_path, (rows := example_rows(4, 0)), prediction_rows(rows), "split holdout")


def test_an_action_that_no_model_made_is_called_simulated(tmp_path, examples, predictions):
    for row in predictions:
        if row["action"] == "omni":
            row["simulated"] = "True"
    found = read_call_tables(write_tables(tmp_path, examples, predictions)).predictions
    assert set(found["action"]) == {"text", "clap", "wavlm", "omni (simulated)"}
    predictions[-1]["simulated"] = "perhaps"
    rejected(tmp_path, examples, predictions, "simulated is 'perhaps', not true or false")


def test_a_name_that_says_simulated_stays_as_it_is(tmp_path, examples, predictions):
    for row in predictions:
        if row["action"] == "omni":
            row |= {"action": "simulated_omni", "simulated": 1}
    found = read_call_tables(write_tables(tmp_path, examples, predictions)).predictions
    assert "simulated_omni" in set(found["action"])


def test_groups_of_speakers_are_read(tmp_path, examples, predictions):
    for i, row in enumerate(examples):
        row["group"] = "child" if i % 2 else "adult"
    found = read_call_tables(write_tables(tmp_path, examples, predictions)).examples
    assert found["group"].value_counts().to_dict() == {"adult": 8, "child": 7}
