r"""Stored text as LaTeX that both PDF engines understand.

Stored text is plain except for inline math between dollar signs.  `escape_text` keeps the math that
`reports.mathematics` allows and escapes everything else.  Results are of type `Latex`, which the
templates insert as they are.  Any other value is escaped first.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

from reports.characters import LIGATURES, SPECIAL, Latex, character_source, plain_text
from reports.mathematics import display_source, math_source, refused, require_allowed

TEXT_WIDTH_INCHES = 6.3  # 160 mm, the text width of the page in the template
_INLINE_MATH = re.compile(r"\$([^$]+)\$")


def is_inline_math(source: str) -> bool:
    """Whether a piece between dollars may be typeset as math: not empty, and not refused."""
    return bool(source.strip()) and not refused(source)


def escape_text(text: str, plain: Callable[[str], str] = plain_text) -> Latex:
    r"""Plain text with inline ``$...$`` math as LaTeX: the math is kept, everything else escaped.

    Blanks and line ends collapse to one blank.  A piece between dollars that formulas may not hold
    (`reports.mathematics.refused`) is escaped as text, and so is a dollar without a partner.
    ``plain`` sets the pieces between the math.
    """
    text = " ".join(text.split())
    out: list[str] = []
    start = 0
    position = 0
    while match := _INLINE_MATH.search(text, position):
        if not is_inline_math(match[1]):
            position = match.start() + 1
            continue
        out += [plain(text[start : match.start()]), f"${math_source(match[1])}$"]
        start = position = match.end()
    out.append(plain(text[start:]))
    return Latex("".join(out))


def code(text: str) -> Latex:
    r"""Verbatim text as ``\texttt``, broken at blanks.  A command copied from the PDF runs."""
    text = " ".join(text.split())
    body = "".join(
        r"\textquotesingle{}"
        if c == "'"
        else c + "{}" * (following == c)
        if c in LIGATURES
        else SPECIAL.get(c) or (c if c.isascii() else character_source(c))
        for c, following in pairwise(text + " ")
    )
    return Latex(rf"\texttt{{{body}}}")


def latex_field(source: str) -> Latex:
    r"""A stored LaTeX fragment: text with inline math, or a bare formula put between dollars.

    Fragments without any dollar that hold a command, a sub- or a superscript or a relation are
    formulas (``\mathbb{P}(A) \le \delta``).  Anything else is text.

    Raises
    ------
    ReportError
        When a bare formula uses a command that formulas may not use.
    """
    source = " ".join(source.replace(r"\(", "$").replace(r"\)", "$").split())
    if "$" in source:
        return escape_text(source)
    words = re.sub(r"\\(?:text|mathrm|operatorname)\{[^}]*\}|\\[A-Za-z]+", "", source)
    if re.search(r"[\\^_=<>≤≥]", source) and not re.search(r"[a-z]{4,} ", words + " "):
        require_allowed(source)
        return Latex(f"${math_source(source)}$")
    return escape_text(source)


def formula(source: str, *, display: bool = False) -> Latex:
    """A stored formula as inline math (``display``: its fractions at full size).

    A fragment that holds dollars already is text with math.
    """
    if "$" in source:
        return latex_field(source)
    inner = display_source(source)
    style = r"\displaystyle " if display else ""
    return Latex(f"${style}{inner}$") if inner else inner


def visible_length(source: str) -> float:
    """A rough count of the characters that a LaTeX fragment prints, for column widths."""
    longest = 0.0
    for line in source.split(r"\newline"):
        text = re.sub(r"\\textcolor\{[^}]*\}|\\hyperref\[[^\]]*\]|\\pageref\{[^}]*\}", "", line)
        text = re.sub(r"\\(?:texttt|textbf|emph|mathrm|left|right|text|operatorname)\b", "", text)
        text = re.sub(r"\\(?:times|pm|cdot|le|ge)\b", "++", text)
        text = re.sub(r"\^\{(-?)(\d*)\}", r"\2", text)  # superscripts are narrow
        text = re.sub(r"\\[,;:]|(?<=[-+.,=\]\d]) (?=[+\d])", "", text)
        text = re.sub(r"\\[A-Za-z]+|\\.", "x", text)
        mono = 1.15 if r"\texttt" in line else 1.0
        text = re.sub(r"[{}$^_]", "", text)
        capitals = sum(c.isupper() for c in text)  # a third wider than the average
        longest = max(longest, mono * (len(text) + 0.3 * capitals))
    return longest
