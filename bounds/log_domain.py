r"""Expressions at sizes where floating point overflows: numbers as a sign and a logarithm.

A paper's own constants give thresholds such as :math:`e^{10^6}`.  `evaluate_log` walks an
expression and keeps every intermediate value that floats cannot hold as ``sign * exp(log)``, so
that the largest magnitude is :math:`e^{10^{308}}`.  Values that floats can hold stay floats, so a
condition at a whole size is decided as exactly as anywhere else.  Beyond floats the relative
error of a value is about :math:`10^{-16}` times its logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import mpmath
import sympy as sp
from sympy.concrete.expr_with_limits import ExprWithLimits

_WHOLE = math.log(2.0**53)  # beyond it every number is whole
_FLOATS = 690.0  # the largest size of a logarithm whose number a float holds without underflow


@dataclass(frozen=True)
class LogNumber:
    """The number ``sign * exp(log)``.  Zero has sign 0 and log -inf.

    ``value`` is the number itself where a float holds it without underflow, else None.

    Examples
    --------
    >>> LogNumber.of(-2.0).sign, float(LogNumber.of(3.0))
    (-1, 3.0)
    >>> round((LogNumber.of(1e300) * LogNumber.of(1e9)).log, 3)
    711.499
    """

    sign: int
    log: float
    value: float | None = None

    @classmethod
    def of(cls, value: float) -> LogNumber:
        """A floating-point number.  Infinities keep their sign."""
        if math.isnan(value):
            raise ValueError("value=nan must be a number")
        if value == 0.0:
            return cls(0, -math.inf, 0.0)
        sign = 1 if value > 0 else -1
        if math.isinf(value):
            return cls(sign, math.inf)
        return cls(sign, math.log(abs(value)), value)

    @classmethod
    def exp(cls, log: float) -> LogNumber:
        """``exp(log)``, as a float where one holds it."""
        return cls.of(math.exp(log)) if abs(log) < _FLOATS else cls(1, log)

    def __float__(self) -> float:
        """The number as a float: infinite where it overflows, zero where it underflows."""
        if self.value is not None:
            return self.value
        try:
            return self.sign * math.exp(self.log)
        except OverflowError:
            return self.sign * math.inf

    def __mul__(self, other: LogNumber) -> LogNumber:
        """The product.  Zero times anything is zero."""
        sign = self.sign * other.sign
        if sign == 0:
            return LogNumber.of(0.0)
        log = self.log + other.log
        if self.value is not None and other.value is not None and abs(log) < _FLOATS:
            return LogNumber.of(self.value * other.value)
        return LogNumber(sign, log)

    def __add__(self, other: LogNumber) -> LogNumber:
        """The sum."""
        if self.value is not None and other.value is not None:
            plain = self.value + other.value
            if plain == 0.0 or abs(math.log(abs(plain))) < _FLOATS:
                return LogNumber.of(plain)
        big, small = (self, other) if self.log >= other.log else (other, self)
        if small.sign == 0:
            return big
        if big.log == math.inf:
            if small.log == math.inf and small.sign != big.sign:
                raise ValueError("inf - inf is not a number")
            return big
        gap = small.log - big.log
        if big.sign == small.sign:
            return LogNumber(big.sign, big.log + math.log1p(math.exp(gap)))
        if gap == 0.0:
            return LogNumber.of(0.0)
        return LogNumber(big.sign, big.log + math.log(-math.expm1(gap)))

    def __le__(self, other: LogNumber) -> bool:
        """Whether this number is at most the other."""
        if self.value is not None and other.value is not None:
            return self.value <= other.value
        if self.sign != other.sign:
            return self.sign < other.sign
        return self.log <= other.log if self.sign >= 0 else self.log >= other.log

    def __lt__(self, other: LogNumber) -> bool:
        """Whether this number is below the other."""
        return not other <= self


LogValues = Mapping[str, "float | LogNumber"]


def evaluate_log(expr: sp.Expr, values: LogValues) -> LogNumber:
    """Evaluate an expression in the log domain.

    Parameters
    ----------
    expr : made of sums, products, powers, exp, log, Max, Min, Abs, floor and ceiling.
    values : a float or a `LogNumber` for every symbol, by name.

    Raises
    ------
    KeyError : a symbol without a value.
    ValueError : a value that is no real number (the logarithm of a negative one, inf - inf), or a
        function that is not listed above.

    Examples
    --------
    >>> x = sp.Symbol("x")
    >>> evaluate_log(sp.exp(x**2) / sp.exp(x), {"x": 1000.0}).log
    999000.0
    """
    expr = sp.sympify(expr)
    if expr.is_Symbol:
        if expr.name not in values:
            raise KeyError(f"no value for {expr.name}; given: {', '.join(sorted(values))}")
        value = values[expr.name]
        return value if isinstance(value, LogNumber) else LogNumber.of(float(value))
    if expr.is_Rational or expr.is_Float:
        return _exact(expr)
    if expr is sp.E or expr is sp.pi or expr.is_NumberSymbol:
        return LogNumber.of(float(expr))
    if isinstance(expr, ExprWithLimits):  # its argument has a variable of its own
        raise _unknown(expr)
    return _operation(expr, [evaluate_log(argument, values) for argument in expr.args])


def evaluate_log_along(
    expr: sp.Expr, symbol: str, values: LogValues
) -> Callable[[LogNumber], LogNumber]:
    """`evaluate_log` as a function of one symbol, for many values of it.

    A part of the expression that does not contain the symbol is evaluated once.  Every value is the
    same as that of `evaluate_log`, to the last bit.

    Raises
    ------
    KeyError, ValueError
        As `evaluate_log`: at once for a part without the symbol, else when the function is called.

    Examples
    --------
    >>> x, y = sp.symbols("x y")
    >>> float(evaluate_log_along(x * sp.log(y), "x", {"y": 1.0})(LogNumber.of(7.0)))
    0.0
    """
    expr = sp.sympify(expr)
    if symbol not in {free.name for free in expr.free_symbols}:
        fixed = evaluate_log(expr, values)
        return lambda _value: fixed
    if expr.is_Symbol:
        return lambda value: value
    if isinstance(expr, ExprWithLimits):
        raise _unknown(expr)
    parts = [evaluate_log_along(argument, symbol, values) for argument in expr.args]
    return lambda value: _operation(expr, [part(value) for part in parts])


@lru_cache(maxsize=4096)
def _exact(expr: sp.Expr) -> LogNumber:
    """A rational or a float of any size."""
    # The text of a float has fifteen digits only.
    value = mpmath.mpf(expr.p) / expr.q if expr.is_Rational else mpmath.mpf(expr)
    if value == 0:
        return LogNumber.of(0.0)
    log = float(mpmath.log(abs(value)))
    return (
        LogNumber.of(float(value)) if abs(log) < _FLOATS else LogNumber(1 if value > 0 else -1, log)
    )


def _operation(expr: sp.Expr, arguments: list[LogNumber]) -> LogNumber:
    """The outermost operation of an expression, its arguments evaluated."""
    if expr.is_Add:
        return _sum(arguments)
    if expr.is_Mul:
        product = LogNumber.of(1.0)
        for argument in arguments:
            product = product * argument
        return product
    if expr.is_Pow:
        return _power(arguments[0], arguments[1], expr)
    first = arguments[0] if arguments else LogNumber.of(0.0)
    if isinstance(expr, sp.UnevaluatedExpr):
        return first
    if isinstance(expr, sp.exp):
        return LogNumber.exp(float(first)) if float(first) > -math.inf else LogNumber.of(0.0)
    if isinstance(expr, sp.log):
        if first.sign <= 0:
            raise ValueError(f"{expr}: the logarithm of {float(first):g} must be of a number > 0")
        return LogNumber.of(math.log(first.value) if first.value is not None else first.log)
    if isinstance(expr, sp.Abs):
        return LogNumber.of(-1.0) * first if first.sign < 0 else first
    if isinstance(expr, sp.floor | sp.ceiling):
        if first.log >= _WHOLE:
            return first
        down = isinstance(expr, sp.floor)
        if first.log < -_FLOATS:  # it may underflow, and keeps its side of zero
            return LogNumber.of(float(min(first.sign, 0) if down else max(first.sign, 0)))
        return LogNumber.of(float((math.floor if down else math.ceil)(float(first))))
    if isinstance(expr, sp.Max | sp.Min):
        best = arguments[0]
        for argument in arguments[1:]:
            larger = best <= argument
            best = argument if larger == isinstance(expr, sp.Max) else best
        return best
    raise _unknown(expr)


def _unknown(expr: sp.Expr) -> ValueError:
    return ValueError(f"{type(expr).__name__} in {expr} has no evaluation in the log domain")


def _sum(arguments: list[LogNumber]) -> LogNumber:
    """Sum positive and negative terms separately, so that only one cancellation remains."""
    total = {1: LogNumber.of(0.0), -1: LogNumber.of(0.0)}
    for argument in arguments:
        if argument.sign:
            total[argument.sign] = total[argument.sign] + argument
    return total[1] + total[-1]


def _power(base: LogNumber, exponent: LogNumber, expr: sp.Expr) -> LogNumber:
    power = float(exponent)
    if base.sign == 0:
        if power > 0:
            return base
        if power == 0:
            return LogNumber.of(1.0)
        raise ValueError(f"{expr}: zero to the power {power:g} is not a number")
    if base.sign < 0 and not power.is_integer():
        raise ValueError(f"{expr}: a negative number has no power {power:g}")
    log = base.log * power if base.log else 0.0
    if base.value is not None and abs(log) < _FLOATS:
        return LogNumber.of(base.value**power)
    return LogNumber(1 if base.sign > 0 or power % 2 == 0 else -1, log)
