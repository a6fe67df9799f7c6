"""Comparisons: methods on the same data in one trial, and means along one parameter."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import sympy as sp
from scipy.optimize import isotonic_regression

from bounds.render import latex
from bounds.statement import Contrast, Statement, Trend, Values
from trials.checks import InvalidParameter
from trials.run.cell import Params
from trials.run.engine import Demand, trial_id
from trials.run.store import Table
from verify.decisions.combine import CellDecision, combine
from verify.decisions.comparisons import ContrastTest, Scale, TrendTest
from verify.decisions.means import (
    Knowledge,
    asymptotic_resolution,
    find_unresolved,
    require_range,
)
from verify.decisions.sequences import resolvable
from verify.evidence import CellResult, Evidence, EvidenceTable, Figure, Series, Verdict, Witness
from verify.procedures.base import (
    BoolArray,
    FloatArray,
    Observed,
    Present,
    Presentation,
    Sampling,
    Trials,
    counted_trials,
    nothing_to_show,
    tex_number,
)
from verify.procedures.interface import InRounds, Sampled, Valued, the_cell

#: Beside a verdict of limits that are valid for many trials only.
_ASYMPTOTIC = "Limits are asymptotic: the values have no known range."


@dataclass(frozen=True, kw_only=True)
class Comparison(Valued, InRounds):
    """The kind *comparison*, between methods: the statement's contrasts in every cell.

    Attributes
    ----------
    columns : method, as the contrasts name it -> column of the experiment.
    knowledge : ``cell -> `` the knowledge about each method's value.
    unit : the unit of the values, in words.
    scale : ``"mean"`` compares means.  ``"sign"`` tests which method is smaller in more than half
        of the trials, margins included.  Heavy tails do not affect it.
    failed : the end of the values that replaces a value that is not finite: ``"high"`` for errors,
        ``"low"`` for successes.
    """

    statement: Statement
    sampling: Sampling
    cells: tuple[Params, ...]
    columns: Mapping[str, str]
    knowledge: Callable[[Params], Knowledge]
    unit: str
    values: Callable[[Params], Values] = the_cell
    scale: Scale = "mean"
    failed: Literal["high", "low"] = "high"
    present: Present = nothing_to_show

    def check(self) -> None:
        """Check that the contrasts name known methods and columns, and that every cell is valid."""
        if not self.statement.contrasts:
            raise InvalidParameter(f"{self.name} has no contrasts to compare methods by")
        for contrast in self.statement.contrasts:
            for method in (contrast.left, contrast.right):
                if method not in self.columns:
                    known = ", ".join(self.columns)
                    raise InvalidParameter(f"{self.name}: method {method!r} must be one of {known}")
        for method, column in self.columns.items():
            if column not in self.sampling.experiment.columns:
                known = ", ".join(self.sampling.experiment.columns)
                raise InvalidParameter(
                    f"{self.name}: column {column!r} of {method} must be one of {known}"
                )
        super().check()

    def require(self, cell: Params) -> None:
        """The cell is possible and inside the theorem, and its tests have a level."""
        self.sampling.experiment.check(cell)
        self.statement.require(self.values(cell))
        self._tests(cell, 0.5)

    def describe(self) -> str:
        """Contrasts, cells, budget and rule."""
        contrasts = "; ".join(f"${c.latex()}$" for c in self.statement.contrasts)
        what = (
            f"means of {self.unit}"
            if self.scale == "mean"
            else f"the share of trials in which one method has the smaller {self.unit}"
        )
        return (
            f"All methods run on the same data in a trial. They are compared by {what}: "
            f"{contrasts}. There are {len(self.cells)} cells of experiment "
            f"{self.sampling.experiment.name}. Confidence "
            "sequences bound the mean of paired differences, with two one-sided tests for "
            "equivalence. "
            f"The trials come in doubling rounds from {self.sampling.first} to "
            f"{self.sampling.max_trials} trials a "
            "cell. Refutations are corrected over cells and contrasts. A value that is not finite "
            f"counts as the {self.failed} end of the values"
            + (
                ", and a trial without one of either method counts half."
                if self.scale == "sign"
                else "."
            )
        )

    def without_laws(self) -> Self:
        """The same contrasts without the ranges that are known of the methods."""
        return replace(self, knowledge=lambda _cell: Knowledge(asymptotic=True))

    def _tests(self, cell: Params, level: float) -> list[ContrastTest]:
        family = max(len(self.cells) * len(self.statement.contrasts), 1)
        return [
            ContrastTest(
                contrast=contrast,
                knowledge=self.knowledge(cell),
                horizon=self.sampling.max_trials,
                refute_level=level / family,
                support_level=level,
                scale=self.scale,
            )
            for contrast in self.statement.contrasts
        ]

    def _column(self, table: Table, method: str, cell: Params) -> FloatArray:
        known = self.knowledge(cell)
        worst = known.high if self.failed == "high" else known.low
        values = np.array(table[self.columns[method]], dtype=np.float64)
        values[~np.isfinite(values)] = worst
        require_range(values, known)
        return values

    def _both_failed(self, table: Table, contrast: Contrast) -> BoolArray:
        """The trials in which neither method has a finite value, (n_trials,)."""
        values = np.array([table[self.columns[side]] for side in (contrast.left, contrast.right)])
        return np.asarray(~np.isfinite(values).any(axis=0))

    def _cells(
        self, observed: Observed, level: float, *, limits: bool = True
    ) -> list[CellDecision]:
        """One decision for each contrast."""
        found = []
        for test in self._tests(observed.params, level):
            a = self._column(observed.table, test.contrast.left, observed.params)
            b = self._column(observed.table, test.contrast.right, observed.params)
            lost = self._both_failed(observed.table, test.contrast)
            no_difference = self.scale == "mean" and np.isinf(a[lost]).any()  # inf - inf
            if lost.all() or no_difference:
                found.append(
                    CellDecision(
                        status="open",
                        n_trials=a.size,
                        n_failed=observed.table.n_failed,
                        bound=1.0 + test.contrast.margin,
                        reason=f"both methods failed in {counted_trials(int(lost.sum()))}",
                    )
                )
                continue
            n_failed = observed.table.n_failed
            found.append(test.decide(a, b, n_failed=n_failed, limits=limits, lost=lost))
        return found

    def unresolved(self, observed: Sequence[Observed], level: float) -> list[int]:
        """The cells with an undecided contrast, none after a contrast has refuted."""
        return find_unresolved([self._worst(self._cells(o, level, limits=False)) for o in observed])

    @staticmethod
    def _worst(cells: Sequence[CellDecision]) -> CellDecision:
        order = ("fails", "open", "holds", "trivial")
        return min(cells, key=lambda c: order.index(c.status))

    def decide(self, store: Trials, level: float) -> Evidence:
        """The evidence: one row for each contrast and cell, and the best method of each cell."""
        _, observed = self.rounds(store, level)
        decided = [self._cells(o, level) for o in observed]
        flat = [c for row in decided for c in row]
        verdict, summary = combine(flat)
        rows = [
            c.result({**o.params, "contrast": self._spell(i)})
            for o, row in zip(observed, decided, strict=True)
            for i, c in enumerate(row)
        ]
        asymptotic = any(c.asymptotic for c in flat)
        return self.evidence(
            observed,
            Presentation(
                tables=(self._winners(observed),), notes=(_ASYMPTOTIC,) if asymptotic else ()
            ),
            verdict=verdict,
            resolution=asymptotic_resolution(verdict, flat, level),
            summary=summary,
            level=level,
            cells=rows,
            witness=self._witness(decided, observed) if verdict is Verdict.REFUTED else None,
        )

    def _spell(self, i: int) -> str:
        contrast = self.statement.contrasts[i]
        factor = (
            f"{1 + contrast.margin:g} " if contrast.relation == "<=" and contrast.margin else ""
        )
        share = f" up to {contrast.margin:.0%}" if contrast.relation == "=" else ""
        return f"{contrast.left} {contrast.relation} {factor}{contrast.right}{share}"

    def _winners(self, observed: Sequence[Observed]) -> EvidenceTable:
        """Every method's mean in every cell, and the smallest: all that share it."""
        methods = list(self.columns)
        rows: list[tuple[str | float, ...]] = []
        successes = self.failed == "low"
        for i, o in enumerate(observed, 1):
            columns = [self._column(o.table, m, o.params) for m in methods]
            means = [float(np.mean(c)) for c in columns]
            best = max(means) if successes else min(means)
            tied = [m for m, mean in zip(methods, means, strict=True) if mean == best]
            rows.append((str(i), *means, ", ".join(tied)))
        return EvidenceTable(
            title="Who wins where",
            columns=("cell", *methods, "largest" if successes else "smallest"),
            rows=rows,
            note=f"means of {self.unit}; cells in the order above",
        )

    def _witness(
        self, decided: Sequence[Sequence[CellDecision]], observed: Sequence[Observed]
    ) -> Witness:
        """The first refuting contrast, with the trial where the left value is farthest above."""
        i, j = next(
            (i, j)
            for i, row in enumerate(decided)
            for j, c in enumerate(row)
            if c.status == "fails"
        )
        contrast, o, cell = self.statement.contrasts[j], observed[i], decided[i][j]
        a, b = (self._column(o.table, m, o.params) for m in (contrast.left, contrast.right))
        with np.errstate(invalid="ignore"):  # a trial in which both failed is not shown
            gap = np.abs(a - b) if contrast.relation == "=" else a - b
        return Witness(
            description=f"{self._spell(j)} contradicted by {cell.n_trials} trials; the trial with "
            "the largest difference",
            params=o.params,
            observed=cell.observed if cell.observed is not None else math.nan,
            bound=cell.bound,
            trial=trial_id(self.sampling.experiment, o.params, int(np.nanargmax(gap))),
        )


@dataclass(frozen=True, kw_only=True)
class Monotone(Valued, Sampled):
    """The kind *comparison*, along a parameter: the statement's one trend.

    Cells that differ in the trend's parameter alone form a sequence.  Each sequence is tested.

    Attributes
    ----------
    along : name of the cell's parameter behind the trend's symbol.
    statistic : ``(trials, cell) -> (n_trials,)`` whose mean is said to grow or fall.
    enough : ``cell -> trials`` of a cell that needs fewer than the budget, fixed beforehand.
    """

    statement: Statement
    sampling: Sampling
    cells: tuple[Params, ...]
    along: str
    statistic: Callable[[Table, Params], FloatArray]
    knowledge: Callable[[Params], Knowledge]
    observable: str
    failed: float = math.nan
    values: Callable[[Params], Values] = the_cell
    present: Present = nothing_to_show
    enough: Callable[[Params], int] | None = None

    @property
    def trend(self) -> Trend:
        """The statement's one trend."""
        if len(self.statement.trends) != 1:
            raise InvalidParameter(
                f"{self.name} has {len(self.statement.trends)} trends; one is tried at a time"
            )
        return self.statement.trends[0]

    @property
    def _symbol(self) -> str:
        return latex(self.trend.symbol, self.statement.publication.notation)

    def sequences(self) -> list[list[int]]:
        """Positions of cells that differ in the trend's parameter alone, in its order."""
        groups: dict[str, list[int]] = {}
        for i, cell in enumerate(self.cells):
            others = repr(sorted((k, v) for k, v in cell.items() if k != self.along))
            groups.setdefault(others, []).append(i)
        return [sorted(g, key=lambda i: self.cells[i][self.along]) for g in groups.values()]

    def counts(self) -> list[int]:
        """The trials of each cell."""
        most = self.sampling.max_trials
        return [most if self.enough is None else min(self.enough(c), most) for c in self.cells]

    def demands(self, store: Trials, _level: float) -> list[Demand]:
        """All trials of every cell."""
        return self.sampling.missing(store, self.cells, self.counts())

    def check(self) -> None:
        """Every cell is possible, and every sequence has at least three distinct values."""
        _ = self.trend
        for cell in self.cells:
            if self.along not in cell:
                raise InvalidParameter(f"{self.name}: a cell has no {self.along}")
            self.require(cell)
        for group in self.sequences():
            values = [self.cells[i][self.along] for i in group]
            if len(set(values)) != len(values) or len(values) < 3:
                raise InvalidParameter(
                    f"{self.name}: {self.along}={values} must be three or more distinct values in "
                    "each sequence of cells"
                )

    def require(self, cell: Params) -> None:
        """The cell is possible and inside the theorem."""
        self.sampling.experiment.check(cell)
        self.statement.require(self.values(cell))

    def override(self, values: Mapping[str, Any]) -> Self:
        """The same trend with other parameters fixed.  The trend's own parameter must vary."""
        if self.along in values:
            raise InvalidParameter(f"{self.name}: {self.along} must vary, it cannot be given")
        return super().override(values)

    def describe(self) -> str:
        """Cells, budget and rule."""
        exact = all(self.knowledge(cell).two_valued for cell in self.cells)
        compared = (
            "Two cells are compared by an exact test of the difference of two shares, ordered by "
            "the likelihood ratio. The limits of a mean are exact (Clopper-Pearson)."
            if exact
            else "Two cells are compared by limits of their means, those of confidence sequences."
        )
        return (
            f"The statement says that the mean of {self.observable} {self.trend.direction} with "
            f"${self._symbol}$. It is tested in {len(self.sequences())} sequences of cells of "
            f"experiment {self.sampling.experiment.name}, {_range_of(self.counts())} trials a "
            f"cell. It is refuted by a pair of cells that goes the wrong way by more than "
            f"{self.trend.margin:g}. It is "
            "supported when no pair can go so far and the Jonckheere-Terpstra test finds the "
            f"trend. {compared}"
        )

    def _groups(self, observed: Sequence[Observed]) -> list[FloatArray]:
        """Each cell's values.  A failed trial has the declared value or makes the cell unusable."""
        sign = 1.0 if self.trend.direction == "increases" else -1.0
        found = []
        for o in observed:
            x = np.array(self.statistic(o.table, o.params), dtype=np.float64)
            x[o.table.failed] = self.failed
            require_range(x, self.knowledge(o.params))
            found.append(sign * x)
        return found

    def decide(self, store: Trials, level: float) -> Evidence:
        """One decision for each sequence.

        It reads the whole budget, because a rank test does not allow optional stopping.
        """
        observed = self.sampling.observed(store, self.cells, self.counts())
        groups, sequences = self._groups(observed), self.sequences()
        sign = 1.0 if self.trend.direction == "increases" else -1.0
        decided: list[CellDecision] = []
        rows: list[CellResult] = []
        series: list[Series] = []
        smallest = math.inf  # trials of a cell whose limits are asymptotic
        for sequence in sequences:
            samples = [groups[i] for i in sequence]
            known = Knowledge.shared([self.knowledge(self.cells[i]) for i in sequence])
            test = TrendTest(
                margin=self.trend.margin,
                knowledge=known if sign > 0 else known.mirrored(),
                horizon=self.sampling.max_trials,
                refute_level=level / len(sequences),
                support_level=level,
            )
            lost = sum(int(np.isnan(x).sum()) for x in samples)
            if lost:
                decided.append(_open(samples, f"{counted_trials(lost)} failed"))
                continue
            if not test.exact:
                smallest = min(smallest, *(x.size for x in samples))
            status, reason, limits = test.decide(samples)
            decided.append(replace(_open(samples, reason), status=status))
            means = [sign * float(x.mean()) for x in samples]
            ends = [sorted((sign * low, sign * high)) for low, high in limits]
            fitted = isotonic_regression(np.asarray(means), increasing=sign > 0).x
            for i, mean, (low, high), smooth in zip(sequence, means, ends, fitted, strict=True):
                rows.append(
                    CellResult(
                        params=dict(self.cells[i]),
                        n_trials=groups[i].size,
                        n_failed=observed[i].table.n_failed,
                        observed=mean,
                        lower=low,
                        upper=high,
                        verdict="",
                        note=f"isotonic fit {smooth:.4g}",
                    )
                )
            series.append(
                Series(
                    label=self._difference(sequence, sequences),
                    x=[float(self.cells[i][self.along]) for i in sequence],
                    y=means,
                    lower=[e[0] for e in ends],
                    upper=[e[1] for e in ends],
                )
            )
        verdict, summary = combine(decided, "sequence of cells", "sequences of cells")
        reasons = dict.fromkeys(c.reason for c in decided if c.reason)
        fallen = [c.reason for c in decided if c.status == "fails"]
        resolution = None
        if math.isfinite(smallest):
            reasons[_ASYMPTOTIC] = None
            if verdict is Verdict.SUPPORTED:
                resolution = resolvable(int(smallest), level)
        return self.evidence(
            observed,
            Presentation(figures=(self._figure(series),) if series else (), notes=(*reasons,)),
            verdict=verdict,
            resolution=resolution,
            summary=summary + (f": {fallen[0]}" if verdict is Verdict.REFUTED else ""),
            level=level,
            cells=rows,
        )

    def _difference(self, sequence: Sequence[int], sequences: Sequence[Sequence[int]]) -> str:
        """The parameters in which a sequence differs from others, in letters."""
        here = self.cells[sequence[0]]
        firsts = [self.cells[each[0]] for each in sequences]
        names = [k for k in here if k != self.along and any(c.get(k) != here[k] for c in firsts)]
        return (
            ", ".join(
                f"${latex(sp.Symbol(k))}={tex_number(here[k])}$"
                if isinstance(here[k], int | float)
                else str(here[k])
                for k in names
            )
            or "means"
        )

    def _figure(self, series: Sequence[Series]) -> Figure:
        return Figure(
            name="trend",
            title="Means along the parameter",
            xlabel=f"${self._symbol}$",
            ylabel=f"mean of {self.observable}",
            series=series[:6],
            caption="Limits at half the claim's level"
            + ("; the first six sequences." if len(series) > 6 else "."),
        )


def _range_of(counts: Sequence[int]) -> str:
    """Numbers of trials as words: 60, or 16 to 60."""
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"


def _open(samples: Sequence[FloatArray], reason: str) -> CellDecision:
    """An undecided sequence of cells."""
    return CellDecision(
        status="open", n_trials=sum(x.size for x in samples), bound=math.nan, reason=reason
    )
