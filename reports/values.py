"""Numbers, parameters and other stored values as a paper would print them."""

from __future__ import annotations

import math
import re
from typing import Any

from reports.characters import GREEK, Latex
from reports.latex import code, escape_text


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
    r"""An interval with a common power of ten.  Its ends differ where seven digits can show it."""
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

    Words stay words (``step_rule`` is two).  Other names that are not a letter of the papers are
    set in typewriter.
    """
    head, _, tail = name.partition("_")
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
