"""How sound changes over time: arrays in, arrays out."""

from otoscope.acoustics.rendering import render as render
