r"""E S <= b (or >=, or =) in every cell, by confidence sequences for a mean in doubling rounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from bounds.statement import Statement, Values
from trials.checks import InvalidParameter
from trials.run.cell import Params
from trials.run.engine import trial_id
from trials.run.store import Table
from verify.decisions.combine import CellDecision, combine
from verify.decisions.means import (
    Knowledge,
    MeanTest,
    Side,
    asymptotic_resolution,
    decide_trials,
    find_unresolved,
)
from verify.evidence import Evidence, Verdict, Witness
from verify.procedures.base import (
    FloatArray,
    Observed,
    Present,
    Presentation,
    Sampling,
    Trials,
    nothing_to_show,
)
from verify.procedures.interface import InRounds, Valued, the_cell

SIDES: dict[str, Side] = {r"\le": "at most", r"\ge": "at least", "=": "equals"}


@dataclass(frozen=True, kw_only=True)
class MeanBound(Valued, InRounds):
    r"""The kind *expectation*: a statement about a mean, cell by cell.

    The bound and its side come from the statement: :math:`E S \le b` for ``relation=r"\le"``, and
    so on.  Events of single clients depend on each other within a trial.  So they give one value
    for each trial: return their share from ``statistic`` and declare ``Knowledge(low=0, high=1)``.

    Attributes
    ----------
    values : ``cell -> `` the statement's symbols there, hidden constants of assumptions included.
    statistic : ``(trials, cell) -> (n_trials,)`` the value S of each trial.
    knowledge : ``cell -> `` the knowledge about S: its range, or a bound of its variance from an
        exact law.  It may also ask for asymptotic limits, and the report then says so.
    observable : S in words, with its unit.
    margin : for ``=``: the share of the bound within which support means equivalence.

    Examples
    --------
    >>> import sympy as sp
    >>> from bounds.statement import Publication, Statement, Term
    >>> from trials.run.experiment import Experiment
    >>> half = Statement(id="toy.half", title="", source="", kind="expectation",
    ...     publication=Publication(label="Nobody 1900", bibtex="@misc{nobody, year={1900}}"),
    ...     quantifiers="", observed="E S", terms=(Term(name="half", expr=sp.Rational(1, 2)),))
    >>> coin = Experiment(name="doc.coin", design=4_000_000_000, columns=("s",),
    ...     simulate=lambda params, rng, n: rng.random((n, 1)), check=dict)
    >>> claim = MeanBound(statement=half, sampling=Sampling(experiment=coin, max_trials=512),
    ...     cells=({},), statistic=lambda table, _cell: table["s"],
    ...     knowledge=lambda _cell: Knowledge(low=0, high=1), observable="a uniform value")
    >>> claim.bound({})
    0.5
    """

    statement: Statement
    sampling: Sampling
    cells: tuple[Params, ...]
    statistic: Callable[[Table, Params], FloatArray]
    knowledge: Callable[[Params], Knowledge]
    observable: str
    values: Callable[[Params], Values] = the_cell
    margin: float = 0.1
    present: Present = nothing_to_show

    @property
    def side(self) -> Side:
        """The side of the bound on which the statement puts the mean."""
        if self.statement.relation not in SIDES:
            raise InvalidParameter(
                f"{self.name}: relation {self.statement.relation} must be one of {', '.join(SIDES)}"
            )
        return SIDES[self.statement.relation]

    def bound(self, cell: Params) -> float:
        """The stated limit of the mean.  `OutsideTheorem` is raised where an assumption fails."""
        return float(self.statement.bound(self.values(cell)))

    def require(self, cell: Params) -> None:
        """The cell is possible and inside the theorem, and its bound is a number."""
        self.sampling.experiment.check(cell)
        self._test(cell, 0.5)

    def describe(self) -> str:
        """Cells, budget, stopping rule and the knowledge behind the limits."""
        form = f"equal to the stated mean (equivalence margin {self.margin:.0%})"
        if self.side != "equals":
            form = f"{self.side} the stated bound"
        return (
            f"The mean of {self.observable} is tested to be {form} in {len(self.cells)} cells of "
            f"experiment {self.sampling.experiment.name}, by confidence sequences for a mean "
            f"({', '.join(sorted({self._route(c) for c in self.cells}))}). The trials come in "
            f"doubling rounds from {self.sampling.first} to {self.sampling.max_trials} trials a "
            "cell, and a decided cell gets no more. A failed trial takes "
            + (
                "either end of the range, and the equality must hold with both."
                if self.side == "equals"
                else "the worst value of the range."
            )
        )

    def _route(self, cell: Params) -> str:
        known = self.knowledge(cell)
        if math.isfinite(known.variance):
            return "Catoni's bets, variance known"
        if math.isfinite(known.high) and math.isfinite(known.low):
            return "bets, range known"
        one_end = math.isfinite(known.high) or math.isfinite(known.low)
        rest = "asymptotic limits" if known.asymptotic else "nothing"
        return f"bets towards the known end, {rest} towards the other" if one_end else rest

    def _test(self, cell: Params, level: float) -> MeanTest:
        return MeanTest(
            bound=self.bound(cell),
            side=self.side,
            knowledge=self.knowledge(cell),
            horizon=self.sampling.max_trials,
            refute_level=level / self._n_cells(),
            support_level=level,
            margin=self.margin,
        )

    def _n_cells(self) -> int:
        """The cells over which the refuting level is split, those with a trivial bound included."""
        return max(len(self.cells), 1)

    def without_laws(self) -> Self:
        """The same test without the range and the variance that are known of the algorithm."""
        return replace(self, knowledge=lambda _cell: Knowledge(asymptotic=True))

    def fingerprint(self) -> Any:
        """The side and the bound of every cell."""
        return [self.side, [self.bound(cell) for cell in self.cells]]

    def unresolved(self, observed: Sequence[Observed], level: float) -> Sequence[int]:
        """The undecided cells, none after one has refuted."""
        return find_unresolved([self._cell(o, level, limits=False) for o in observed])

    def _cell(self, observed: Observed, level: float, *, limits: bool = True) -> CellDecision:
        test = self._test(observed.params, level)
        table = observed.table
        values = self.statistic(table, observed.params)
        return decide_trials(values, table.failed, test, limits=limits)

    def decide(self, store: Trials, level: float) -> Evidence:
        """The verdict with one row a cell and, when refuted, a trial to replay."""
        _, observed = self.rounds(store, level)
        cells = [self._cell(o, level) for o in observed]
        verdict, summary = combine(cells)
        asymptotic = any(c.asymptotic for c in cells)
        note = (
            "The verdict rests on asymptotic limits: neither a range nor a variance is known. "
            "Values that are rarer than the trials resolve may be missing in the means."
        )
        return self.evidence(
            observed,
            Presentation(sharpness=self._sharpness(cells), notes=(note,) if asymptotic else ()),
            verdict=verdict,
            resolution=asymptotic_resolution(verdict, cells, level),
            summary=summary,
            level=level,
            cells=[c.result(o.params) for c, o in zip(cells, observed, strict=True)],
            witness=self._witness(cells, observed) if verdict is Verdict.REFUTED else None,
        )

    def _sharpness(self, cells: Sequence[CellDecision]) -> list[str]:
        ratios = [
            c.observed / c.bound
            for c in cells
            if c.observed is not None and 0 < c.bound < math.inf and math.isfinite(c.observed)
        ]
        if not ratios:
            return []
        return [f"Observed mean over the bound: from {min(ratios):.3g} to {max(ratios):.3g}."]

    def _witness(self, cells: Sequence[CellDecision], observed: Sequence[Observed]) -> Witness:
        """The refuting cell and its most extreme trial.

        An equality has two wrong sides.  The trial lies on that of the mean.
        """
        i = next(i for i, c in enumerate(cells) if c.status == "fails")
        cell, worst = cells[i], observed[i]
        values = np.asarray(self.statistic(worst.table, worst.params), dtype=np.float64)
        mean = math.nan if cell.observed is None else cell.observed
        below = mean < cell.bound if self.side == "equals" else self.side == "at least"
        distance = cell.bound - values if below else values - cell.bound
        extreme = int(np.argmax(np.where(worst.table.failed, np.inf, distance)))
        return Witness(
            description=f"mean of {self.observable} over {cell.n_trials} trials; the trial "
            "farthest on the wrong side",
            params=worst.params,
            observed=mean,
            bound=cell.bound,
            trial=trial_id(self.sampling.experiment, worst.params, extreme),
        )
