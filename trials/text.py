"""Text that is safe to print: control characters made visible, long inputs shortened.

A user's input and a run's content may come from a stranger.  A terminal would obey the escape
sequences in it, and a page of nines does not help to find a mistake.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

LONGEST_INPUT = 80
LONGEST_WORD = 400
LONGEST_LINE = 4000


def _show(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) == "Zs"


def spreadsheet_text(value: Any) -> Any:
    """A cell of a table that a spreadsheet shows and does not run: such a text gets a quote.

    Examples
    --------
    >>> [spreadsheet_text(cell) for cell in ("=1+2", "-1e-3", "a=b", 2)]
    ["'=1+2", '-1e-3', 'a=b', 2]
    """
    if not isinstance(value, str) or value[:1] not in set("=+-@\t\r\n"):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


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
        c if c in keep or _show(c) else c.encode("unicode_escape").decode("ascii") for c in text
    )


def shorten(text: str, longest: int = LONGEST_INPUT) -> str:
    """The beginning and the end of a text that is longer than ``longest`` characters.

    >>> shorten("9" * 400, 20)
    '9999999999...999999999 (400 characters)'
    """
    if len(text) <= longest:
        return text
    head = longest // 2
    return f"{text[:head]}...{text[len(text) - (longest - head - 1) :]} ({len(text):,} characters)"


def one_line(message: str, inputs: Iterable[str] = ()) -> str:
    """An error message as one printable line.

    Parameters
    ----------
    message : the text as it was raised.  It may repeat the user's input.
    inputs : the user's inputs.  Each is shortened where the message repeats it whole.
    """
    for given in sorted({piece for text in inputs for piece in _pieces(text)}, key=len)[::-1]:
        for spelled in (given, repr(given)[1:-1]):
            message = message.replace(spelled, shorten(spelled))
    line = printable(" ".join(message.split(" ")))
    line = re.sub(rf"\S{{{LONGEST_WORD},}}", lambda word: shorten(word[0], LONGEST_WORD), line)
    return shorten(line, LONGEST_LINE)


def _pieces(text: str) -> Iterable[str]:
    """A long input and the long parts into which a selection or an assignment is taken apart."""
    return (part for part in (text, *re.split(r"[\[\],=]", text)) if len(part) > LONGEST_INPUT)
