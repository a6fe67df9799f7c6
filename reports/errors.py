"""The error of a report that cannot be built."""


class ReportError(Exception):
    """A report cannot be built.  The message is one line for the user."""
