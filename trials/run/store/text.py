"""Text that may come from a stranger, made safe to print."""

from __future__ import annotations

import re
import unicodedata

from trials.run.store.limits import MAX_NAME

_NAME = re.compile(rf"\w[\w.+-]{{0,{MAX_NAME - 1}}}")


def _shown(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) == "Zs"


def printable(text: str, keep: str = "") -> str:
    """The text with every character spelled out that a terminal would obey rather than show.

    These are control characters, escape sequences' first character, line breaks, marks that turn
    the direction of writing, and halves of surrogate pairs.

    Parameters
    ----------
    keep : control characters that stay as they are.

    Examples
    --------
    >>> printable("red: \\x1b[31m")
    'red: \\\\x1b[31m'
    """
    if text.isprintable():
        return text
    return "".join(
        c if c in keep or _shown(c) else c.encode("unicode_escape").decode("ascii") for c in text
    )


def is_name(text: object) -> bool:
    """Whether this can name an experiment: it becomes part of trial ids and of file names."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


def is_label(text: object) -> bool:
    """Whether this can name a column, a kind, a key or a digest: short text of one line."""
    return isinstance(text, str) and len(text) <= MAX_NAME and printable(text) == text
