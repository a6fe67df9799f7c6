r"""Long formulas on several lines.

A formula is broken before relations, plus and minus signs that stand outside all brackets.  A part
that has no such place stays whole: the page's macro ``\cflformula`` makes it smaller.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from reports.characters import Latex

#: Widths are in digits of the formula's type.  A line of a statement's box holds this many.
LINE = 86.0
_INDENT = 4.0  # of the second line and those after it
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\s+|.", re.DOTALL)
_RELATIONS = frozenset(("=", "<", ">")) | {
    rf"\{name}"
    for name in (
        "le", "leq", "ge", "geq", "lesssim", "gtrsim", "ll", "gg", "approx", "sim", "subset",
        "subseteq", "Rightarrow", "Leftrightarrow", "implies",
    )
}  # fmt: skip
_SIGNS = frozenset(("+", "-", r"\pm"))
_OPENING, _CLOSING = frozenset("{(["), frozenset("})]")
_FRACTIONS = frozenset((r"\frac", r"\dfrac", r"\tfrac", r"\binom"))
_WORDS = frozenset(
    rf"\{name}"
    for name in ("log", "ln", "exp", "min", "max", "sup", "inf", "sin", "cos", "lim", "Pr", "det")
)
_TEXTS = frozenset((r"\text", r"\mathrm", r"\operatorname", r"\textit", r"\mathit"))
_BLANKS = {r"\quad": 2.0, r"\qquad": 4.0, r"\,": 0.35, r"\ ": 0.6, r"\left": 0.4, r"\right": 0.4}
_SCRIPT = 0.72


def width(source: str) -> float:
    r"""A rough width of a display in digits.  A fraction is as wide as its wider part.

    >>> width(r"\frac{1000}{2}") == width("1000") + 0.5
    True
    """
    return _width([t for t in _TOKEN.findall(source) if not t.isspace()])


def _argument(tokens: Sequence[str], i: int) -> tuple[Sequence[str], int]:
    """The tokens of the argument at ``i``, and the place behind it."""
    if i >= len(tokens):
        return (), i
    if tokens[i] != "{":
        return tokens[i : i + 1], i + 1
    depth, end = 1, i + 1
    while depth and end < len(tokens):
        depth += (tokens[end] == "{") - (tokens[end] == "}")
        end += 1
    return tokens[i + 1 : end - 1], end


def _width(tokens: Sequence[str]) -> float:
    total, scripts, i = 0.0, 0.0, 0
    while i < len(tokens):
        token = tokens[i]
        i += 1
        if token in "^_":
            # One script below the other is as wide as the wider one.
            inside, i = _argument(tokens, i)
            wide = _SCRIPT * _width(inside)
            total += max(wide - scripts, 0.0)
            scripts = max(wide, scripts)
            continue
        scripts = 0.0
        if token in _FRACTIONS:
            above, i = _argument(tokens, i)
            below, i = _argument(tokens, i)
            total += max(_width(above), _width(below)) + 0.5
        elif token in _TEXTS:
            inside, i = _argument(tokens, i)
            total += sum(len(piece) for piece in inside)
        elif token in _RELATIONS or token in _SIGNS:
            total += 2.6
        elif token in _WORDS:
            total += len(token) - 0.6
        elif token in _BLANKS:
            total += _BLANKS[token]
        elif token not in "{}":
            total += 1.8 if token == r"\sqrt" else 1.1 if token[-1].isalpha() else 0.9
    return total


def _pieces(source: str) -> list[str]:
    """The parts of a formula, each of which but the first begins with a relation or a sign."""
    pieces, depth, before = [""], 0, ""
    for token in _TOKEN.findall(source):
        breaks = token in _RELATIONS or (token in _SIGNS and _is_binary(before))
        if breaks and depth == 0 and pieces[-1].strip():
            pieces.append("")
        if before == r"\left" or before == r"\right":
            depth += 1 if before == r"\left" else -1  # with any fence, also a bracket or a dot
        else:
            depth += (token in _OPENING) - (token in _CLOSING)
        pieces[-1] += token
        before = token if not token.isspace() else before
    return pieces


def _is_binary(before: str) -> bool:
    """Whether a sign after this token stands between two terms."""
    return before not in _RELATIONS | _OPENING | {"", ",", r"\left", r"\exp", "^", "_"}


def broken(source: str, line: float = LINE) -> Latex:
    """A formula on as many lines as it needs, each within ``line`` digits where it has a place.

    A formula that is laid out by hand is left as it is.

    >>> print(broken("a = b + c", line=8))
    \\begin{aligned}&a = b \\\\&\\qquad{}+ c\\end{aligned}
    """
    if width(source) <= line or re.search(r"\\begin(?![A-Za-z])|\\\\|&", source):
        return Latex(source)
    lines, used = [""], 0.0
    for piece in _pieces(source):
        wide = width(piece)
        if lines[-1].strip() and used + wide > line:
            lines.append(r"\qquad{}")
            used = _INDENT
        lines[-1] += piece
        used += wide
    if len(lines) == 1:
        return Latex(source)
    return Latex(r"\begin{aligned}&" + r"\\&".join(lines) + r"\end{aligned}")
