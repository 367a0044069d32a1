"""Activations of a model at named sites: which there are, extraction, and features on disk.

`features` reads them and needs no torch; `hidden_states` needs a loaded model.
"""
