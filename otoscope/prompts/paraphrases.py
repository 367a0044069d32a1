"""Nine other wordings, three for each of three categories.

Source: VocalGrad, appendix C.6; the words that count as an answer are in the authors' data.
"""

from otoscope.prompts.base import Prompt, offering


def _paraphrase(category: str, question: str, rising: str, falling: str) -> Prompt:
    return Prompt(
        offering(question, rising, falling),
        {rising: "increase", falling: "decrease"},
        parser="paraphrase",
        category=category,
    )


PARAPHRASES = {
    "rise_fall": _paraphrase(
        "volume", "Does the loudness rise or fall as the audio progresses?", "rise", "fall"
    ),
    "intensity_increase_decrease": _paraphrase(
        "volume",
        "Does the sound intensity increase or decrease throughout the recording?",
        "increase",
        "decrease",
    ),
    "intensity_increasing_decreasing": _paraphrase(
        "volume",
        "Is the audio intensity increasing or decreasing over time?",
        "increasing",
        "decreasing",
    ),
    "tone_rise_fall": _paraphrase(
        "voice_pitch", "Does the tone rise or fall over time?", "rise", "fall"
    ),
    "frequency_upward_downward": _paraphrase(
        "voice_pitch",
        "Does the sound frequency change upward or downward over time?",
        "upward",
        "downward",
    ),
    "frequency_rise_decline": _paraphrase(
        "voice_pitch",
        "Over time, does the frequency of the voice rise or decline?",
        "rise",
        "decline",
    ),
    "pace_faster_slower": _paraphrase(
        "speaking_speed",
        "Does the pace of speech become faster or slower over time?",
        "faster",
        "slower",
    ),
    "tempo_increase_decrease": _paraphrase(
        "speaking_speed",
        "Does the speech tempo increase or decrease with time?",
        "increase",
        "decrease",
    ),
    "delivery_accelerate_decelerate": _paraphrase(
        "speaking_speed",
        "Does the pace of delivery accelerate or decelerate over time?",
        "accelerate",
        "decelerate",
    ),
}
