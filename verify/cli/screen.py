"""The terminal: widths, colours, safe text, and lines that never break inside a word."""

from __future__ import annotations

import io
import json
import math
import os
import re
import sys
import textwrap
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape

from trials.text import printable

#: A pipe has no width of its own, so tables are written wide for it.
PIPE_WIDTH = 150
PIPE_HEIGHT = 50

_COLOURS = {
    "SUPPORTED TO": "cyan",
    "SUPPORTED": "green",
    "REFUTED": "red",
    "INCONCLUSIVE": "yellow",
    "VACUOUS": "magenta",
}


class _Console(Console):
    """A console whose reader may end early (``| head -1``).  The work then continues."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        stream = sys.stderr if self.stderr else sys.stdout
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _is_terminal(stream: Any) -> bool:
    return stream is not None and stream.isatty()


def make_console(*, stderr: bool = False) -> Console:
    """A console for one of the standard streams."""
    stream = sys.stderr if stderr else sys.stdout
    # Without a height, Rich takes 80 columns where TERM is "dumb" and colours are forced.
    wide, high = (None, None) if _is_terminal(stream) else (PIPE_WIDTH, PIPE_HEIGHT)
    return _Console(highlight=False, emoji=False, stderr=stderr, width=wide, height=high)


console = make_console()
errors = make_console(stderr=True)


def prepare_streams() -> None:
    """A terminal that knows no ``±`` still gets its line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


_ASCII_LETTERS = """
    alpha beta gamma delta epsilon zeta eta theta kappa lambda mu nu xi pi rho sigma tau phi chi psi
    omega
"""
#: The papers' signs for terminals that do not have them.
_ASCII = {
    **dict(zip("αβγδεζηθκλμνξπρστφχψω", _ASCII_LETTERS.split(), strict=True)),
    "Δ": "Delta", "Γ": "Gamma", "Θ": "Theta", "Λ": "Lambda", "Σ": "Sigma", "Φ": "Phi",
    "Ω": "Omega", "Ψ": "Psi", "Π": "Pi", "‖": "||", "≤": "<=", "≥": ">=", "≳": ">~", "≲": "<~",
    "√": "sqrt", "∀": "for all ", "∃": "there are ", "∈": " in ", "∞": "inf", "±": "+-",
    "×": "x", "·": "*", "…": "...", "≠": "!=", "∝": "~", "∩": "&", "∪": "|", "→": "->",
    "⊤": "T", "¬": "not ", "∇": "grad ", "ℰ": "E", "ℓ": "l", "≈": "~", "–": "-", "—": "-",
    "−": "-", "∑": "sum ", "∏": "prod ", "⌈": "ceil(", "⌉": ")", "⌊": "floor(", "⌋": ")",
}  # fmt: skip


def _encodable(text: str, encoding: str) -> str:
    """The text in characters of the terminal's encoding, with the papers' signs in words."""
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return "".join(_ASCII.get(char, char) for char in text)
    return text


def say(text: str = "", *, markup: bool = False, to: Console | None = None) -> None:
    """Print one line as it is.  Only with ``markup`` do square brackets mean colours."""
    target = to or console
    text = _encodable(printable(text, keep="\n"), target.encoding)
    if markup:
        target.print(text, soft_wrap=True)
    else:
        target.out(text, highlight=False)


def print_json(value: Any) -> None:
    """Print a document as JSON."""
    console.out(as_json(value), highlight=False)


def as_json(value: Any) -> str:
    """A document as JSON.  NaN and infinity, which JSON lacks, become null.

    Examples
    --------
    >>> as_json(float("inf")), as_json(1e-300)
    ('null', '1e-300')
    """
    return json.dumps(_finite(value), indent=2, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def paint(verdict: str) -> str:
    """A verdict in its colour.  A mark of several words takes the longest known prefix."""
    for word, colour in _COLOURS.items():
        if verdict.startswith(word):
            return f"[{colour}]{escape(verdict)}[/]"
    return escape(verdict)


def columns_of(target: Console) -> int | None:
    """The columns of a terminal, or the value of COLUMNS.  None for a pipe."""
    wanted = os.environ.get("COLUMNS", "")
    if wanted.isdecimal() and int(wanted) > 0:
        return min(int(wanted), 10_000)
    return target.width if target.is_terminal else None


def pack(fields: Sequence[str], columns: int | None) -> list[str]:
    """Fields side by side, as many on a line as fit.  A field is broken only when it must be.

    ``columns`` is None where lines have no end (a pipe).
    """
    gap, indent = "  ", "    "
    if columns is None:
        return [gap.join(fields)]
    lines: list[str] = []
    line = ""
    for field in fields:
        joined = f"{line}{gap}{field}" if line else field
        if len(joined.rstrip()) <= columns:
            line = joined
            continue
        if line:
            lines.append(line.rstrip())
        *whole, line = broken(field.strip(), columns - len(indent))
        lines += [(indent if lines else "") + part for part in whole]
        line = (indent if lines else "") + line
    return [*lines, line.rstrip()]


def broken(text: str, columns: int) -> list[str]:
    """A text in lines of at most ``columns``: broken at blanks, else after punctuation."""
    columns = max(columns, 8)
    if len(text) <= columns:
        return [text]
    lines: list[str] = []
    for line in textwrap.wrap(text, columns, break_long_words=False, break_on_hyphens=False):
        if len(line) <= columns:
            lines.append(line)
            continue
        current = ""
        for piece in re.findall(r"[^,\-./\[_]*[,\-./\[_]|[^,\-./\[_]+", line):
            if len(current) + len(piece) <= columns:
                current += piece
                continue
            if current:
                lines.append(current)
            while len(piece) > columns:  # one word longer than the terminal is wide
                lines.append(piece[:columns])
                piece = piece[columns:]
            current = piece
        lines.append(current)
    return lines


def paragraph(text: str, *, to: Console | None = None) -> None:
    """Print a sentence, wrapped at the terminal's width with a hanging indent."""
    target = to or console
    columns = columns_of(target)
    if columns is None or len(text) <= columns:
        say(text, to=target)
        return
    first, *rest = broken(text, columns - 2)
    for line in (first, *("  " + part for part in rest)):
        say(line, to=target)


def definition(name: str, text: str, *, label: int = 18) -> Iterator[str]:
    """``name  text`` with the text wrapped in a column of its own."""
    columns = columns_of(console) or PIPE_WIDTH
    if columns < 60:
        yield name
        yield from ("  " + line for line in broken(text, columns - 2))
        return
    first, *rest = broken(text, columns - label - 2)
    yield f"{name:>{label}}  {first}"
    yield from (" " * (label + 2) + line for line in rest)


def left_out(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The last columns of a table, for which the screen has no room."""
    columns = columns_of(console) or PIPE_WIDTH
    sizes = [max(len(row[i]) for row in (headings, *rows)) for i in range(len(headings))]
    n_kept = len(sizes)
    while n_kept > 1:
        rest = columns - sum(size + 2 for size in sizes[: n_kept - 1])
        if rest >= min(16, sizes[n_kept - 1]):
            break
        n_kept -= 1
    return list(headings[n_kept:])


def table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, right: Collection[int] = ()
) -> Iterator[str]:
    """Aligned columns.  The last one is wrapped, or left out where fewer than 16 columns remain."""
    n_kept = len(headings) - len(left_out(headings, rows))
    all_rows = [tuple(row[:n_kept]) for row in (headings, *rows)]
    fixed = [max(len(row[i]) for row in all_rows) for i in range(n_kept - 1)]
    rest = (columns_of(console) or PIPE_WIDTH) - sum(fixed) - 2 * len(fixed)
    for row in all_rows:
        cells = [
            f"{text:>{size}}" if i in right else f"{text:<{size}}"
            for i, (text, size) in enumerate(zip(row, fixed, strict=False))
        ]
        first, *more = broken(row[-1], rest) if row[-1] else [""]
        yield "  ".join([*cells, first]).rstrip()
        hang = sum(fixed) + 2 * len(fixed)
        yield from (" " * hang + line for line in more)
