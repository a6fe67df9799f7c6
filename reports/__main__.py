"""``python -m reports`` (and ``cfl-verify report``): build the report of a run."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from trials.text import one_line, printable

FAILED = 3
INTERNAL = 70
INTERRUPTED = 130


def _end(_number: int, _frame: Any) -> None:
    """End the process at once.  This is safe because no file of a report is ever half written."""
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


class _Group(click.Group):
    """A click group whose error messages are one line, with the exit codes of ``cfl-verify``."""

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> Any:
        extra.pop("standalone_mode", None)
        given = list(sys.argv[1:] if args is None else args)
        try:
            with self.make_context(prog_name or "python -m reports", list(given), **extra) as found:
                self.invoke(found)
            code = 0
        except click.exceptions.Exit as leave:
            code = leave.exit_code
        except BaseException as error:
            code = _fail(error, given)
        sys.exit(code)


def _fail(error: BaseException, given: Sequence[str]) -> int:
    """Print one line for a failure, and with ``--debug`` its traceback too."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return FAILED
    if isinstance(error, KeyboardInterrupt | click.Abort):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    if "--debug" in given:
        traceback.print_exception(error, file=sys.stderr)
    known = [
        kind
        for module, name in (("reports.errors", "ReportError"), ("trials.run.store", "StoreError"))
        if (kind := getattr(sys.modules.get(module), name, None)) is not None
    ]
    if isinstance(error, click.ClickException):
        code, text = FAILED, error.format_message()
    elif isinstance(error, (*known, OSError, MemoryError)):
        code, text = FAILED, str(error) or "out of memory"
    else:
        code = INTERNAL
        text = (
            f"internal: {type(error).__name__}: {error} (a fault of cfl-verify; please report it "
            "with this command and what it prints with --debug)"
        )
    click.echo(f"error: {one_line(text, given)}", err=True)
    return code


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, expose_value=False, help="Print the traceback of a failure.")
def main() -> None:
    """Reports of verification runs."""


@main.command("build")
@click.argument("run")
@click.option(
    "--format",
    "formats",
    default="pdf,tex",
    show_default=True,
    metavar="pdf,tex,html",
    help="pdf: with its LaTeX source. tex: the source alone. html: a folder of web pages.",
)
@click.option(
    "--engine",
    type=click.Choice(["auto", "latex", "embedded"]),
    default="auto",
    show_default=True,
    help="latex: pdfLaTeX. embedded: pandoc and Typst, no TeX needed. auto: latex where complete.",
)
@click.option(
    "--output",
    type=click.Path(),
    default=None,
    metavar="DIR",
    help="Where to write.  [default: RUN/report]",
)
@click.option("--title", "heading", default="", metavar="TEXT", help="The title to print.")
@click.option("--author", default="", metavar="TEXT", help="The author to print.")
@click.option("--catalogue", is_flag=True, help="Make catalogue.pdf, with all claims, too.")
@click.option(
    "--fragments",
    "fragments_of",
    multiple=True,
    metavar="CLAIM",
    help="Write no report but one .tex file for each claim that matches, to \\input in a paper.",
)
def build_command(
    run: str,
    formats: str,
    engine: str,
    output: str | None,
    heading: str,
    author: str,
    catalogue: bool,
    fragments_of: tuple[str, ...],
) -> None:
    """Build the report of RUN: the paper of the run, at most 20 pages.

    RUN is a run directory, the name of one below ./runs, or `latest`: the run below ./runs that was
    written last.

    \b
    Examples:
      python -m reports build latest
      python -m reports build runs/2026-01-31-ifca --engine embedded
      python -m reports build latest --format tex --output paper/appendix
      python -m reports build latest --format html
      python -m reports build latest --catalogue --title "My theorem, tried"
      python -m reports build latest --fragments 'ifca.thm1*' --output paper

    The path of the report is printed, one line a format. Exit status 3 when it cannot be built.
    """
    from reports.assemble import build
    from trials.run.directory import find_run

    if output is not None and (not output or not output.isprintable()):
        raise click.UsageError(f"--output {output!r} must name a directory")
    result = build(
        find_run(run),
        formats=tuple(dict.fromkeys(f.strip() for f in formats.split(",") if f.strip())),
        engine=engine,
        out_dir=None if output is None else Path(output),
        fragments_of=fragments_of,
        catalogue=catalogue,
        heading=heading,
        author=author,
        progress=lambda message: click.echo(printable(message), err=True),
    )
    for path in result.opened:
        click.echo(path)


if __name__ == "__main__":
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    main(prog_name="python -m reports")
