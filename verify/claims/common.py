"""Code that the claims of several papers share: log tail bounds and explicit constants."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp

from bounds.statement import Statement, evaluate, exponent
from trials.checks import InvalidParameter
from trials.run.cell import Params
from trials.run.store import Table
from verify.evidence import Slack
from verify.procedures.base import (
    BoolArray,
    FloatArray,
    Observed,
    Presentation,
    Sampling,
    finished,
)
from verify.procedures.probability import Probability
from verify.procedures.told_apart import Seen, told_apart
from verify.proofs.cells import ExactTail

Point = Mapping[str, Any]


class CannotTry(InvalidParameter):
    """The procedure cannot try the statement that it was given.  The message gives the reason."""


def refuse_untried(
    statement: Statement, names: Collection[str], expr: sp.Expr | None = None
) -> None:
    """Refuse a statement with a symbol of which the cells try no exponent.

    Its rate would be supported with any power of that symbol.

    Parameters
    ----------
    names : of the symbols whose exponents are tried, or whose powers the claim checks elsewhere.
    expr : the product of powers that is tried, by default the statement's right-hand side.

    Raises
    ------
    CannotTry : The message names the symbols.
    """
    tried = statement.expr if expr is None else expr
    others = tried.free_symbols - {constant.symbol for constant in statement.constants}
    untried = [s.name for s in others if s.name not in names and exponent(tried, s) != 0]
    if untried:
        raise CannotTry(f"{statement.id}: no exponent of {', '.join(sorted(untried))} is tried")


def log_bound(statement: Statement, constants: Mapping[str, float]) -> Callable[[Point], float]:
    """Log of the statement's right-hand side at a point, without underflow of its exponentials."""
    expr = statement.expr.subs(
        {c.symbol: constants[c.name] for c in statement.constants if c.name in constants}
    ).doit()
    log_expr = sp.expand_log(sp.log(expr), force=True)
    return lambda point: float(evaluate(log_expr, point))


def log_of(expr: sp.Expr, at: Mapping[str, float]) -> float:
    """Log of an expression at a point, without underflow of its exponentials."""
    return float(evaluate(_log(expr), at))


@lru_cache(maxsize=1024)
def _log(expr: sp.Expr) -> sp.Expr:
    return sp.expand_log(sp.log(expr.doit()), force=True)


def log_failure(statement: Statement, at: Mapping[str, float]) -> float:
    """Log of the stated failure probability at a point, minus infinity where none is allowed."""
    return -math.inf if statement.failure is None else log_of(statement.failure, at)


def spell(constants: Mapping[str, float]) -> str:
    """The values of exhibited constants, for a sentence."""
    return ", ".join(f"${name}={value:.4g}$" for name, value in constants.items())


def stated_quantile(values: FloatArray, failure: float) -> float:
    """The smallest observed value that at most a share ``failure`` of the trials exceeds.

    It is the largest value where no trial may fail. A value that is no number counts as infinite.

    Examples
    --------
    >>> stated_quantile(np.array([1.0, 9.0, 2.0, 3.0]), 0.25)
    3.0
    >>> stated_quantile(np.array([1.0, 9.0, 2.0, 3.0]), 0.0)
    9.0
    """
    ordered = np.sort(np.where(np.isnan(values), np.inf, values))
    allowed = min(math.floor(failure * ordered.size), ordered.size - 1)
    return float(ordered[-1 - allowed])


#: ``(cell, b) -> `` log of a limit on P(observed > b) from an exact law, None where there is none.
ExactLog = Callable[[Params, float], float | None]


@dataclass(frozen=True, kw_only=True)
class _Sides:
    """Both sides of a statement with exhibited constants.  The fields are those of `explicit`."""

    statement: Statement
    constants: Mapping[str, float]
    symbols: Callable[[Params], dict[str, float]]
    observed: Callable[[Table], FloatArray]
    covariates: Callable[[Table, Params], dict[str, FloatArray]]
    known: Callable[[Params], dict[str, float]]
    unit: Callable[[Params], float]

    def given(self, params: Params) -> dict[str, Any]:
        """The symbols that no trial changes."""
        return {**params, **self.symbols(params), **self.constants}

    def in_every_trial(self, params: Params) -> dict[str, Any]:
        """All symbols, with those values of the covariates that hold in every trial."""
        return {**self.given(params), **self.known(params)}

    def right(self, table: Table, params: Params) -> dict[str, Any]:
        """The symbols of the right-hand side, with the covariates of each trial."""
        return {**self.constants, **self.symbols(params), **self.covariates(table, params)}

    def left(self, table: Table, params: Params) -> FloatArray:
        """The observed values, (n_trials,), in the statement's unit."""
        return np.asarray(self.unit(params) * self.observed(table))

    def bound(self, table: Table, params: Params) -> FloatArray:
        """The right-hand side, one value or (n_trials,)."""
        full = {**self.given(params), **self.covariates(table, params)}
        return np.asarray(self.statement.bound(full, unchecked=True))

    def bad(self, table: Table, params: Params) -> BoolArray:
        """The trials that exceed the bound, (n_trials,)."""
        return np.asarray(self.left(table, params) > self.bound(table, params))

    def delta(self, params: Params) -> float:
        """The stated failure probability."""
        return self.statement.failure_probability(self.given(params))

    def at_bound(self, law: ExactLog | None, params: Params) -> float | None:
        """The log limit of an exact law on P(observed > bound), None where there is none."""
        if law is None:
            return None
        full = self.in_every_trial(params)
        return law(params, float(self.statement.bound(full, unchecked=True)))

    def over_bound(self, table: Table, params: Params) -> FloatArray:
        """The observed value over its bound in every trial, infinite where the trial failed."""
        ratio = np.full(table.n_trials, np.inf)
        own = table.finished
        if own.n_trials:
            limit = np.maximum(self.bound(own, params), 1e-300)
            ratio[~table.failed] = self.left(own, params) / limit
        return ratio

    def present(self, stored: Sequence[Observed]) -> Presentation:
        """How far the observed values stay below the bound, and the symbols they tell apart."""
        ratios = [
            stated_quantile(self.over_bound(o.table, o.params), self.delta(o.params))
            for o in stored
        ]
        cells = [
            Seen(self.right(table, params), self.left(table, params), self.delta(params))
            for table, params in ((o.table, o.params) for o in finished(stored))
        ]
        slack = Slack.of("these constants", ratios)
        return Presentation(slack=slack, apart=told_apart(self.statement, cells))


def explicit(
    statement: Statement,
    constants: Mapping[str, float],
    sampling: Sampling,
    cells: Sequence[Params],
    symbols: Callable[[Params], dict[str, float]],
    observed: Callable[[Table], FloatArray],
    event: str,
    covariates: Callable[[Table, Params], dict[str, FloatArray]] = lambda _t, _p: {},
    log_tail: ExactLog | None = None,
    known: Callable[[Params], dict[str, float]] = lambda _p: {},
    tail: ExactTail | None = None,
    unit: Callable[[Params], float] = lambda _p: 1.0,
    log_least: ExactLog | None = None,
) -> Probability:
    """A statement with all constants exhibited: P(observed > bound) <= failure probability.

    Parameters
    ----------
    constants : values of the statement's constants, from an argument and not from trials.
    symbols : ``cell -> `` the statement's symbols there.
    observed : the left-hand side of every trial, (n_trials,), in units of ``unit``.
    event : the violation in words.
    covariates : symbols of the right-hand side that are read from the trials.
    log_tail : ``(cell, b) -> `` log of a limit on P(observed > b) from an exact law.
    known : values of the covariates in every trial of a cell, for the bound whose ``log_tail`` is
        computed.
    tail : the exact law's limit as an expression, which a proof in each cell compares.
    unit : ``cell -> `` the unit of ``observed``.  ``log_tail`` gets b in the statement's own.
    log_least : as ``log_tail``, for a limit from below: the same where the law is exact.
    """

    sides = _Sides(
        statement=statement,
        constants=constants,
        symbols=symbols,
        observed=observed,
        covariates=covariates,
        known=known,
        unit=unit,
    )
    return Probability(
        name=statement.id,
        sampling=sampling,
        cells=tuple(cells),
        bad=sides.bad,
        present=sides.present,
        delta=sides.delta,
        event=f"{event}, with {spell(constants)}" if constants else event,
        validate=lambda params: statement.require(symbols(params)),
        log_delta=lambda params: log_failure(statement, sides.given(params)),
        log_limit=lambda params: sides.at_bound(log_tail, params),
        log_least=lambda params: sides.at_bound(log_least, params),
        prove=lambda cells: (
            tail.prove_all(statement, [*map(sides.in_every_trial, cells)]) if tail else None
        ),
        symbols=sides.right,
    )
