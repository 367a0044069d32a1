"""Names of the intervals in tables and pages, and what they mean."""

CLUSTERED = "clustered Wilson"
"""Of a share: `intervals.clustered_interval`."""

CLUSTERED_T = "clustered t"
"""Of a difference: `clustered_pairs.clustered_difference`."""

OBUCHOWSKI = "Obuchowski"
"""Of an area under the ROC curve: `separation.stratified_auc`."""

CLUSTER_BOOTSTRAP = "cluster bootstrap"
"""Of macro F1 and of mean cosines: percentiles of resampled clusters."""

CLUSTERED_NOTE = (
    f"{CLUSTERED[0].upper()}{CLUSTERED[1:]}: Wilson's interval of a share at the effective sample "
    "size, since clips of one source are not independent."
)

TANGO = "Tango"
"""Of a difference of paired shares, independent questions: `tango.tango_interval`."""

SIGN_FLIP = "cluster sign flip"
"""Test of a paired difference over whole clusters: `sign_flip.cluster_sign_flip`."""
