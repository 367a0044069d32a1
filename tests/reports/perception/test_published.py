"""Every printed number of the paper that its published counts can give, typed in from the paper.

A row is its name (blanks as underscores), then the average where the paper prints one, then the
categories in alphabetical order.
"""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from otoscope.reports.perception.published import (
    PUBLISHED,
    published_intervals,
    published_list,
    published_table,
    results,
)
from otoscope.reports.tables import INCREASE_RATE_OF, PARSE_RATE_OF, per_cent

MAIN = """
audioflamingo3     49.6  50.0  46.7  50.0  50.0  50.0  49.9  50.0  50.0  50.0
gemini-3-flash     50.2  48.1  44.8  55.5  50.3  50.0  54.0  51.5  47.6  49.9
kimi-audio         51.8  51.6  48.0  56.5  54.5  53.1  53.6  50.5  47.6  50.5
mimo-audio         50.3  49.8  43.2  53.2  50.0  50.8  52.2  50.5  50.3  52.9
step-audio-2-mini  50.0  50.2  49.9  49.9  50.0  49.9  49.8  50.2  49.8  49.9
"""

MAIN_INCREASE = """
audioflamingo3      0.7   0.5   5.9   0.0   0.0   0.0   0.1   0.0   0.0   0.0
gemini-3-flash     45.8  85.7  53.9  61.7   2.1  68.4  72.0  24.0  14.1  30.6
kimi-audio         24.5  56.9   6.2  69.5  15.1   7.5  52.5   6.5   5.1   0.8
mimo-audio         56.6  87.9  78.5   3.9  90.9  10.9  88.8  48.9  73.5  25.8
step-audio-2-mini  87.0  99.5  99.9  97.6   0.0  99.1  98.6  98.1  95.5  94.3
"""

AUDIO_REF = """
audioflamingo3     50.0  50.0  50.0  50.0  50.0  50.0  50.0  50.0  50.0  50.0
kimi-audio         51.1  49.7  50.9  53.9  51.8  51.8  52.5  50.5  49.0  50.0
mimo-audio         49.8  51.4  44.5  53.0  50.2  50.0  49.9  50.2  50.2  49.2
step-audio-2-mini  50.2  50.1  50.2  50.1  51.0  50.2  50.2  50.0  50.1  50.1
"""

SWAP_ORDER = """
audioflamingo3     50.0  50.0  50.0  50.0  50.0  50.0  50.0  50.0  50.0  50.0
kimi-audio         51.4  49.7  62.0  47.4  50.0  50.8  52.8  50.2  50.1  50.1
mimo-audio         49.0  50.0  47.3  49.0  48.8  50.5  50.5  49.4  49.2  46.3
step-audio-2-mini  50.0  50.0  50.0  50.0  50.0  50.0  50.0  50.0  50.0  50.0
"""

FEW_SHOT = """
kimi-audio         50.2  50.0  49.3  49.2  50.8  51.6  51.0  49.3  49.5  51.1
mimo-audio         49.9  50.3  52.0  51.0  49.8  47.6  50.1  49.3  48.8  50.0
step-audio-2-mini  51.0  50.0  49.6  51.3  51.1  53.2  50.3  49.0  51.8  52.8
"""

VARIANTS = """
audio_before_the_question  50.6  50.3  49.1  54.6  52.6  50.8  48.7  49.2  50.6  49.7
LoquaciousSet              50.6  50.0  49.1  49.7  51.2  52.5  51.3  50.4  50.6  50.8
Common_Voice               52.9  50.5  56.1  50.2  53.7  59.0  53.0  54.0  48.4  51.2
"""

CROSS_KIMI = """
audio_distortion  50.1  51.6  49.9  50.3  50.0  50.3  49.2  49.7  50.5  49.6
audio_roughness   53.2  56.7  48.0  60.7  63.3  51.2  45.4  51.4  52.5  49.8
background_noise  44.6  46.7  44.9  56.5  38.6  48.0  30.2  48.2  38.6  49.4
echo              52.0  55.0  50.0  54.1  54.5  50.0  51.6  50.4  52.5  50.1
speaking_speed    51.8  50.3  51.4  52.8  51.3  53.1  51.6  52.5  52.2  51.1
voice_clarity     50.1  48.7  50.1  48.5  49.2  50.2  53.6  50.2  50.3  50.4
voice_pitch       50.1  48.5  49.8  50.4  51.2  50.3  49.2  50.5  51.0  49.7
voice_vibration   47.3  45.5  49.7  45.4  45.9  49.6  42.2  50.0  47.6  49.9
volume            50.5  46.7  50.2  52.7  50.5  51.1  50.3  50.8  51.8  50.5
"""

CROSS_MIMO = """
audio_distortion  50.3  49.8  49.5  50.2  50.6  51.1  51.6  48.4  50.9  50.1
audio_roughness   48.5  49.4  43.2  49.0  49.2  57.1  47.3  47.9  47.7  45.6
background_noise  53.0  52.9  55.8  53.2  51.8  48.6  54.0  52.5  55.8  52.5
echo              49.9  51.0  50.4  49.8  50.0  48.1  50.6  49.0  50.7  49.9
speaking_speed    49.3  49.1  47.6  50.2  48.8  50.8  49.7  49.6  48.8  48.7
voice_clarity     51.4  51.3  56.0  49.6  51.5  47.1  52.2  52.2  51.9  51.0
voice_pitch       50.3  49.5  52.2  50.5  50.2  49.8  50.1  50.5  49.7  50.0
voice_vibration   49.7  46.4  45.4  50.7  48.5  52.9  48.0  51.4  50.3  54.0
volume            52.9  54.7  56.5  51.5  52.7  45.8  55.2  51.6  55.0  52.9
"""

TRANSFER_ALL_LINEAR = """
audio_distortion  63.6  88.5  84.5  99.0  46.5  49.3  53.3  47.2  37.8  66.0
audio_roughness   60.3  52.1 100.0  88.2  50.1  50.0  49.8  50.0  52.7  49.5
background_noise  65.3  68.3  96.6 100.0  53.2  53.3  53.2  50.2  47.5  65.0
echo              47.6  50.6  41.0  55.5  96.8  40.0  28.9  59.1  54.8   1.7
speaking_speed    56.9  50.1  57.8  52.0  48.3  99.0  51.2  51.8  49.9  51.7
voice_clarity     47.3  44.0   8.3  76.1  29.3  59.5  87.0  46.8  11.0  63.8
voice_pitch       56.7  54.7  65.1  59.0  58.7  54.9  40.4  98.7  65.7  13.1
voice_vibration   52.2  48.9  95.4  31.8  49.8  49.0  36.2  50.5  99.2   8.8
volume            53.7  58.8  43.8  85.5  26.5  51.1  64.2  40.2  13.3 100.0
"""

TRANSFER_LM_HEAD = """
audio_distortion  51.2  52.2  51.0  54.2  50.3  51.2  53.4  49.3  49.4  50.2
audio_roughness   55.5  49.8  97.7  51.8  50.0  50.0  50.0  50.0  50.0  50.1
background_noise  58.3  53.0  62.8  98.6  48.7  47.8  50.7  51.1  53.9  58.3
echo              52.5  49.7  55.7  51.2  61.5  54.2  51.2  52.2  43.0  53.7
speaking_speed    54.3  50.0  55.5  50.0  53.9  73.2  50.0  50.9  48.5  56.6
voice_clarity     51.5  49.7  54.8  50.0  50.4  49.3  57.4  50.2  47.0  54.7
voice_pitch       52.9  50.9  54.8  52.9  56.8  52.7  51.2  57.0  48.9  51.3
voice_vibration   50.9  50.0  51.9  51.6  48.8  51.6  50.1  52.0  53.3  49.2
volume            54.6  50.0  49.7  50.1  49.9  53.1  50.0  50.4  50.0  88.2
"""

IN_DOMAIN = """
audioflamingo3_all_linear       99.4  97.2 100.0 100.0 100.0  98.3  99.6  99.5 100.0 100.0
audioflamingo3_lm_head_only     62.7  51.3  84.2  78.9  51.6  58.9  55.2  55.6  58.8  69.3
mimo-audio_all_linear           98.8  99.1 100.0 100.0  94.6  98.4 100.0  97.2  99.7 100.0
mimo-audio_lm_head_only         69.1  68.0  83.8  72.3  52.9  53.8  78.1  50.4  77.5  85.2
step-audio-2-mini_all_linear    58.8  51.6  53.1  75.0  49.4  97.5  51.2  49.8  50.5  51.3
step-audio-2-mini_lm_head_only  56.2  51.7  66.7  76.4  50.0  56.7  50.5  50.2  50.8  52.9
kimi-audio_all_linear           96.6  88.5 100.0 100.0  96.8  99.0  87.0  98.7  99.2 100.0
kimi-audio_lm_head_only         71.0  52.2  97.7  98.6  61.5  73.2  57.4  57.0  53.3  88.2
"""

BEEPS = """
gemini-3-flash     62.9  62.5  46.3  67.5
kimi-audio         50.0  50.4  50.0  57.5
mimo-audio         64.2  50.0  50.0  55.8
step-audio-2-mini  50.0  50.0  50.0  50.0
audioflamingo3     50.0  50.0  50.0  50.0
"""

PARAPHRASES = """
rise_fall                        50.1  0.6  0
intensity_increase_decrease      50.5  0.8  0
intensity_increasing_decreasing  50.0  0.0  0
tone_rise_fall                   50.0  0.1  0
frequency_upward_downward        50.4  5.7  0
frequency_rise_decline           51.5 40.1  3
pace_faster_slower               50.7  0.9  0
tempo_increase_decrease          51.7  4.2  0
delivery_accelerate_decelerate   53.2 26.4 22
"""


def typed(text):
    rows = [line.split() for line in text.strip().splitlines()]
    return {name.replace("_", " "): cells for name, *cells in rows}


def printed(table):
    return {row[0].text: [cell.text for cell in row[1:]] for row in table.printed()}


@pytest.mark.parametrize(
    ("name", "options", "paper"),
    [
        ("main", {}, MAIN),
        ("main", {"share": INCREASE_RATE_OF}, MAIN_INCREASE),
        ("audio_ref", {}, AUDIO_REF),
        ("swap_order", {}, SWAP_ORDER),
        ("cross_attribute kimi-audio", {}, CROSS_KIMI),
        ("cross_attribute mimo-audio", {}, CROSS_MIMO),
        ("transfer all_linear", {}, TRANSFER_ALL_LINEAR),
        ("transfer lm_head_only", {}, TRANSFER_LM_HEAD),
        ("in_domain", {}, IN_DOMAIN),
    ],
)
def test_table_prints_what_the_paper_prints(name, options, paper):
    assert printed(published_table(name, **options)) == typed(paper)


def test_few_shot_also_shows_the_model_whose_answers_were_all_errors():
    rows = printed(published_table("few_shot"))
    assert rows.pop("audioflamingo3") == ["0.0"] * 10
    assert rows == typed(FEW_SHOT)
    parsed = printed(published_table("few_shot", PARSE_RATE_OF))
    assert parsed["audioflamingo3"] == ["0.0"] * 10


def test_variants_stand_below_the_main_question():
    rows = printed(published_table("variants"))
    assert rows.pop("main") == typed(MAIN)["kimi-audio"]
    assert rows == typed(VARIANTS)


def test_beeps_have_four_categories_and_ties_that_go_up():
    rows = printed(published_table("beeps"))
    assert {name: cells[1:] for name, cells in rows.items()} == typed(BEEPS)


def test_paraphrases_have_one_category_each():
    correct = printed(published_table("paraphrases"))
    rising = printed(published_table("paraphrases", INCREASE_RATE_OF))
    chosen = results().query("experiment == 'paraphrase'")
    unparsed = {
        name.replace("_", " "): str(n)
        for name, n in zip(chosen["prompt_variant"], chosen["n_unparsed"], strict=True)
    }

    def only(cells):
        (cell,) = set(cells) - {"–"}
        return cell

    assert {
        name: [only(correct[name]), only(rising[name]), unparsed[name]] for name in correct
    } == typed(PARAPHRASES)


def test_gemini_is_parsed_in_99_1_per_cent_of_all_answers():
    sums = results().query("experiment == 'main'").groupby("model")[["n", "n_unparsed", "n_parsed"]]
    totals = sums.sum()
    assert totals["n_unparsed"].to_dict() == {
        "audioflamingo3": 0,
        "gemini-3-flash": 197,
        "kimi-audio": 11,
        "mimo-audio": 10,
        "step-audio-2-mini": 2,
    }
    gemini = totals.loc["gemini-3-flash"]
    assert per_cent(Fraction(int(gemini["n_parsed"]), int(gemini["n"]))) == "99.1"
    assert printed(published_table("main", PARSE_RATE_OF))["gemini-3-flash"][0] == "99.1"


def test_averages_are_of_unrounded_cells_and_ties_are_even():
    def row(name, key):
        table = published_table(name)
        return next(row for row in table.rows if row[PUBLISHED[name].row] == key)

    def of_printed(name, row):
        cells = [row[column] for column in PUBLISHED[name].columns]
        return per_cent(sum(Fraction(per_cent(cell)) for cell in cells) / len(cells) / 100)

    # rounding first would give 51.5 and 50.2
    for name, key, average, rounded_first in (
        ("swap_order", "kimi-audio", "51.4", "51.5"),
        ("cross_attribute mimo-audio", "audio_distortion", "50.3", "50.2"),
    ):
        found = row(name, key)
        assert per_cent(found["average"]) == average
        assert of_printed(name, found) == rounded_first
    # and the average of Step-Audio with the audio_ref prompt is a tie by itself
    tie = row("audio_ref", "step-audio-2-mini")["average"]
    assert tie == Fraction(5025, 10000)
    assert per_cent(tie) == "50.2"


def test_there_are_587_results_with_possible_counts():
    table = results()
    assert len(table) == 587
    for result in table.itertuples():
        n, n_correct, n_parsed = result.n, result.n_correct, result.n_parsed
        assert n == (240 if result.experiment == "beep_ablation" else 2400)
        assert 0 <= n_correct <= n_parsed <= n
        # Half of the clips rise: with i answers "increase", of which r are right, and all parsed,
        # r + (n / 2 - (i - r)) are correct, so that their number fixes whether i is odd.
        if not pd.isna(result.n_increase) and n_parsed == n:
            assert (n_correct + result.n_increase) % 2 == n // 2 % 2, result


def test_counts_of_increase_are_the_only_ones_the_published_share_allows():
    first = results().query("model == 'gemini-3-flash'").iloc[0]
    # 0.8571 of 2303 is 1973.9; 1 / 2303 is 0.0004
    assert (first["n"], first["n_correct"], first["n_parsed"], first["n_increase"]) == (
        2400, 1154, 2303, 1974,
    )  # fmt: skip


def test_a_table_without_results_is_named():
    with pytest.raises(LookupError, match="no published table named 'swap'; there are"):
        published_table("swap")


def test_intervals_are_those_of_one_generator_row_by_row():
    rng = np.random.default_rng(1234)
    rows = published_intervals("main").rows
    assert len(rows) == 5 * 9
    for row in rows:  # models, and within each the categories in alphabetical order
        shares = rng.binomial(2400, row["accuracy"], 10_000) / 2400
        low, high = np.percentile(shares, [2.5, 97.5])
        assert (row["accuracy_low"], row["accuracy_high"]) == pytest.approx((low, high))
    # said in the paper's text: MiMo-Audio is significantly below 50 % on audio roughness
    below = {(r["model"], r["test_category"]) for r in rows if r["accuracy_high"] < 0.5}
    assert ("mimo-audio", "audio_roughness") in below


def test_every_table_has_its_place_in_the_paper_and_intervals():
    listed = {row["name"]: row["paper"] for row in published_list().rows}
    assert listed["paraphrases"] == "Table 13"
    for name in PUBLISHED:
        assert listed[name]
        assert published_intervals(name).rows
