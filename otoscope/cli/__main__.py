"""`python -m otoscope.cli`, and `accelerate launch -m otoscope.cli run perception …`."""

from otoscope.cli import main

main()
