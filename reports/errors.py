"""The error of a report that cannot be built."""


class ReportError(Exception):
    """A report that cannot be built; the message is one line for the user."""
