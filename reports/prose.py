"""Sentences that a program wrote: their numbers, symbols and assignments become math."""

from __future__ import annotations

import math
import re

from reports.characters import GREEK, Latex, plain_text
from reports.latex import escape_text
from reports.values import numeral, parameter, value

_NUMERAL = r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
_TOKEN = re.compile(
    r"(?<![\w.$\\/:&)-])(?:"
    rf"(?P<name>[A-Za-z]\w*)=(?P<value>{_NUMERAL})(?![\w-])"
    rf"|(?P<ranged>[A-Za-z]\w*) from (?P<low>{_NUMERAL}) to (?P<high>{_NUMERAL})(?![\w.]*\d)"
    r"|(?P<chosen>[A-Za-z])(?= in \{)"
    r"|(?P<relation>[<>]=)"
    rf"|(?P<symbol>(?:{'|'.join(GREEK)})(?:_\w{{1,5}})?|[A-Za-z]_\w{{1,3}})(?![\w-])"
    r"|(?P<number>-?\d+(?:\.\d+)?e[-+]?\d+|-?\d+\.\d{5,}|\d{5,}|-\d+(?:\.\d+)?)(?![\w.:-]*\w)"
    r")"
)


def _token(match: re.Match[str]) -> str:
    """A number, a symbol or an assignment found in words, as math."""

    def shown(text: str) -> str:
        if re.fullmatch(r"-?\d+", text):
            return value(int(text)).strip("$")
        number = float(text)
        out_of_range = "e" in text and number in (0.0, math.inf, -math.inf)
        return (numeral(text) if out_of_range else value(number)).strip("$")

    if match["relation"]:
        return r"$\ge$" if match["relation"] == ">=" else r"$\le$"
    if match["name"]:
        return _related(parameter(match["name"]), "=", shown(match["value"]))
    if match["ranged"]:
        ends = f"${shown(match['low'])}$ to ${shown(match['high'])}$"
        return f"{parameter(match['ranged'])} from {ends}"
    if match["symbol"] or match["chosen"]:
        return parameter(match["symbol"] or match["chosen"])
    return f"${shown(match['number'])}$"


def _related(name: str, relation: str, right: str) -> str:
    """A relation whose left side may be a word."""
    if name.startswith("$"):
        return f"${name[1:-1]}{relation}{right}$"
    return f"{name} ${relation}{right}$"


def _annotated(text: str) -> str:
    """Plain text in which numbers, symbols and assignments are set as math."""
    out, start = [], 0
    for match in _TOKEN.finditer(text):
        out += [plain_text(text[start : match.start()]), _token(match)]
        start = match.end()
    return "".join([*out, plain_text(text[start:])])


def prose(text: str) -> Latex:
    r"""Text that a program wrote: ``alpha=0.25``, ``rho``, ``c_2``, ``1e-07`` become math.

    Long decimals are rounded and long integers grouped.  The rest is as in `escape_text`.
    """
    return escape_text(text, _annotated)


def paragraphs(text: str) -> Latex:
    """Prose in which blank lines separate paragraphs."""
    pieces = [prose(piece) for piece in re.split(r"\n\s*\n", text) if piece.strip()]
    return Latex("\n\n".join(pieces))
