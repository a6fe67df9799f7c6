"""The application: one group of commands whose every failure is one line and one exit code."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import click

from trials.text import one_line, printable
from verify.cli import exits, screen
from verify.cli.commands import COMMANDS

_EPILOG = "\b\nExit status:\n" + "\n".join(
    f"  {code:>3}  {meaning}" for code, meaning in exits.CODES.items()
)


class Application(click.Group):
    """A click group that always ends with a documented exit code."""

    def main(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        **extra: Any,
    ) -> Any:
        """Run one command line and leave with its exit code."""
        extra.pop("standalone_mode", None)
        given = list(sys.argv[1:] if args is None else args)
        name = prog_name or exits.program()
        screen.prepare_streams()
        self._main_shell_completion(extra, "cfl-verify", complete_var or "_CFL_VERIFY_COMPLETE")
        try:
            with self.make_context(name, list(given), **extra) as context:
                code = self.invoke(context)
            code = code if isinstance(code, int) else exits.EXPECTED
            _flush()
        except click.exceptions.Exit as leave:
            code = leave.exit_code
        except SystemExit as leave:
            if not exits.place_in_ones_own_file(leave):
                raise
            code = self._failed(leave, given)  # the user's file would choose the status, 0 too
        except BaseException as error:
            code = self._failed(error, given)
        sys.exit(code)

    def _failed(self, error: BaseException, given: Sequence[str]) -> int:
        """Print the error in one line, and with ``--debug`` its traceback too."""
        if isinstance(error, click.exceptions.NoArgsIsHelpError):
            screen.say(error.format_message(), to=screen.errors)
            return exits.USAGE
        if isinstance(error, OSError) and error.errno == errno.EPIPE:
            _drop_output()  # the reader of the pipe has ended, so nothing more can be printed
            return exits.EXPECTED
        code, message = exits.explain(error)
        if "--debug" in given and not isinstance(error, click.ClickException):
            traceback.print_exception(error, file=sys.stderr)
        word = "" if code == exits.INTERRUPTED or message.startswith("internal") else "error: "
        inputs = getattr(error, "inputs", ())
        # A run that was stopped names the command that continues it, which stays whole.
        stopped = isinstance(error, exits.Stopped)
        line = printable(message) if stopped else one_line(message, [*given, *inputs])
        with contextlib.suppress(OSError):  # on a full disk the exit code is the last to tell
            screen.say(word + line, to=screen.errors)
        return code


def _flush() -> None:
    """Write the buffered output now, while a failure can still be reported."""
    if sys.stdout is not None and not sys.stdout.closed:
        sys.stdout.flush()


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_version(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if not wanted:
        return
    from importlib import metadata

    try:
        version = metadata.version("cfl-verify")
    except metadata.PackageNotFoundError:
        version = "(not installed)"
    screen.say(f"cfl-verify {version}, Python {sys.version.split()[0]}")
    context.exit()


@click.group(
    cls=Application,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version and exit.",
)
@click.option("--debug", is_flag=True, help="Print the traceback of a failure, too.")
def application(**_options: bool) -> None:
    """Verify theorems of clustered federated learning empirically.

    \b
    Examples:
      cfl-verify list
      cfl-verify info ifca.thm1
      cfl-verify run --profile quick
      cfl-verify run 'ifca.thm1[m=400,d=100]' --seed 7
      cfl-verify resume latest
      cfl-verify report latest

    A RUN is a run directory, the name of one below ./runs, or `latest`: the run below ./runs that
    was written last.  `python -m verify` is the same program.
    """


for command in COMMANDS:
    application.add_command(command)
