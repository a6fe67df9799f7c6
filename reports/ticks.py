"""Ticks as a person would choose them: few, round, and written alike along an axis."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.ticker import MaxNLocator

#: Decades below which a logarithmic axis has no two powers of ten.
_FEW_DECADES = 0.8
_MOST_MINOR = 60


def _powers(low: float, high: float) -> list[int]:
    """The exponents of the powers of ten in an interval."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    return list(range(first, last + 1))


def _multiples(low: float, high: float, factors: Sequence[float]) -> list[float]:
    """The factors times powers of ten in an interval."""
    start, end = math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1
    found = [f * 10.0**e for e in range(start, end) for f in factors]
    return [v for v in found if low * (1 - 1e-9) <= v <= high * (1 + 1e-9)]


def _digits(low: float, high: float) -> int:
    """Digits of a place: without noise, and enough to tell places of a short interval apart."""
    size, length = max(abs(low), abs(high)), high - low
    if not 0.0 < length < size:
        return 12
    return min(12 + math.ceil(math.log10(size) - math.log10(length)), 17)


def ticks(low: float, high: float, scale: str, most: int, *, whole: bool = False) -> list[float]:
    """At most ``most`` round places between two limits, at least two where that is possible.

    With ``whole`` the places on a linear axis are integers.

    >>> ticks(0.5, 2e4, "log", 4)
    [1.0, 100.0, 10000.0]
    >>> ticks(0.0, 1.0, "linear", 6)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    >>> ticks(0.7, 4.3, "linear", 9, whole=True)
    [1.0, 2.0, 3.0, 4.0]
    """
    if scale == "log" and 0 < low < high < math.inf:
        if math.log10(high / low) > _FEW_DECADES:
            powers = _powers(low, high)
            if len(powers) >= 3 or len(powers) > most:
                stride = math.ceil(len(powers) / most)
                start = -powers[0] % stride  # multiples of the stride, so that 1 is among them
                if len(powers[start::stride]) < 2:
                    start = 0  # 10 and 1000 of 10 to 1000, and not 100 alone
                return [10.0**e for e in powers[start::stride]]
            for factors in ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
                if 2 <= len(found := _multiples(low, high, factors)) <= most:
                    return found
    elif not math.isfinite(high - low):
        return []
    locator = MaxNLocator(nbins=max(most - 1, 1), steps=[1, 2, 5, 10], integer=whole)
    room = (high - low) * 1e-9
    places = [float(v) for v in locator.tick_values(low, high) if low - room <= v <= high + room]
    digits = _digits(low, high)
    places = [0.0 if abs(v) < room else float(f"{v:.{digits}g}") for v in places]
    return places[:: math.ceil(len(places) / most) or 1]


def minor(low: float, high: float, scale: str, major: Sequence[float]) -> list[float]:
    """The places of small ticks on a logarithmic axis: 1 to 9, or powers without a large tick."""
    if scale != "log" or not 0 < low < high < math.inf or len(major) < 2:
        return []
    decades = math.log10(high / low)
    if decades <= _FEW_DECADES:
        return []
    if decades <= 4:
        return _multiples(low, high, [float(i) for i in range(1, 10)])
    found = [10.0**e for e in _powers(low, high)]
    return found if len(found) <= _MOST_MINOR else []


def write_ticks(places: Sequence[float], scale: str) -> list[str]:
    """Ticks in one notation: decimals where all are short, else powers of ten.

    Each has as many digits as tell it from the others.

    >>> write_ticks([0.01, 0.1, 1.0], "log"), write_ticks([1e-6, 0.001, 1.0], "log")
    (['0.01', '0.1', '1'], ['$10^{-6}$', '$10^{-3}$', '$1$'])
    """
    texts: list[str] = []
    for more in range(15):
        texts = _write(places, scale, more)
        if len(set(texts)) == len(texts):
            break
    return texts


def _write(places: Sequence[float], scale: str, more: int) -> list[str]:
    """The same with ``more`` digits than usual."""
    if all(v == 0 or 1e-3 <= abs(v) < 1e4 for v in places) or not places:
        return [_decimal(v, 6 + more) for v in places]
    if scale == "log":
        return [_power(v, 2 + more) for v in places]
    top = max(map(abs, places))
    if 1e-3 <= top < 1e6:
        return [_decimal(v, 6 + more) for v in places]
    return [_power(v, 2 + more) if v else "0" for v in places]


def _decimal(value: float, digits: int) -> str:
    text = f"{value:.{digits}g}"
    return f"${text}$" if text.startswith("-") else text


def _power(value: float, digits: int) -> str:
    mantissa, exponent = f"{value:.{digits}e}".split("e")
    short = mantissa.rstrip("0").removesuffix(".")
    power = rf"10^{{{int(exponent)}}}" if int(exponent) else ""
    if not power:
        return f"${short}$"
    sign = {"1": "", "-1": "-"}.get(short)
    return f"${sign}{power}$" if sign is not None else rf"${short}\times {power}$"
