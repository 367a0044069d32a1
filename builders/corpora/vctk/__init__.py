"""VCTK: layouts of a folder, the published selection, the frozen list, verification."""
