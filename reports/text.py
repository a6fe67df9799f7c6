r"""Stored text as LaTeX that both PDF engines understand.

Stored text is plain except for inline math between dollar signs.  `escape_text` keeps the math that
`reports.mathematics` allows and escapes everything else.  `prose` sets the numbers, symbols and
assignments of sentences that a program wrote as math, too.  Results are of type `Latex`, which the
templates insert as they are.  Any other value is escaped first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Any

from reports.characters import (
    GREEK,
    LIGATURES,
    SPECIAL,
    Latex,
    character_source,
    pair_quotes,
    plain_text,
)
from reports.mathematics import display_source, math_source, require_allowed, why_refused

TEXT_WIDTH_INCHES = 6.3  # 160 mm, the text width of the page in the template
_INLINE_MATH = re.compile(r"\$([^$]+)\$")
#: A straight quote before a word and not behind one.
_OPENING_QUOTE = re.compile(r"""(?<![^\s(\["“])'(?=\w)""")


def is_inline_math(source: str) -> bool:
    """Whether a piece between dollars may be typeset as math: not empty, and not refused."""
    return bool(source.strip()) and not why_refused(source)


def escape_text(text: str, plain: Callable[[str], str] = plain_text) -> Latex:
    r"""Plain text with inline ``$...$`` math as LaTeX: the math is kept, everything else escaped.

    Blanks and line ends collapse to one blank.  A piece between dollars that formulas may not hold
    (`reports.mathematics.why_refused`) is escaped as text, and so is a dollar without a partner.
    ``plain`` sets the pieces between the math.
    """
    text = _OPENING_QUOTE.sub("‘", " ".join(text.split()))
    out: list[str] = []
    start = 0
    position = 0
    opening = True

    def set_plain(piece: str) -> str:
        nonlocal opening
        piece, opening = pair_quotes(piece, opening)
        return plain(piece)

    while match := _INLINE_MATH.search(text, position):
        if not is_inline_math(match[1]):
            position = match.start() + 1
            continue
        out += [set_plain(text[start : match.start()]), f"${math_source(match[1])}$"]
        start = position = match.end()
    out.append(set_plain(text[start:]))
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


@lru_cache(20_000)  # each column is measured for three layouts
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


# -- numbers and parameters ------------------------------------------------------------------------


def _group(digits: str) -> str:
    """Digits with a thin space every three, from five digits on (10 000 but 1000)."""
    sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
    if len(digits) < 5:
        return sign + digits
    return sign + r"\,".join(re.findall(r"\d{1,3}(?=(?:\d{3})*$)", digits))


def _decimal(value: float | Decimal, places: int) -> str:
    whole, _, fraction = f"{value:.{max(places, 0)}f}".partition(".")
    return _group(whole) + (f".{fraction}" if fraction else "")


def _exponent(value: float | Decimal, digits: int = 7) -> int:
    """The decimal exponent of a nonzero finite value that is rounded to some digits."""
    return int(f"{value:.{digits - 1}e}".partition("e")[2])


def _scale(value: float, exponent: int) -> Decimal:
    """A value in units of a power of ten, which need not be a float (such as 1e-320)."""
    return Decimal(value).scaleb(-exponent)


def _special(value: float) -> str | None:
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return r"$\infty$" if value > 0 else r"$-\infty$"
    return None


def number(value: float | int | bool | None, digits: int = 3) -> Latex:
    r"""A number with sensible digits, in math: ``0.0412``, ``12\,000``, ``1.2 \times 10^{-5}``.

    Integers are exact up to 12 digits, whole floats up to six.  Other values are rounded to
    ``digits`` significant digits.  Trailing zeros of short decimals are dropped.  None is a dash.
    """
    if value is None:
        return Latex("--")
    if isinstance(value, bool):
        return Latex("yes" if value else "no")
    if isinstance(value, int) and abs(value) >= 10**12:
        return _rounded(value, digits)
    special = _special(float(value))
    if special:
        return Latex(special)
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e6):
        return Latex(f"${_group(str(int(value)))}$")
    mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
    exponent = int(power)
    if -3 <= exponent < 6:
        rounded = float(f"{mantissa}e{power}")
        text = _decimal(rounded, digits - 1 - exponent)
        short = f"{rounded:g}"
        if "e" not in short and len(short) < len(text) and exponent < 4:
            text = short
        return Latex(f"${text}$")
    return _scientific(mantissa, exponent)


def _rounded(value: int | Decimal, digits: int = 3) -> Latex:
    """A number of any size, also one that no float holds, as a power of ten."""
    mantissa, _, power = f"{Decimal(value):.{digits - 1}e}".partition("e")
    return _scientific(mantissa, int(power))


def _scientific(mantissa: str, exponent: int) -> Latex:
    mantissa = mantissa.rstrip("0").rstrip(".")
    power = f"10^{{{exponent}}}"
    if mantissa in {"1", "-1"}:
        return Latex(f"${mantissa[:-1]}{power}$")
    return Latex(rf"${mantissa} \times {power}$")


def estimate(value: float | None, se: float | None) -> Latex:
    r"""An estimate with its standard error to two digits: ``0.0410 \pm 0.0011``."""
    if value is None or se is None or not (math.isfinite(value) and math.isfinite(se)) or se <= 0:
        return number(value)
    scale = max(abs(value), se)
    exponent = _exponent(scale)
    if -3 <= exponent < 6:
        places = 1 - _exponent(se, 2)
        if places > 4 - exponent:  # an error far below the printed digits
            return number(value, 5)
        return Latex(rf"${_decimal(value, places)} \pm {_decimal(se, places)}$")
    mean, error = _scale(value, exponent), _scale(se, exponent)
    places = max(1 - _exponent(error, 2), 0)
    if places > 4:
        return number(value, 5)
    return Latex(rf"$({mean:.{places}f} \pm {error:.{places}f}) \times 10^{{{exponent}}}$")


def interval(lower: float | None, upper: float | None) -> Latex:
    r"""An interval with a common power of ten.  Its ends differ where seven digits can show it."""
    if lower is None and upper is None:
        return Latex("--")
    ends = [-math.inf if lower is None else lower, math.inf if upper is None else upper]
    low, high = ends
    if not all(map(math.isfinite, ends)) or low == high == 0.0:
        return Latex(f"{{[}}{number(low)}, {number(high)}{{]}}")
    scale = _exponent(max(abs(low), abs(high)))
    whole, power = (scale, "") if -3 <= scale < 6 else (0, rf" \times 10^{{{scale}}}")
    left, right = (_scale(end, scale - whole) for end in ends)
    digits = 3 if left == right else min(max(3, 1 + whole - _exponent(abs(right - left))), 7)
    places = max(digits - 1 - whole, 0)
    shown = [_decimal(end, places) if end else "0" for end in (left, right)]
    return Latex(f"$[{shown[0]},\\ {shown[1]}]{power}$")


def numeral(text: str) -> Latex:
    r"""A written number, also one that no float holds: ``1e-9627`` is :math:`10^{-9627}`."""
    held = float(text)
    mantissa, _, power = text.lower().partition("e")
    if not power or (math.isfinite(held) and (held != 0.0 or not float(mantissa))):
        return number(held)
    first, _, shift = f"{float(mantissa):.2e}".partition("e")
    return _scientific(first, int(power) + int(shift))


def parameter(name: str) -> Latex:
    r"""A parameter's name as its symbol: ``Delta_sq`` is :math:`\Delta^2`, ``n_prime`` is n'.

    Words stay words (``step_rule`` is two).  Other names that are not a letter of the papers are
    set in typewriter.
    """
    head, _, tail = name.partition("_")
    head = {"lam": "lambda"}.get(head, head)  # a word of Python
    if head in GREEK:
        symbol = f"\\{head}"
    elif len(head) == 1 and head.isalpha():
        symbol = head
    elif re.fullmatch(r"[A-Za-z]\d", head):
        symbol, tail = head[0], f"{head[1]}{tail}"
    else:
        words = name.split("_")
        plain = len(words[0]) > 2 and all(word.isalpha() for word in words)
        return escape_text(" ".join(words)) if plain or name.isalpha() else code(name)
    suffixes = {
        "": "",
        "sq": "^{2}",
        "prime": "'",
        "star": r"^{\ast}",
        "hat": None,
        "inf": r"_{\infty}",
    }
    if tail == "hat":
        return Latex(rf"$\hat{{{symbol}}}$")
    if tail in suffixes:
        return Latex(f"${symbol}{suffixes[tail]}$")
    if tail in GREEK:
        return Latex(rf"${symbol}_{{\{tail}}}$")
    if len(tail) == 1 or tail.isdigit():
        return Latex(f"${symbol}_{{{tail}}}$")
    if tail.isalnum() and len(tail) <= 5:
        return Latex(rf"${symbol}_{{\mathrm{{{tail}}}}}$")
    return code(name)


def _near(item: float) -> Latex | None:
    r"""A value very close to a short number, written as ``0.5-10^{-7}``.  None for any other."""
    short = float(f"{item:.0e}") if math.isfinite(item) else item
    gap = item - short
    if not 0 < abs(gap) <= 1e-4 * abs(short):
        return None
    if abs(gap) <= 1e-12 * abs(short):  # binary rounding
        return None
    sign = "-" if gap < 0 else "+"
    return Latex(f"${number(short)[1:-1]}{sign}{number(abs(gap), 1)[1:-1]}$")


def value(item: Any) -> Latex:
    """Any stored parameter value: numbers rounded for reading, lists in parentheses."""
    if isinstance(item, float) and item.is_integer() and abs(item) < 1e15:
        item = int(item)
    if isinstance(item, bool) or item is None:
        return number(item)
    if isinstance(item, int):
        power = len(str(abs(item))) - len(str(abs(item)).rstrip("0"))
        return _rounded(item) if abs(item) >= 10**9 and power >= 6 else number(item)
    if isinstance(item, float):
        return _near(item) or number(item, 4)
    if isinstance(item, (list, tuple)):
        shown = [value(entry) for entry in item[:8]]
        if len(item) > 8:
            shown.append(Latex(r"\ldots{}"))
        return Latex("(" + ", ".join(shown) + ")")
    return escape_text(str(item).replace("<=", "≤").replace(">=", "≥"))


# -- sentences -------------------------------------------------------------------------------------


#: Digits of an integer that is read as one.  Python refuses those of thousands of digits.
_LONG_INTEGER = 1000
#: An exponent of more digits is part of a word.
_NUMERAL = r"-?\d+(?:\.\d+)?(?:e[-+]?\d{1,12})?"
_TOKEN = re.compile(
    r"(?<![\w.$\\/:&)-])(?:"
    rf"(?P<name>[A-Za-z]\w*)=(?P<value>{_NUMERAL})(?![\w-])"
    rf"|(?P<ranged>[A-Za-z]\w*) from (?P<low>{_NUMERAL}) to (?P<high>{_NUMERAL})(?![\w.]*\d)"
    r"|(?P<chosen>[A-Za-z])(?= in \{)"
    r"|(?P<relation>[<>]=)"
    rf"|(?P<symbol>(?:{'|'.join(GREEK)})(?:_\w{{1,5}})?|[A-Za-z]_\w{{1,3}})(?![\w-])"
    r"|(?P<number>-?\d+(?:\.\d+)?e[-+]?\d{1,12}|-?\d+\.\d{5,}|\d{5,}|-\d+(?:\.\d+)?)(?![\w.:-]*\w)"
    r")"
)


def _token(match: re.Match[str]) -> str:
    """A number, a symbol or an assignment found in words, as math."""

    def shown(text: str) -> str:
        if re.fullmatch(r"-?\d+", text):
            shown = value(int(text)) if len(text) < _LONG_INTEGER else _rounded(Decimal(text))
            return shown.strip("$")
        number = float(text)
        out_of_range = "e" in text and number in (0.0, math.inf, -math.inf)
        return (numeral(text) if out_of_range else value(number)).strip("$")

    if match["relation"]:
        return r"$\ge$" if match["relation"] == ">=" else r"$\le$"
    if match["name"]:
        return _relate(parameter(match["name"]), "=", shown(match["value"]))
    if match["ranged"]:
        ends = f"${shown(match['low'])}$ to ${shown(match['high'])}$"
        return f"{parameter(match['ranged'])} from {ends}"
    if match["symbol"] or match["chosen"]:
        return parameter(match["symbol"] or match["chosen"])
    return f"${shown(match['number'])}$"


def _relate(name: str, relation: str, right: str) -> str:
    """A relation whose left side may be a word."""
    if name.startswith("$"):
        return f"${name[1:-1]}{relation}{right}$"
    return f"{name} ${relation}{right}$"


def _annotate(text: str) -> str:
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
    return escape_text(text, _annotate)


def paragraphs(text: str) -> Latex:
    """Prose in which blank lines separate paragraphs."""
    pieces = [prose(piece) for piece in re.split(r"\n\s*\n", text) if piece.strip()]
    return Latex("\n\n".join(pieces))


def plural(n: int, one: str, many: str | None = None) -> str:
    """A count with its noun."""
    return f"{number(n)} {one if n == 1 else many or f'{one}s'}"


def enumerate_items(items: Sequence[str]) -> Latex:
    """Items as ``a, b and c``."""
    items = list(items)
    if len(items) < 2:
        return Latex("".join(items))
    return Latex(", ".join(items[:-1]) + " and " + items[-1])


def sentence(text: str) -> str:
    """Text with a full stop at its end."""
    text = text.rstrip()
    return text if not text or text[-1] in ".!?" else text + "."


def capital(text: str) -> str:
    """Text with a capital first letter."""
    return text[:1].upper() + text[1:]


def join_sentences(*parts: str) -> Latex:
    """Sentences one after the other."""
    return Latex(" ".join(sentence(part) for part in parts if part))


def run_in(items: Sequence[str]) -> Latex:
    """Short items as one sentence.  No mark follows a formula on lines of its own."""
    marked = [
        item if r"\cflformula{" in item and item.endswith("}") else f"{item};" for item in items
    ]
    if marked and marked[-1].endswith(";"):
        marked[-1] = sentence(marked[-1][:-1])
    return Latex(" ".join(marked))


def commands(lines: Sequence[str]) -> Latex:
    """Commands one below the other, as code."""
    return Latex("\\newline\n".join(map(code, lines)))
