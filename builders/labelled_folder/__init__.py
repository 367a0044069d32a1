"""Anybody's labelled clips, from a folder for each label or from a table, as a dataset.

python -m builders.labelled_folder build --help
"""
