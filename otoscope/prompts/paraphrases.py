"""Nine other wordings, three for each of three categories.

To add a paraphrase: an entry below. Where the rule `paraphrase` lacks one of its answer words, name
a new entry of `PARSERS` as its `parser=`: a word added to `paraphrase` itself would change the
scores of published answers.

Source: VocalGrad, appendix C.6; the words that count as an answer are in the authors' data.
"""

from otoscope.prompts.base import Prompt, offering


def paraphrase(
    category: str, rising: str, falling: str, question: str, *, parser: str = "paraphrase"
) -> Prompt:
    """A question about a category that offers a rising and a falling word, in this order."""
    words = {rising: "increase", falling: "decrease"}
    return Prompt(offering(question, *words), words, parser=parser, category=category)


PARAPHRASES = {
    "rise_fall": paraphrase(
        "volume", "rise", "fall",
        "Does the loudness rise or fall as the audio progresses?",
    ),
    "intensity_increase_decrease": paraphrase(
        "volume", "increase", "decrease",
        "Does the sound intensity increase or decrease throughout the recording?",
    ),
    "intensity_increasing_decreasing": paraphrase(
        "volume", "increasing", "decreasing",
        "Is the audio intensity increasing or decreasing over time?",
    ),
    "tone_rise_fall": paraphrase(
        "voice_pitch", "rise", "fall",
        "Does the tone rise or fall over time?",
    ),
    "frequency_upward_downward": paraphrase(
        "voice_pitch", "upward", "downward",
        "Does the sound frequency change upward or downward over time?",
    ),
    "frequency_rise_decline": paraphrase(
        "voice_pitch", "rise", "decline",
        "Over time, does the frequency of the voice rise or decline?",
    ),
    "pace_faster_slower": paraphrase(
        "speaking_speed", "faster", "slower",
        "Does the pace of speech become faster or slower over time?",
    ),
    "tempo_increase_decrease": paraphrase(
        "speaking_speed", "increase", "decrease",
        "Does the speech tempo increase or decrease with time?",
    ),
    "delivery_accelerate_decelerate": paraphrase(
        "speaking_speed", "accelerate", "decelerate",
        "Does the pace of delivery accelerate or decelerate over time?",
    ),
}  # fmt: skip
