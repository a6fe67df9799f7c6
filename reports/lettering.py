"""Text in figures: Computer Modern as in the report's text, formulas by matplotlib's mathtext."""

from __future__ import annotations

import functools
import logging
import re
import unicodedata
from typing import Any

from matplotlib.font_manager import findfont, get_font
from matplotlib.mathtext import MathTextParser

from reports.mathematics import math_source
from reports.text import visible_length

#: The rest of the style is in `reports.figures`.  The second font has what the first one lacks.
FONTS: dict[str, Any] = {
    "font.family": ["cmr10", "STIXGeneral"],
    "mathtext.fontset": "cm",
    "axes.formatter.use_mathtext": True,
    "axes.unicode_minus": False,
    "pdf.fonttype": 42,  # embed TrueType fonts, so that a reader can search and copy the text
}

# cmr10 keeps TeX's order of glyphs: these characters would be drawn as others.
_GLYPHS = {
    "$": r"\$",
    "<": "$<$", ">": "$>$", "|": "$|$", "{": r"$\{$", "}": r"$\}$", "\\": r"$\backslash$",
    "_": r"$\_$", "^": r"$\wedge$", "~": r"$\sim$", "\u00a0": " ", "°": r"$^{\circ}$",
    "±": r"$\pm$", "²": "$^2$", "³": "$^3$", "¹": "$^1$", "µ": r"$\mu$", "§": r"$\S$",
    "½": r"$\frac{1}{2}$", "\u2212": "$-$",
}  # fmt: skip
_OTHERS = "".join(chr(c) for c in range(0xA1, 0xC5) if chr(c) not in _GLYPHS)


@functools.cache
def remember_formulas() -> None:
    """Let matplotlib read each formula of a report once.

    By itself it keeps 50 formulas and forgets them with every figure.  Then a third of the time of
    a report's figures goes into reading the same powers of ten again.  A matplotlib that is made
    otherwise is left alone.
    """
    parse = getattr(getattr(MathTextParser, "_parse_cached", None), "__wrapped__", None)
    if parse is None or not hasattr(MathTextParser("path"), "_output_type"):
        return

    @functools.lru_cache(5_000)
    def cached(output: str, *asked: Any) -> Any:
        return parse(parsers[output], *asked)

    @functools.wraps(parse)
    def shared(self: Any, *asked: Any) -> Any:
        parsers.setdefault(self._output_type, self)
        return cached(self._output_type, *asked)

    parsers: dict[str, Any] = {}
    setattr(MathTextParser, "_parse_cached", shared)  # noqa: B010


def _expand(source: str) -> str:
    r"""A formula in the subset of LaTeX that matplotlib's mathtext knows."""
    source = math_source(source)
    braces = r"\{((?:[^{}]|\{[^{}]*\})*)\}"
    for macro, fence in (("norm", r"\|"), ("abs", "|")):
        parts = re.split(rf"\\{macro}{braces}", source)  # arguments at the odd positions
        source = "".join(f"{fence}{p}{fence}" if i % 2 else p for i, p in enumerate(parts))
    replacements = {
        r"\\(?:left)?\s*\\?\\lVert|\\[lr]Vert(?![A-Za-z])": r"\\|",
        r"\\[lr]vert(?![A-Za-z])": "|",
        r"\\(?:tfrac|dfrac)(?![A-Za-z])": r"\\frac",
        r"\\text\{": r"\\mathrm{",
        r"\\poly(?![A-Za-z])": r"\\mathrm{poly}",
        r"\\polylog(?![A-Za-z])": r"\\mathrm{polylog}",
    }
    for pattern_, replacement in replacements.items():
        source = re.sub(pattern_, replacement, source)
    return source


def plain(text: str) -> str:
    """Text without formulas in glyphs that the fonts have.  Others are named by their numbers.

    >>> plain("a < b, 5 %"), plain("漢")
    ('a $<$ b, 5 %', '[U+6F22]')
    """
    return "".join(map(_glyph, text))


def _glyph(character: str) -> str:
    if character in _GLYPHS:
        return _GLYPHS[character]
    if character in _OTHERS:
        return _base(character)
    if not character.isprintable():
        return " "
    return character if ord(character) in _drawn() else f"[U+{ord(character):04X}]"


@functools.cache
def _drawn() -> frozenset[int]:
    """The characters that the fonts of the figures have."""
    names = FONTS["font.family"]
    return frozenset().union(*(get_font(findfont(name)).get_charmap() for name in names))


def _base(character: str) -> str:
    """A letter without its accent, or a question mark."""
    letter = unicodedata.normalize("NFKD", character)[0]
    return letter if letter.isascii() else "?"


@functools.lru_cache(2_000)
def label(text: str) -> str:
    """Text for a figure: math kept where matplotlib can set it, otherwise its bare characters."""
    logging.getLogger("matplotlib.mathtext").setLevel(logging.ERROR)
    parser = MathTextParser("path")
    out: list[str] = []
    for i, piece in enumerate(re.split(r"\$([^$]+)\$", text)):
        if i % 2 == 0:
            out.append(plain(piece))
            continue
        formula = f"${_expand(piece)}$"
        try:
            parser.parse(formula)
        except (ValueError, RecursionError):  # a stranger's formula may be nested without end
            formula = plain(re.sub(r"[\\{}]", "", piece))
        out.append(formula)
    if any("$" in piece for piece in out):  # beside formulas the first font is the only one
        out[::2] = (re.sub(r"[^\x00-\x7f]+", r"$\\mathrm{\g<0>}$", piece) for piece in out[::2])
    return "".join(out)


def wrap(text: str, width: int) -> str:
    """Break a long text at blanks outside math."""
    lines: list[str] = []
    line = ""
    for word in re.findall(r"(?:\$[^$]*\$|\S)+", text):
        if line and visible_length(line) + visible_length(word) >= width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return "\n".join([*lines, line])
