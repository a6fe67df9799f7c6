r"""Terms of the suite's checker in Gallina, the language of Coq.

A term is written part by part, with quotients and differences where a person writes them.  So a
substitution in the term is one in its text, which proofs need.

Functions of Coq are total: ``/ 0`` is some number, and ``ln x`` is zero for x <= 0.  So a
statement says beside its relation that its terms are defined (`definedness`).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from trials.checks import InvalidParameter
from verify.proofs.checker import number

Term = Any
_SUM, _PRODUCT, _OPPOSITE, _POWER, _APPLIED, _ATOM = range(6)
#: Names that Coq or its libraries use, and that a variable must not hide.
_TAKEN = {
    "R", "N", "Z", "Q", "S", "O", "I", "C", "D", "E", "PI", "exp", "ln", "sqrt", "pow", "cos",
    "sin", "tan", "at", "in", "as", "fun", "forall", "exists", "let", "match", "end", "with", "if",
    "then", "else", "fix", "Set", "Prop", "Type", "nat", "bool", "sign", "number", "equal",
    "cofix", "for", "where", "return", "using", "by", "mod", "exists2", "SProp", "Rabs", "Rmax",
    "Rmin", "Rpower",
}  # fmt: skip
_FUNCTIONS = {"exp": "exp", "log": "ln", "abs": "Rabs", "cos": "cos", "sin": "sin", "tan": "tan",
              "max": "Rmax", "min": "Rmin"}  # fmt: skip


def identifier(name: str) -> str:
    """The variable of Coq for a coordinate.  No two coordinates have the same one.

    >>> identifier("x"), identifier("R"), identifier("R_")
    ('x', 'R_', 'R__')
    """
    return f"{name}_" if name.rstrip("_") in _TAKEN else name


def text_of(term: Term) -> str:
    """A term as a person writes it: with quotients and differences.

    >>> text_of(["*", "-1/2", "x", ["^", ["+", "1", "y"], "-2"]])
    '- (1 / 2 * x) / (1 + y) ^ 2'
    """
    return _text(term)[0]


def relation(given: Any) -> str:
    """A relation ``[sign, left, right]`` with the smaller side on the left."""
    sign, left, right = given
    if sign == "=":
        return f"{text_of(left)} = {text_of(right)}"
    return f"{text_of(right)} {'<' if sign == '>' else '<='} {text_of(left)}"


def negated(given: Any) -> str:
    """The relation's opposite."""
    sign, left, right = given
    if sign == "=":
        return f"{text_of(left)} <> {text_of(right)}"
    return f"{text_of(left)} {'<=' if sign == '>' else '<'} {text_of(right)}"


def definedness(*terms: Term) -> list[str]:
    """Conditions under which terms are defined, the inner ones first, each once."""
    return list(dict.fromkeys(condition for term in terms for condition in _conditions(term)))


def above_zero(*terms: Term) -> list[str]:
    """Conditions for roots of an order above two, which the checker has at zero and Coq has not."""
    return list(dict.fromkeys(condition for term in terms for condition in _roots(term)))


def _roots(term: Term) -> Iterator[str]:
    for part in operations(term):
        exponent = number(part[2]) if part[0] == "^" else None
        if exponent is not None and exponent > 0 and exponent.denominator > 2:
            yield f"0 < {text_of(part[1])}"


def operations(term: Term) -> Iterator[Term]:
    """The parts of a term that are operations, the inner ones first."""
    if isinstance(term, str):
        return
    for part in term[1:]:
        yield from operations(part)
    yield term


def _conditions(term: Term) -> Iterator[str]:
    if isinstance(term, str):
        return
    op, *parts = term
    for part in parts:
        yield from _conditions(part)
    if all(number(part) is not None for part in parts) and Fraction(parts[0]) > 0:
        return
    if op == "log":
        yield f"0 < {text_of(parts[0])}"
    elif op == "^":
        base, exponent = text_of(parts[0]), number(parts[1])
        if exponent is None or exponent.denominator > 2:
            yield f"0 < {base}"
        elif exponent.denominator == 2:
            yield f"0 {'<' if exponent < 0 else '<='} {base}"
        elif exponent < 0:
            yield f"{base} <> 0"


def _in(shown: tuple[str, int], level: int) -> str:
    """The text of a part, in brackets where it binds weaker than its place asks."""
    text, own = shown
    return f"({text})" if own < level else text


def _text(term: Term) -> tuple[str, int]:
    exact = number(term)
    if exact is not None:
        return _number(exact)
    if isinstance(term, str):
        return identifier(term), _ATOM
    op, *parts = term
    if op == "+":
        return _sum(parts)
    if op == "*":
        return _product(parts)
    if op == "-" and len(parts) == 1:
        return f"- {_in(_text(parts[0]), _POWER)}", _OPPOSITE
    if op == "sqrt":
        return f"sqrt {_in(_text(parts[0]), _ATOM)}", _APPLIED
    if op == "^":
        return _power(parts[0], parts[1])
    if op not in _FUNCTIONS:
        raise InvalidParameter(f"operation {op!r} has no form in Coq")
    inner = " ".join(_in(_text(part), _ATOM) for part in parts)
    return f"{_FUNCTIONS[op]} {inner}", _APPLIED


def _number(value: Fraction) -> tuple[str, int]:
    if value.denominator == 1:
        return (str(value), _ATOM) if value >= 0 else (str(value), _OPPOSITE)
    return f"{value.numerator} / {value.denominator}", _PRODUCT


def _sum(parts: list[Term]) -> tuple[str, int]:
    if len(parts) == 1:
        return _text(parts[0])
    text = ""
    for part in parts:
        shown = _text(part)
        if text and shown[0].startswith("-") and shown[1] in (_PRODUCT, _OPPOSITE):
            text += f" - {shown[0][1:].strip()}"
        else:
            text += (" + " if text else "") + _in(shown, _PRODUCT)
    return text, _SUM


def _product(parts: list[Term]) -> tuple[str, int]:
    if len(parts) == 1:
        return _text(parts[0])
    sign, above, below = "", list[Term](), list[Term]()
    for part in parts:
        exact = number(part)
        if exact is not None and exact < 0:
            sign = "" if sign else "-"
            part = str(-exact)
        exponent = number(part[2]) if isinstance(part, list) and part[0] == "^" else None
        if exponent is not None and exponent < 0:
            below.append(part[1] if exponent == -1 else ["^", part[1], str(-exponent)])
        elif part != "1":
            above.append(part)
    top = [_text(part) for part in above]
    if not top:
        text = "1"
    else:
        text = " * ".join([_in(top[0], _PRODUCT), *(_in(each, _POWER) for each in top[1:])])
    several = len(top) > 1 or (len(top) == 1 and top[0][1] <= _PRODUCT)
    if sign:
        text = f"- ({text})" if several else f"- {_in((text, top[0][1] if top else _ATOM), _POWER)}"
    for part in below:
        text += f" / {_in(_text(part), _POWER)}"
    if not below and not several:
        return text, _OPPOSITE if sign else top[0][1] if top else _ATOM
    return text, _PRODUCT


def _power(base: Term, exponent: Term) -> tuple[str, int]:
    exact = number(exponent)
    inner = _text(base)
    if exact is None or exact.denominator > 2:
        return f"Rpower {_in(inner, _ATOM)} {_in(_text(exponent), _ATOM)}", _APPLIED
    if exact.denominator == 2:
        inner = f"sqrt {_in(inner, _ATOM)}", _APPLIED
    size = abs(exact.numerator)
    if size == 0:
        raise InvalidParameter("a power zero has no form in Coq")
    if size > 1:
        inner = f"{_in(inner, _APPLIED)} ^ {size}", _POWER
    if exact > 0:
        return inner
    return f"/ {_in(inner, _POWER)}", _POWER
