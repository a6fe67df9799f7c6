"""Numbers, parameters and other stored values as a paper would print them."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

from reports.characters import GREEK, Latex
from reports.latex import code, escape_text


def _grouped(digits: str) -> str:
    """Digits with a thin space every three, from five digits on (10 000 but 1000)."""
    sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
    if len(digits) < 5:
        return sign + digits
    return sign + r"\,".join(re.findall(r"\d{1,3}(?=(?:\d{3})*$)", digits))


def _decimal(value: float | Decimal, places: int) -> str:
    whole, _, fraction = f"{value:.{max(places, 0)}f}".partition(".")
    return _grouped(whole) + (f".{fraction}" if fraction else "")


def _exponent(value: float | Decimal, digits: int = 7) -> int:
    """The decimal exponent of a nonzero finite value that is rounded to some digits."""
    return int(f"{value:.{digits - 1}e}".partition("e")[2])


def _scaled(value: float, exponent: int) -> Decimal:
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
    special = _special(float(value))
    if special:
        return Latex(special)
    if float(value).is_integer() and abs(value) < (1e12 if isinstance(value, int) else 1e6):
        return Latex(f"${_grouped(str(int(value)))}$")
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
    mean, error = _scaled(value, exponent), _scaled(se, exponent)
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
    left, right = (_scaled(end, scale - whole) for end in ends)
    digits = 3 if left == right else min(max(3, 1 + whole - _exponent(abs(right - left))), 7)
    places = max(digits - 1 - whole, 0)
    shown = [_decimal(end, places) if end else "0" for end in (left, right)]
    return Latex(f"$[{shown[0]},\\ {shown[1]}]{power}$")


def numeral(text: str, digits: int = 3) -> Latex:
    r"""A written number, also one that no float holds: ``1e-9627`` is :math:`10^{-9627}`."""
    held = float(text)
    mantissa, _, power = text.lower().partition("e")
    if not power or (math.isfinite(held) and (held != 0.0 or not float(mantissa))):
        return number(held, digits)
    first, _, shift = f"{float(mantissa):.{digits - 1}e}".partition("e")
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
        return number(float(item) if abs(item) >= 1e9 and power >= 6 else item)
    if isinstance(item, float):
        return _near(item) or number(item, 4)
    if isinstance(item, (list, tuple)):
        shown = [value(entry) for entry in item[:8]]
        if len(item) > 8:
            shown.append(Latex(r"\ldots{}"))
        return Latex("(" + ", ".join(shown) + ")")
    return escape_text(str(item))
