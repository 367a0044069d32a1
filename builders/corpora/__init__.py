"""Where unmodified clips come from: a file a corpus; `choose` has the table of them."""
