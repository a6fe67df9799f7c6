"""Names that a store accepts: they become part of trial ids and of file names."""

from __future__ import annotations

import re

from trials.run.store.limits import MAX_NAME
from trials.text import printable

_NAME = re.compile(rf"\w[\w.+-]{{0,{MAX_NAME - 1}}}")


def is_name(text: object) -> bool:
    """Whether this can name an experiment: it becomes part of trial ids and of file names."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


def is_label(text: object) -> bool:
    """Whether this can name a column, a kind, a key or a digest: short text of one line."""
    return isinstance(text, str) and len(text) <= MAX_NAME and printable(text) == text
