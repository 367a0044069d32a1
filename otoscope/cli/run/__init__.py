"""`otoscope run AUDIT`: a file here for each name in `AUDITS`."""

from importlib import import_module

from otoscope.audits import AUDITS
from otoscope.cli.errors import App

app = App(help="Run an audit: ask a model about a dataset.", no_args_is_help=True)
for _name in AUDITS:
    app.command()(getattr(import_module(f"{__name__}.{_name}"), _name))
