"""Why some confounds are unavoidable, in words that several gradients share."""

FILLS_SPECTRUM = "the added signal fills the spectrum above and between the harmonics of speech"
FILLS_VALLEYS = "reverberance is the depth of the envelope's valleys, which the added signal fills"
ADDS_MOVEMENT = "the added signal fluctuates, and tempo is measured by spectral movement"
ADDED_SIGNAL = {
    "high_band_level": FILLS_SPECTRUM,
    "snr": FILLS_SPECTRUM,
    "reverberance": FILLS_VALLEYS,
    "tempo": ADDS_MOVEMENT,
}
