"""Otoscope: does an audio language model use what it hears, and where is the information lost?"""

from otoscope.version import __version__ as __version__
