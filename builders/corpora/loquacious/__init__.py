"""LoquaciousSet: the published selection, the frozen list, verification."""
