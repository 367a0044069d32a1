"""Build and check VocalGrad.

python -m builders.vocalgrad build --source vctk:/data/VCTK-Corpus --out vocalgrad
"""

from builders.vocalgrad.commands.build import build
from builders.vocalgrad.commands.compare import compare
from builders.vocalgrad.commands.sources import list_sources, verify_sources
from builders.vocalgrad.commands.spans import spans
from otoscope.cli.errors import App

app = App(help=__doc__, no_args_is_help=True)
sources_app = App(help="The source clips of a corpus.", no_args_is_help=True)
app.add_typer(sources_app, name="sources")
for command in (build, spans, compare):
    app.command()(command)
sources_app.command("list")(list_sources)
sources_app.command("verify")(verify_sources)

if __name__ == "__main__":
    app()
