"""What an audit of calls, or a labelled dataset, does not show: on every card and report."""

LIMITS = (
    "Speech recognisers, encoders and language models are less accurate on accents, dialects, "
    "disordered speech, code-switching and languages with little data: results here say nothing "
    "about them unless the clips have them.",
    "A local route processes what it derives from audio too; a hosted model may receive the "
    "waveform. Before people's recordings are sent anywhere: consent, a review of privacy, an "
    "analysis of fairness, and no more data than needed.",
    "The set of labels is closed, and hold-out is from the same source as development: a result is "
    "not one about open questions or about other recordings.",
    "Hold-out that was looked at before no longer is one: `otoscope call-value` counts how often "
    "its labels were opened.",
    "Richer reasoning, mixtures of unknown tasks, few-shot prompts, calibrated log-probabilities "
    "and servers tuned for throughput are not what this was made to test.",
)
"""Source: M. Geng (2026), arXiv 2608.27817, sections 1 and 5, in our words."""
