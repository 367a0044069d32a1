"""Ten animals of ESC-50, divided so that no source recording is in both splits.

python -m builders.esc50_animals build --help
"""
