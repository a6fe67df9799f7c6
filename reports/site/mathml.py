r"""Formulas as MathML, which browsers draw and screen readers speak without a script.

A stored formula may come from a stranger.  It has passed `reports.mathematics.why_refused`.  The
library builds a tree, and this module escapes all text when it writes the tree.  (The library's own
writer does not: ``\text{<script>}`` would come out as an element.)  A tree may hold the elements
and the attributes of presentation MathML only.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache
from xml.etree.ElementTree import Element, tostring

from latex2mathml.converter import Converter
from markupsafe import Markup, escape

from reports.errors import ReportError

_ELEMENTS = frozenset({
    "math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "ms", "msub", "msup", "msubsup", "munder",
    "mover", "munderover", "mfrac", "msqrt", "mroot", "mstyle", "mtable", "mtr", "mtd", "mpadded",
    "mphantom", "menclose",
})  # fmt: skip
_ATTRIBUTES = frozenset({
    "display", "displaystyle", "scriptlevel", "stretchy", "fence", "form", "separator", "accent",
    "accentunder", "movablelimits", "largeop", "lspace", "rspace", "minsize", "maxsize",
    "linethickness", "columnalign", "columnspacing", "rowspacing", "mathvariant", "width", "height",
    "depth", "symmetric",
})  # fmt: skip
_DEEPEST = 60
_MANY = 4  # entries from which a list may break
_THIN = "0.167em"
_FENCES = {"norm": (r"\left\lVert ", r"\right\rVert "), "abs": (r"\left\lvert ", r"\right\rvert ")}
_NAMES = {
    "polylog": r"\operatorname{polylog}",
    "poly": r"\operatorname{poly}",
    "arg": r"\operatorname{arg}",  # the library knows argmin and argmax only
    "nolimits": "",
}
#: The library's names of environments that it draws alike.
_ENVIRONMENTS = {"{aligned}": "{split}", "{gathered}": "{matrix}"}
_POWER = re.compile(r"\^\{(-?\d+)\}")
_PLAIN = re.compile(r"[-\d.,\[\]() ×±^{}\u202f∞]*")


@lru_cache(maxsize=50_000)
def mathml(source: str, *, display: bool = False) -> Markup:
    r"""A formula as MathML.  Numbers, estimates and intervals become plain text.

    Raises
    ------
    ReportError
        When the formula cannot be converted.

    >>> mathml(r"1.2 \times 10^{-5}")
    Markup('1.2 × 10<sup>−5</sup>')
    >>> print(mathml(r"\rho"))
    <math display="inline"><mrow><mi>ρ</mi></mrow></math>
    """
    if not display and (plain := _plain(source)) is not None:
        return plain
    if not display and len(pieces := _at_commas(source)) > _MANY:
        return Markup(", ").join(mathml(piece) for piece in pieces)
    shown = " ".join(source.split())[:80]
    try:
        tree = Converter(display="block" if display else "inline").convert_to_element(
            _expand(source)
        )
        _check(tree)
    except (RecursionError, ReportError):
        raise ReportError(f"the formula {shown!r} is nested too deeply for a web page") from None
    except Exception as error:  # the library has no common error
        kind = type(error).__name__
        raise ReportError(f"the formula {shown!r} cannot be put on a web page: {kind}") from None
    return Markup(tostring(tree, encoding="unicode"))


def _at_commas(source: str) -> list[str]:
    r"""A list such as ``\forall m,n,d`` in pieces, so that a line may break behind a comma.

    >>> _at_commas(r"\forall m,n,f(a,b)")
    ['\\forall m', 'n', 'f(a,b)']
    """
    pieces, depth = [""], 0
    for token in re.findall(r"\\[A-Za-z]+|\\.|.", source, flags=re.DOTALL):
        depth += token in ("{", "(", "[", r"\{", r"\begin")
        depth -= token in ("}", ")", "]", r"\}", r"\end")
        if token == "," and not depth:
            pieces.append("")
        else:
            pieces[-1] += token
    found = [piece.strip() for piece in pieces]
    return found if depth == 0 and all(found) and r"\left" not in source else [source]


def _plain(source: str) -> Markup | None:
    """A formula that holds nothing but numbers, as text."""
    text = source.replace(r"\times", "×").replace(r"\pm", "±").replace(r"\infty", "∞")
    text = text.replace(r"\,", "\u202f").replace("\\ ", " ").strip()
    if not _PLAIN.fullmatch(text) or not re.search(r"[\d∞]", text):
        return None
    if re.search(r"[{}^]", _POWER.sub("", text)):
        return None
    return Markup(_POWER.sub(r"<sup>\1</sup>", str(escape(text))).replace("-", "−"))


def _expand(source: str) -> str:
    """The formula without the macros of `reports.characters.MACROS`."""
    for name, (left, right) in _FENCES.items():
        source = _with_argument(source, name, left, right)
    source = _with_argument(source, "when", r"\quad\text{if } ", "")
    for name, word in _NAMES.items():
        source = re.sub(rf"\\{name}(?![A-Za-z])", word.replace("\\", r"\\"), source)
    for name, known in _ENVIRONMENTS.items():
        source = source.replace(name, known)
    return source.replace("{[}", "[").replace("{]}", "]")


def _with_argument(source: str, name: str, left: str, right: str) -> str:
    """The formula with ``left`` and ``right`` in the place of a macro around its argument."""
    while match := re.search(rf"\\{name}(?![A-Za-z])\s*", source):
        start = match.end()
        if source[start : start + 1] != "{":
            inner, end = source[start : start + 1], start + 1
        else:
            depth, end = 1, start + 1
            while depth and end < len(source):
                depth += (source[end] == "{") - (source[end] == "}")
                end += 1
            inner = source[start + 1 : end - 1]
        source = f"{source[: match.start()]}{left}{inner}{right}{source[end:]}"
    return source


def _check(element: Element, depth: int = 0) -> None:
    """Resolve the library's character references, and refuse elements outside MathML."""
    if depth > _DEEPEST:
        raise ReportError("too deep")
    element.text = html.unescape(element.text) if element.text else element.text
    element.attrib.pop("xmlns", None)
    if element.tag not in _ELEMENTS or not set(element.attrib) <= _ATTRIBUTES or element.tail:
        raise ValueError(f"<{element.tag} {' '.join(element.attrib)}>")
    for child in element:
        _check(child, depth + 1)
    _set_primes(element)
    _space(element)


def _set_primes(element: Element) -> None:
    """Put primes behind their letter: the font's prime is raised already, and has its full size."""
    if element.tag not in ("msup", "msubsup") or not re.fullmatch("[′″‴]+", element[-1].text or ""):
        return
    letter, *below, primes = element
    primes.tag, primes.attrib = "mo", {"lspace": "0", "rspace": "0"}
    row = Element("mrow")
    row.extend((letter, primes))
    element[:] = [row, *below]
    element.tag = "msub" if below else "mrow"


def _space(row: Element) -> None:
    r"""Give ``/`` and names such as ``\log`` the blanks that TeX gives them."""
    for i, child in enumerate(row):
        if child.tag == "mo" and child.text == "/":
            child.attrib |= {"lspace": "0", "rspace": "0"}
        if child.tag in ("mi", "mo") and re.fullmatch(r"[A-Za-z]{2,}", child.text or ""):
            after = row[i + 1] if i + 1 < len(row) else None
            opening = after is not None and (after.text or "").startswith(("(", "["))
            opening = opening or (after is not None and after.tag == "mrow")
            child.tag = "mo"
            child.attrib |= {
                "form": "prefix",
                "lspace": "0" if i == 0 else _THIN,
                "rspace": "0" if opening else _THIN,
            }
