"""Acoustic factors that change over time, and measures of them: arrays in, arrays out."""

from otoscope.acoustics.rendering import render as render
from otoscope.acoustics.rows import read as read
