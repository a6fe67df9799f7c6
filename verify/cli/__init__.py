"""The command line: ``cfl-verify`` and ``python -m verify``."""

import sys

from verify.arithmetic import UnknownArithmetic, settle
from verify.cli.signals import quick_exit


def main() -> None:
    """Run the command line of this process and exit with its status."""
    quick_exit()  # before the first slow import: an interrupt then ends the process at once
    try:
        settle()  # before NumPy and Numba are loaded: they read their variables once
    except UnknownArithmetic as error:
        sys.exit(_refused(str(error)))
    from trials.collecting import collect_rarely

    collect_rarely()
    from verify.cli.app import application

    application.main()


def _refused(message: str) -> int:
    from verify.cli.exits import USAGE

    print(f"error: {message}", file=sys.stderr)
    return USAGE
