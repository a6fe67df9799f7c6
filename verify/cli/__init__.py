"""The command line: ``cfl-verify`` and ``python -m verify``."""

from verify.cli.signals import quick_exit


def main() -> None:
    """Run the command line of this process and exit with its status."""
    quick_exit()  # before the first slow import: an interrupt then ends the process at once
    from verify.cli.app import application

    application.main()
