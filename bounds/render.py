r"""How expressions are printed: LaTeX in the letters of a paper.

The formulas of all papers use one set of symbol names (``n``, ``p_max``, ``err``).  A paper's own
letters differ: one paper writes :math:`n'` where another writes :math:`n`.  A `Notation` holds the
letters of one paper, and every rendering takes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import sympy as sp
from sympy.printing.latex import LatexPrinter


@dataclass(frozen=True, kw_only=True)
class Notation:
    r"""The letters of a paper and its table of symbols.

    Attributes
    ----------
    letters : name of a symbol in our formulas -> LaTeX in the paper.  A name that is missing is
        printed by sympy's rules (``Delta`` is :math:`\Delta`, ``c_1`` is :math:`c_1`).
    table : rows of two texts, in the order in which a report prints them.  The first is the LaTeX
        of one or more symbols between dollars, the second their meaning.
    """

    letters: Mapping[str, str] = field(default_factory=dict)
    table: Sequence[tuple[str, str]] = ()


#: The notation of a paper that declares none.
PLAIN_NOTATION = Notation()


class _Printer(LatexPrinter):  # type: ignore[misc]
    """Terms with a minus sign come last: 1 - x, where sympy would print -x + 1."""

    def _as_ordered_terms(self, expr: sp.Expr, order: str | None = None) -> list[sp.Expr]:
        terms: list[sp.Expr] = super()._as_ordered_terms(expr, order=order)
        return sorted(terms, key=lambda term: bool(term.could_extract_minus_sign()))


def latex(expr: sp.Expr, notation: Notation = PLAIN_NOTATION) -> str:
    """LaTeX of an expression in the paper's letters."""
    expr = sp.sympify(expr)
    letters = notation.letters
    names = {s: letters[s.name] for s in expr.free_symbols if s.name in letters}
    settings = {"symbol_names": names, "fold_short_frac": False, "ln_notation": False}
    return str(_Printer(settings).doprint(expr))
