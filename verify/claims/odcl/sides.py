"""Searches that compare logs, laws of a fit, and power laws read from a statement's one term."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp

from bounds.render import latex
from bounds.statement import Statement
from trials.run.cell import Params
from verify.claims.common import refuse_untried
from verify.claims.searching import Observed, search
from verify.decisions.domain import Domain, Ranges
from verify.decisions.measures import LOG_RATIO
from verify.decisions.rates import Side
from verify.procedures.base import FloatArray, Profile, Sampling
from verify.procedures.rate import Rate, StatedRate
from verify.procedures.search import Search

RELATIONS: dict[str, Side] = {
    r"\le": "at most",
    r"\ge": "at least",
    "=": "equals",
    r"\propto": "equals",
}
#: Meanings of two coordinates whose letters are not the paper's.
CLUSTERS = "number of clusters, $K$ in the paper"
SEPARATION = "smallest distance of two population optima, $D$ in the paper"
#: Exponents of theorems are multiples of a quarter.  Limits within half of that exclude the others.
_TOLD_APART = 1 / 8


def log_search(
    statement: Statement,
    profile: Profile,
    observed: Observed,
    domain: Domain | Ranges,
    *,
    budget: int | None = None,
    **fields: Any,
) -> Search:
    """`search` for sides that lie decades apart, with a quarter of the profile's evaluations."""
    fields = {"measure": LOG_RATIO, "budget": budget or profile.searches // 4, **fields}
    return search(statement, profile, observed, domain, **fields)


def at_values(statement: Statement, values: Mapping[str, Any]) -> Statement:
    """The statement with some symbols of its terms at exact values or expressions."""
    given = {sp.Symbol(name): value for name, value in values.items()}
    terms = tuple(replace(term, expr=term.expr.subs(given)) for term in statement.terms)
    return replace(statement, terms=terms)


def upper_quantile(values: FloatArray, weights: FloatArray, share: float) -> float:
    """The smallest outcome that is exceeded with a probability of at most ``share``.

    Examples
    --------
    >>> import numpy as np
    >>> upper_quantile(np.array([1.0, 3.0, 2.0]), np.array([0.5, 0.2, 0.3]), 0.25)
    2.0
    """
    order = np.argsort(-values)
    exceeded = np.cumsum(weights[order]) - weights[order]  # P(X > value), ties counted apart
    allowed = np.flatnonzero(exceeded <= share * (1 + 1e-12))
    return float(values[order][allowed[-1]])


def power_law(
    statement: Statement,
    sampling: Sampling,
    cells: Sequence[Params],
    column: str,
    regressors: Callable[[Params], dict[str, float]],
    observable: str,
    sides: Mapping[str, Side] | None = None,
    validate: Callable[[Params], None] = lambda _cell: None,
) -> Rate:
    """The exponents of the statement's one term in the regressors.

    Parameters
    ----------
    column : of the experiment, whose mean is regressed.
    sides : the side on which an exponent may lie; by default that of the statement's relation.
    """
    (term,) = statement.terms
    refuse_untried(statement, regressors(cells[0]))
    side = RELATIONS[statement.relation]
    return Rate(
        name=statement.id,
        sampling=sampling,
        cells=tuple(cells),
        statistic=lambda table: table[column],
        regressors=regressors,
        stated={
            name: StatedRate(
                exponent=statement.power(term.name, sp.Symbol(name)),
                side=(sides or {}).get(name, side),
                symbol=f"${latex(sp.Symbol(name), statement.publication.notation)}$",
            )
            for name in regressors(cells[0])
        },
        observable=observable,
        validate=validate,
        margin=_TOLD_APART,
    )
