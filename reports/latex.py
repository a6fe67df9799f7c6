r"""Text, numbers and names as LaTeX that both PDF engines understand.

Stored text is plain except for inline math between dollar signs.  `escape_text` keeps the math and
escapes the rest; `number`, `estimate` and `parameter` write values the way a paper would.  Results
are of type `Latex`, which the templates insert as they are; any other value is escaped first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

TEXT_WIDTH_INCHES = 6.3  # 160 mm, the text width of the page in the template


class Latex(str):
    """A string that is LaTeX source already."""

    __slots__ = ()


MACROS = r"""\newcommand{\norm}[1]{\left\lVert #1\right\rVert}
\newcommand{\abs}[1]{\left\lvert #1\right\rvert}
\newcommand{\when}[1]{\quad\text{if } #1}
\newcommand{\poly}{\operatorname{poly}}
\newcommand{\polylog}{\operatorname{polylog}}
\newcommand{\verdictword}[2]{\textcolor{#1}{\textbf{#2}}}"""
"""The macros that stored formulas may use, beside amsmath and amssymb."""

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "%": r"\%",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "`": r"{\textasciigrave}",  # grouped: pandoc would take a following group for its argument
    "[": "{[}",  # not an option of the command before it
    "]": "{]}",
    "\u00a0": "~",
    "–": "--",
    "—": "---",
    "‘": "`",
    "’": "'",
    "“": "``",
    "”": "''",
    "…": r"\ldots{}",
    "§": r"\S{}",
}
_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ϵ", "zeta": "ζ",
    "eta": "η", "theta": "θ", "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν",
    "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "upsilon": "υ", "phi": "φ",
    "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ",
    "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Upsilon": "Υ", "Phi": "Φ", "Psi": "Ψ",
    "Omega": "Ω",
}  # fmt: skip
_MATH_CHARACTERS = {letter: f"\\{name}" for name, letter in _GREEK.items()} | {
    "ε": r"\varepsilon",
    "ϕ": r"\phi",
    "µ": r"\mu",
    "ℓ": r"\ell",
    "≤": r"\le",
    "≥": r"\ge",
    "≪": r"\ll",
    "≫": r"\gg",
    "≲": r"\lesssim",
    "≳": r"\gtrsim",
    "≠": r"\ne",
    "≈": r"\approx",
    "∼": r"\sim",
    "∝": r"\propto",
    "±": r"\pm",
    "−": "-",
    "×": r"\times",
    "·": r"\cdot",
    "√": r"\surd",
    "∞": r"\infty",
    "∈": r"\in",
    "∉": r"\notin",
    "∪": r"\cup",
    "∩": r"\cap",
    "⊂": r"\subset",
    "∀": r"\forall",
    "∃": r"\exists",
    "∑": r"\sum",
    "∏": r"\prod",
    "∫": r"\int",
    "∇": r"\nabla",
    "∂": r"\partial",
    "→": r"\to",
    "←": r"\leftarrow",
    "⇒": r"\Rightarrow",
    "⇔": r"\Leftrightarrow",
    "‖": r"\Vert",
    "∥": r"\Vert",
    "⌈": r"\lceil",
    "⌉": r"\rceil",
    "⌊": r"\lfloor",
    "⌋": r"\rfloor",
    "⟨": r"\langle",
    "⟩": r"\rangle",
    "ᵀ": r"^{\top}",
    "⊤": r"\top",
    "⊥": r"\perp",
    "²": "^{2}",
    "³": "^{3}",
    "⁻": "^{-}",
    "½": r"\tfrac12",
    "°": r"^{\circ}",
    "ℝ": r"\mathbb{R}",
    "ℙ": r"\mathbb{P}",
    "𝔼": r"\mathbb{E}",
}
_LIGATURES = "-<>,'"  # doubled, fonts join them into dashes, guillemets and quotes
_INLINE_MATH = re.compile(r"\$([^$]+)\$")
_BIG = re.compile(r"\\(?:big|Big|bigg|Bigg)[lrm]?(?![A-Za-z])\s*")


def _is_math(source: str) -> bool:
    """Whether a dollar-delimited piece is safe to pass on as math (it cannot swallow the text)."""
    depth = 0
    body = re.sub(r"\\.", "", source, flags=re.DOTALL)  # escaped braces, percent signs and commands
    for character in body:
        depth += (character == "{") - (character == "}")
        if depth < 0:
            return False
    return depth == 0 and bool(source.strip()) and not re.search(r"[%#\\]", body)


def math_source(source: str) -> Latex:
    r"""A formula in the dialect that LaTeX and the embedded engine read alike.

    ``\|`` becomes a pair of fences, manual sizes and negative spaces are dropped, thick spaces
    become thin ones, and Unicode letters and relations become commands.
    """
    text = "".join(
        f"{_MATH_CHARACTERS[c]} "
        if c in _MATH_CHARACTERS
        else c
        if c.isascii()
        else f"\\text{{{_character(c)}}}"
        for c in source.replace("\u00a0", " ")
    )
    text = re.sub(r"\\left\s*(?:\\\||\\Vert(?![A-Za-z]))", r"\\left\\lVert ", text)
    text = re.sub(r"\\right\s*(?:\\\||\\Vert(?![A-Za-z]))", r"\\right\\rVert ", text)
    text = _BIG.sub("", text)
    text = text.replace(r"\!", "")
    text = re.sub(r"\\[;:]", r"\\,", text)
    parts = re.split(r"(?<!\\)\\\|", text)
    fenced = "".join(
        part + ((r"\lVert ", r"\rVert ")[i % 2] if i < len(parts) - 1 else "")
        for i, part in enumerate(parts)
    )
    return Latex(re.sub(r"\s*\n\s*", " ", fenced).strip())


def exponentials(source: str) -> str:
    r"""``e^{...}`` of a fraction as ``\exp(...)``: fractions in exponents are too small to read."""
    out, start = "", 0
    for match in re.finditer(r"(?<![A-Za-z\\])e\^\{", source):
        depth, end = 1, match.end()
        while depth and end < len(source):
            depth += (source[end] == "{") - (source[end] == "}")
            end += 1
        body = source[match.end() : end - 1]
        if match.start() >= start and not depth and r"\frac" in body:
            out += source[start : match.start()] + rf"\exp\left({body.strip()}\right)"
            start = end
    return out + source[start:]


def _character(character: str) -> str:
    """One character outside ASCII, in text."""
    if character in _SPECIAL:
        return _SPECIAL[character]
    if character in _MATH_CHARACTERS:
        return f"${_MATH_CHARACTERS[character]}$"
    if "À" <= character <= "ÿ" or character in "ŁłŐőŠšŽžĆćČčĐđ¡¿£":
        return character
    return f"{{[}}U+{ord(character):04X}{{]}}"


def _plain(text: str) -> str:
    """Text without math: specials escaped, straight double quotes paired."""
    out = []
    opening = True
    for character, following in pairwise(text + " "):
        if character == '"':
            out.append("``{}" if opening else "''{}")
            opening = not opening
        elif character in _LIGATURES:
            joined = following == character or (character == "'" and following == '"')
            out.append(character + "{}" * joined)
        elif character in _SPECIAL:
            out.append(_SPECIAL[character])
        elif character.isascii():
            # Control characters are not typesettable; they count as blanks.
            out.append(character if character.isprintable() else " ")
        else:
            out.append(_character(character))
    return "".join(out)


def escape_text(text: str, plain: Callable[[str], str] = _plain) -> Latex:
    r"""Plain text with inline ``$...$`` math as LaTeX: the math is kept, everything else escaped.

    Blanks and line ends collapse to one blank.  A piece between dollars that could swallow the text
    around it (unbalanced braces, a comment sign, a trailing backslash) is escaped as text, and so
    is a dollar without a partner.  ``plain`` sets the pieces between the math.
    """
    text = " ".join(text.split())
    out: list[str] = []
    start = 0
    position = 0
    while match := _INLINE_MATH.search(text, position):
        if not _is_math(match[1]):
            position = match.start() + 1
            continue
        out += [plain(text[start : match.start()]), f"${math_source(match[1])}$"]
        start = position = match.end()
    out.append(plain(text[start:]))
    return Latex("".join(out))


_NUMERAL = r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
_TOKEN = re.compile(
    r"(?<![\w.$\\/:&)-])(?:"
    rf"(?P<name>[A-Za-z]\w*)=(?P<value>{_NUMERAL})(?![\w-])"
    rf"|(?P<ranged>[A-Za-z]\w*) from (?P<low>{_NUMERAL}) to (?P<high>{_NUMERAL})(?![\w.]*\d)"
    r"|(?P<chosen>[A-Za-z])(?= in \{)"
    r"|(?P<relation>[<>]=)"
    rf"|(?P<symbol>(?:{'|'.join(_GREEK)})(?:_\w{{1,5}})?|[A-Za-z]_\w{{1,3}})(?![\w-])"
    r"|(?P<number>-?\d+(?:\.\d+)?e[-+]?\d+|-?\d+\.\d{5,}|\d{5,}|-\d+(?:\.\d+)?)(?![\w.:-]*\w)"
    r")"
)


def _token(match: re.Match[str]) -> str:
    """A number, a symbol or an assignment found in words, as math."""

    def shown(text: str) -> str:
        plain = re.fullmatch(r"-?\d+", text)
        return value(int(text) if plain else float(text)).strip("$")

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
        out += [_plain(text[start : match.start()]), _token(match)]
        start = match.end()
    return "".join([*out, _plain(text[start:])])


def prose(text: str) -> Latex:
    r"""Text that a program wrote: ``alpha=0.25``, ``rho``, ``c_2``, ``1e-07`` become math.

    Long decimals are rounded and long integers grouped; the rest is as in `escape_text`.
    """
    return escape_text(text, _annotated)


def paragraphs(text: str) -> Latex:
    """Prose in which blank lines separate paragraphs."""
    pieces = [prose(piece) for piece in re.split(r"\n\s*\n", text) if piece.strip()]
    return Latex("\n\n".join(pieces))


def code(text: str) -> Latex:
    r"""Verbatim text as ``\texttt``, breaking at blanks; copied from the PDF it still runs."""
    text = " ".join(text.split())
    body = "".join(
        r"\textquotesingle{}"
        if c == "'"
        else c + "{}" * (following == c)
        if c in _LIGATURES
        else _SPECIAL.get(c) or (c if c.isascii() else _character(c))
        for c, following in pairwise(text + " ")
    )
    return Latex(rf"\texttt{{{body}}}")


def latex_field(source: str) -> Latex:
    r"""A stored LaTeX fragment: text with math as it is, a bare formula put between dollars.

    Fragments without any dollar that hold a command, a sub- or a superscript or a relation are
    formulas (``\mathbb{P}(A) \le \delta``); anything else is text.
    """
    source = " ".join(source.replace(r"\(", "$").replace(r"\)", "$").split())
    if "$" in source:
        tidy = _INLINE_MATH.sub(lambda match: f"${math_source(match[1])}$", source)
        return Latex("".join(c if c.isascii() else _character(c) for c in tidy))
    words = re.sub(r"\\(?:text|mathrm|operatorname)\{[^}]*\}|\\[A-Za-z]+", "", source)
    if re.search(r"[\\^_=<>≤≥]", source) and not re.search(r"[a-z]{4,} ", words + " "):
        return Latex(f"${math_source(source)}$")
    return escape_text(source)


def display_source(source: str) -> Latex:
    r"""The formula of a display: delimiters of any kind are removed and the dialect unified."""
    source = source.strip()
    source = re.sub(
        r"^\\begin\{(equation\*?|displaymath)\}|\\end\{(equation\*?|displaymath)\}$", "", source
    )
    for opening, closing in (("$$", "$$"), (r"\[", r"\]"), ("$", "$"), (r"\(", r"\)")):
        if source.startswith(opening) and source.endswith(closing) and len(source) > 2:
            source = source[len(opening) : len(source) - len(closing)]
            break
    return math_source(exponentials(source))


def formula(source: str, *, display: bool = False) -> Latex:
    """A stored formula as inline math (``display``: its fractions at full size).

    A fragment that holds dollars already is text with math.
    """
    if "$" in source:
        return latex_field(source)
    inner = display_source(source)
    style = r"\displaystyle " if display else ""
    return Latex(f"${style}{inner}$") if inner else inner


def _grouped(digits: str) -> str:
    """Digits with a thin space every three, from five digits on (10 000 but 1000)."""
    sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
    if len(digits) < 5:
        return sign + digits
    return sign + r"\,".join(re.findall(r"\d{1,3}(?=(?:\d{3})*$)", digits))


def _decimal(value: float, places: int) -> str:
    whole, _, fraction = f"{value:.{max(places, 0)}f}".partition(".")
    return _grouped(whole) + (f".{fraction}" if fraction else "")


def _exponent(value: float) -> int:
    """The decimal exponent of a nonzero finite value, as printed by ``%e``."""
    return int(f"{value:e}".partition("e")[2])


def _special(value: float) -> str | None:
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return r"$\infty$" if value > 0 else r"$-\infty$"
    return None


def number(value: float | int | bool | None, digits: int = 3) -> Latex:
    r"""A number with sensible digits, in math: ``0.0412``, ``12\,000``, ``1.2 \times 10^{-5}``.

    Integers are exact up to 12 digits, whole floats up to six; other values are rounded to
    ``digits`` significant digits, with trailing zeros of short decimals dropped.  None is a dash.
    """
    if value is None:
        return Latex("--")
    if isinstance(value, bool):
        return Latex("yes" if value else "no")
    special = _special(float(value))
    if special:
        return Latex(special)
    if float(value).is_integer() and abs(value) < (1e12 if isinstance(value, int) else 1e6):
        return Latex(f"${_grouped(str(int(value)))}$")
    rounded = float(f"{value:.{digits - 1}e}")
    exponent = _exponent(rounded)
    if -3 <= exponent < 6:
        text = _decimal(rounded, digits - 1 - exponent)
        short = f"{rounded:g}"
        if "e" not in short and len(short) < len(text) and exponent < 4:
            text = short
        return Latex(f"${text}$")
    mantissa = f"{rounded:.{digits - 1}e}".partition("e")[0].rstrip("0").rstrip(".")
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
        places = 1 - _exponent(float(f"{se:.1e}"))
        if places > 4 - exponent:  # an error far below the printed digits
            return number(value, 5)
        return Latex(rf"${_decimal(value, places)} \pm {_decimal(se, places)}$")
    unit = 10.0**exponent
    places = max(1 - _exponent(float(f"{se / unit:.1e}")), 0)
    if places > 4:
        return number(value, 5)
    return Latex(
        rf"$({value / unit:.{places}f} \pm {se / unit:.{places}f}) \times 10^{{{exponent}}}$"
    )


def interval(lower: float | None, upper: float | None) -> Latex:
    r"""An interval with a common power of ten; its ends differ where seven digits let them."""
    if lower is None and upper is None:
        return Latex("--")
    ends = [-math.inf if lower is None else lower, math.inf if upper is None else upper]
    low, high = ends
    if not all(map(math.isfinite, ends)) or low == high == 0.0:
        shown = [number(end) for end in ends]
        return Latex(f"{{[}}{shown[0]}, {shown[1]}{{]}}")
    scale = _exponent(max(abs(low), abs(high)))
    unit, power = (1.0, "") if -3 <= scale < 6 else (10.0**scale, rf" \times 10^{{{scale}}}")
    digits = 3 if low == high else min(max(3, 1 + scale - _exponent(abs(high - low))), 7)
    places = min(max(digits - 1 - (scale if unit == 1.0 else 0), 0), 12)
    left, right = (_decimal(end / unit, places) if end else "0" for end in ends)
    return Latex(f"$[{left},\\ {right}]{power}$")


def parameter(name: str) -> Latex:
    r"""A parameter's name as its symbol: ``Delta_sq`` is :math:`\Delta^2`, ``n_prime`` is n'.

    Words stay words (``step_rule`` is two); other names that are not a letter of the papers are set
    in typewriter.
    """
    head, _, tail = name.partition("_")
    if head in _GREEK:
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
    if tail in _GREEK:
        return Latex(rf"${symbol}_{{\{tail}}}$")
    if len(tail) == 1 or tail.isdigit():
        return Latex(f"${symbol}_{{{tail}}}$")
    if tail.isalnum() and len(tail) <= 5:
        return Latex(rf"${symbol}_{{\mathrm{{{tail}}}}}$")
    return code(name)


def _near(item: float) -> Latex | None:
    r"""A value just beside a short one as ``0.5-10^{-7}``; None for any other."""
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
        return number(float(item) if abs(item) >= 1e9 and power >= 6 else item)
    if isinstance(item, float):
        return _near(item) or number(item, 4)
    if isinstance(item, (list, tuple)):
        shown = [value(entry) for entry in item[:8]]
        if len(item) > 8:
            shown.append(Latex(r"\ldots{}"))
        return Latex("(" + ", ".join(shown) + ")")
    return escape_text(str(item))


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
