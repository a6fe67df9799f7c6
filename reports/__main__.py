"""``python -m reports``: build the report of a run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from reports.assemble import build, latest
from reports.errors import ReportError

FAILED = 3


class _Group(click.Group):
    """A click group whose refusals are one line and exit status 3."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        kwargs["standalone_mode"] = False
        try:
            code = super().main(*args, **kwargs)
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message())
            sys.exit(FAILED)
        except (click.ClickException, ReportError) as error:
            text = error.format_message() if isinstance(error, click.ClickException) else str(error)
            click.echo(f"error: {' '.join(text.split())}", err=True)
            sys.exit(FAILED)
        except click.Abort:
            click.echo("interrupted", err=True)
            sys.exit(FAILED)
        sys.exit(code if isinstance(code, int) else 0)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Reports of verification runs."""


@main.command("build")
@click.argument("run")
@click.option(
    "--format",
    "formats",
    default="pdf,tex",
    show_default=True,
    metavar="pdf,tex",
    help="What to make; the LaTeX source, figures and tables are written in any case.",
)
@click.option(
    "--engine",
    type=click.Choice(["auto", "latex", "embedded"]),
    default="auto",
    show_default=True,
    help="latex: latexmk. embedded: pandoc and Typst, no TeX needed. auto: latex where complete.",
)
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=None,
    metavar="DIR",
    help="Where to write.  [default: RUN/report]",
)
def build_command(run: str, formats: str, engine: str, output: Path | None) -> None:
    """Build the report of RUN, a run directory, or `latest` for the newest under ./runs.

    \b
    Examples:
      python -m reports build latest
      python -m reports build runs/2026-01-31-ifca --engine embedded
      python -m reports build latest --format tex --output paper/appendix

    The path of the report is the last line printed. Exit status 3 when it cannot be built.
    """
    folder = latest(Path("runs")) if run == "latest" else Path(run)
    result = build(
        folder,
        formats=tuple(dict.fromkeys(f.strip() for f in formats.split(",") if f.strip())),
        engine=engine,
        out_dir=output,
        progress=lambda message: click.echo(message, err=True),
    )
    click.echo(result.paths[-1])


if __name__ == "__main__":
    main(prog_name="python -m reports")
