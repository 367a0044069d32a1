"""Prompts of the judge audit, by task, probe and cue; audio is named and loaded by the run.

`texts` has every sentence, and says which are the paper's own. `perception`, `judgment` and
`text_probes` put them to an item; `generation` asks a text model to write and to rate.
"""
