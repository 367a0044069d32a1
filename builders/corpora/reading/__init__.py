"""What corpora share when they read: ids, tables, splits, resampled audio."""
