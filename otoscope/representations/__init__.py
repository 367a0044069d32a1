"""Where in a model to look: named sites, what is held there, and how it is kept.

`features` reads what was kept and needs no torch; `looking` needs a loaded model.
"""
