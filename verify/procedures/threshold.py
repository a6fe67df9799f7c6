"""Thresholds: the size above which something works, cell by cell, and how it scales."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import sympy as sp

from bounds.render import latex
from bounds.statement import Statement, Values
from trials.checks import InvalidParameter
from trials.run.cell import Params
from trials.run.engine import Demand
from trials.run.store import Table
from verify.decisions.combine import CellDecision, Status, combine, worse, worst
from verify.decisions.comparisons import exact_share_limits
from verify.decisions.rates import Side, along, decide_rate, fit_power_law, log_design
from verify.decisions.thresholds import Design, ThresholdFit
from verify.evidence import Evidence, EvidenceTable, Figure, Series, Verdict
from verify.procedures.base import (
    BoolArray,
    Observed,
    Present,
    Presentation,
    Sampling,
    Trials,
    nothing_to_show,
    tex_number,
    truths,
)
from verify.procedures.interface import Sampled, Valued, the_cell
from verify.procedures.swapped import SwappedTrials

#: The cells that the figure draws, at most.
_DRAWN = 6
_RELATIONS: dict[str, Side] = {
    r"\le": "at most",
    r"\ge": "at least",
    "=": "equals",
    r"\propto": "equals",
}


@dataclass(frozen=True, kw_only=True)
class Sized:
    """One cell's draws: for each size that was tried, successes and trials.

    ``observed`` holds the trials of every size, in the order in which the sizes were first tried.
    ``otherwise`` is the fit with failed trials as successes, where an equality has any.
    """

    params: Params
    counts: Mapping[int, tuple[int, int]]
    observed: tuple[Observed, ...]
    fit: ThresholdFit
    otherwise: ThresholdFit | None = None

    @property
    def n_failed(self) -> int:
        """Failed trials at all sizes."""
        return sum(o.table.n_failed for o in self.observed)


@dataclass(frozen=True, kw_only=True)
class Threshold(Valued, Sampled):
    r"""The kind *threshold*: where the probability of success crosses ``target``, and its scaling.

    With ``scaling`` the statement gives the order of the threshold.  A sufficient size
    (``relation=r"\le"``: no more is needed) says that the true threshold over the stated one, the
    *required constant*, stays below some number.  So it may not grow in any direction in which the
    domain has no end.  The whole expression is evaluated, logarithms and sums included.  Without
    ``scaling`` the statement gives the threshold itself, and every cell's limits are compared with
    its value.

    Attributes
    ----------
    cells : parameters without the size.
    size : name of the experiment's parameter that is searched, an integer.
    grid : ``cell -> `` ascending sizes, e.g. by `verify.decisions.thresholds.log_grid`.
    success : ``(trials, cell) -> (n_trials,)`` bool.  A failed trial is no success, and it is one
        where the statement is that smaller sizes do not work.  An equality must hold with both.
    event : success in words.
    scaling : names of the symbols along which the required constant is compared.  Any other symbol
        of the statement must vary between the cells.  Nothing is known of its domain, so that the
        required constant may not grow towards larger nor towards smaller values of it.
    towards : the directions in which the domain has no end, each as symbol -> its share of the
        direction in logs.  ``{"d": 1}`` is larger d, ``{"p": -1}`` smaller p, and ``{"m": 1, "c":
        1}`` larger m and c in proportion.  They decide an inequality.  An equality is asked of each
        symbol alone.
    target : success probability at the threshold.
    precision : with ``scaling`` the sampling in a cell ends when the ends of the model's profile
        differ by this factor.  Without it the sampling ends when the limits decide.
    margin : growth of the required constant per unit log that counts as none.  Without ``scaling``
        and for ``=`` it is a share of the stated size.
    present : further figures from the trials of every cell and size.
    """

    statement: Statement
    sampling: Sampling
    cells: tuple[Params, ...]
    size: str
    grid: Callable[[Params], tuple[int, ...]]
    success: Callable[[Table, Params], BoolArray]
    event: str
    scaling: tuple[str, ...] = ()
    towards: tuple[Mapping[str, float], ...] = ()
    values: Callable[[Params], Values] = the_cell
    target: float = 0.5
    precision: float = 1.2
    margin: float = 0.15
    present: Present = nothing_to_show

    @property
    def side(self) -> Side:
        """The side of the stated growth on which the statement puts the true one."""
        return _RELATIONS[self.statement.relation]

    @property
    def compared(self) -> tuple[str, ...]:
        """The symbols of the fit: those of the scaling, and any other one of the statement."""
        constants = {c.symbol for c in self.statement.constants}
        symbols = {s.name for t in self.statement.terms for s in t.expr.free_symbols - constants}
        return (*self.scaling, *sorted(symbols - set(self.scaling))) if self.scaling else ()

    @property
    def directions(self) -> tuple[Mapping[str, float], ...]:
        """The directions in which growth is compared: for an equality each symbol alone."""
        if self.side == "equals":
            return tuple({name: 1.0} for name in self.compared)
        others = self.compared[len(self.scaling) :]
        return (*self.towards, *({name: sign} for name in others for sign in (1.0, -1.0)))

    def check(self) -> None:
        """Every cell is possible at both ends of its grid, and the cells determine the
        exponents.
        """
        for cell in self.cells:
            self._check_free(cell)
        self._check_symbols()
        for cell in self.cells:
            self.require(cell)
        varied = self._regressors(self.cells)
        for name in self.compared:
            if max(varied[name]) <= 1.05 * min(varied[name]):
                raise InvalidParameter(f"{self.name}: the cells do not vary {name}")
        if self.scaling:
            log_design(varied)

    def _check_symbols(self) -> None:
        """With a scaling, every cell has every symbol of the statement, and directions cover it."""
        known = set.intersection(*(set(self.values(cell)) for cell in self.cells))
        if self.scaling and (other := sorted(set(self.compared) - known)):
            raise InvalidParameter(
                f"{self.name}: the threshold contains {', '.join(other)}, of which no cell has a "
                f"value (the scaling is {', '.join(self.scaling)})"
            )
        covered = {name for direction in self.directions for name in direction}
        if covered != set(self.compared):
            raise InvalidParameter(
                f"{self.name}: an inequality needs directions (towards) for each of "
                f"{', '.join(self.scaling)}, not for {', '.join(sorted(covered)) or 'none'}"
            )

    def require(self, cell: Params) -> None:
        """The cell is possible at both ends of its grid, and its stated size is positive."""
        self._check_free(cell)
        design = self._design(cell, 0.5)
        for size in (design.grid[0], design.grid[-1]):
            self.sampling.experiment.check({**cell, self.size: size})
        values = self.values(cell)
        if not float(self.statement.bound(values)) > 0:
            raise InvalidParameter(f"{self.name}: the stated size must be positive in every cell")

    def _check_free(self, cell: Params) -> None:
        """The cell leaves open the size that is searched."""
        if self.size in cell:
            raise InvalidParameter(
                f"{self.name}: the cell fixes {self.size}={cell[self.size]}, which is searched"
            )

    def _regressors(self, cells: Sequence[Params]) -> dict[str, list[float]]:
        rows = [self.values(cell) for cell in cells]
        known = set.intersection(*(set(row) for row in rows)) if rows else set()
        return {n: [float(row[n]) for row in rows] for n in self.compared if n in known}

    def override(self, values: Mapping[str, Any]) -> Self:
        """The same search in cells with other values.

        A symbol that the values fix is a number of the statement from then on.
        """
        cells = super().override(values).cells
        if not self.scaling:
            return replace(self, cells=cells)
        fixed = {symbol.name for symbol in self._fixed(cells)}
        scaling = tuple(n for n in self.scaling if n not in fixed)
        if not scaling:
            raise InvalidParameter(
                f"{self.name}: with these values no parameter varies whose exponent is stated "
                f"({', '.join(self.scaling)})"
            )
        towards = tuple(direction for direction in self.towards if set(direction) <= set(scaling))
        covered = {name for direction in towards for name in direction}
        if self.side != "equals" and (left := set(scaling) - covered):
            raise InvalidParameter(
                f"{self.name}: with these values no direction is left for {', '.join(sorted(left))}"
            )
        moved = replace(self, cells=cells, scaling=scaling, towards=towards)
        return moved.with_numbers()

    def with_numbers(self) -> Self:
        """The same search for the statement with the numbers of the symbols that no cell varies."""
        fixed = self._fixed(self.cells) if self.scaling else {}
        terms = tuple(replace(t, expr=t.expr.subs(fixed)) for t in self.statement.terms)
        return replace(self, statement=replace(self.statement, terms=terms)) if fixed else self

    def _fixed(self, cells: Sequence[Params]) -> dict[sp.Symbol, float]:
        """The value of every compared symbol that the cells do not vary."""
        columns = self._regressors(cells)
        return {sp.Symbol(n): v[0] for n, v in columns.items() if max(v) <= 1.05 * min(v)}

    def describe(self) -> str:
        """Cells, design, model and comparison."""
        rule = (
            "The sizes next to the stated ones follow, until the limits of the threshold lie "
            "between those or beyond. The limits assume that the probability grows with the size, "
            "and nothing else. They hold at any stopping time."
        )
        if self.scaling:
            where = ", ".join(map(self._spell, self.directions))
            rule = (
                "Sizes around the fitted threshold follow, until the ends of its profile "
                f"likelihood over three links differ by a factor {self.precision:g}. The estimates "
                f"are compared with the stated order: their quotient must {self._allowed} (margin "
                f"{self.margin:g} per unit log) towards larger {where}, by least squares in logs "
                "weighted with the profiles' widths, with HC3 limits, which count a lack of fit. "
                "A model that is wrong in all cells alike moves no exponent."
            )
        return (
            f"The threshold is the size {self.size} at which {self.event} has probability "
            f"{self.target:g}. It is sought in {len(self.cells)} cells of experiment "
            f"{self.sampling.experiment.name}, by bisection on a logarithmic grid. {rule} A step "
            f"has {self.sampling.first} trials and a cell at most {self.sampling.max_trials}. "
            + {
                "at most": "A failed trial is no success.",
                "at least": "A failed trial counts as a success.",
                "equals": "The equality must hold with failed trials as successes and without.",
            }[self.side]
        )

    def _stated(self, cell: Params) -> tuple[float, float]:
        """The sizes between which the statement puts the threshold of a cell."""
        bound = float(self.statement.bound(self.values(cell)))
        low, high = bound * (1 - self.margin), bound * (1 + self.margin)
        return {"at most": (-math.inf, bound), "at least": (bound, math.inf)}.get(
            self.side, (low, high)
        )

    def _design(self, cell: Params, level: float) -> Design:
        share = level if self.scaling else level / max(len(self.cells), 1)
        block = self.sampling.experiment.block_size
        return Design(
            grid=self.grid(cell),
            batch=self.sampling.n_blocks(self.sampling.first) * block,
            budget=self.sampling.n_blocks(self.sampling.max_trials) * block,
            level=share,
            target=self.target,
            precision=self.precision,
            stated=None if self.scaling else self._stated(cell),
        )

    def fingerprint(self) -> Any:
        """The side and the stated size of every cell."""
        return [self.side, [self.statement.bound(self.values(cell)) for cell in self.cells]]

    def demands(self, store: Trials, level: float) -> list[Demand]:
        """The next batch of every cell whose sampling has not ended."""
        steps = (self._play(store, cell, level) for cell in self.cells)
        return [step for step in steps if isinstance(step, Demand)]

    def _play(self, store: Trials, cell: Params, level: float) -> Demand | Sized:
        """Repeat the design's choices on stored trials up to the first missing batch or the end."""
        if isinstance(store, SwappedTrials) and not store.draws:
            return self._follow(store, cell, level)
        design = self._design(cell, level)
        counts: dict[int, tuple[int, int]] = {}
        drawn: dict[int, Observed] = {}
        while (size := design.next_size(counts)) is not None:
            at = {**cell, self.size: size}
            wanted = counts.get(size, (0, 0))[1] + design.batch
            demand = self.sampling.upto(store, at, wanted)
            if demand is not None:
                return demand
            (drawn[size],) = self.sampling.observed(store, [at], [wanted])
            counts[size] = self._count(drawn[size])
        return self._sized(design, cell, counts, list(drawn.values()))

    def _sized(
        self,
        design: Design,
        cell: Params,
        counts: Mapping[int, tuple[int, int]],
        drawn: Sequence[Observed],
    ) -> Sized:
        """The fit of a cell's draws, and the one with failed trials as successes if it is asked."""
        otherwise = None
        if self.side == "equals" and any(o.table.n_failed for o in drawn):
            most = {o.params[self.size]: self._count(o, failed_too=True) for o in drawn}
            otherwise = design.fit(most)
        return Sized(
            params=cell,
            counts=counts,
            observed=tuple(drawn),
            fit=design.fit(counts),
            otherwise=otherwise,
        )

    def _count(self, observed: Observed, *, failed_too: bool = False) -> tuple[int, int]:
        """Successes and trials.  A failed trial counts against the statement."""
        table = observed.table
        good = truths("success", self.success(table, observed.params), table.n_trials)
        lost = observed.table.failed
        kept = good | lost if failed_too or self.side == "at least" else good & ~lost
        return int(kept.sum()), observed.table.n_trials

    def _follow(self, store: SwappedTrials, cell: Params, level: float) -> Demand | Sized:
        """A placebo at the sizes and with the numbers of trials that the claim's own trials had."""
        own = self._play(store.source, cell, level)
        if isinstance(own, Demand):
            return own
        counts, drawn = {}, []
        for o in own.observed:
            (found,) = self.sampling.observed(store, [o.params], [o.table.n_trials])
            counts[o.params[self.size]] = self._count(found)
            drawn.append(found)
        return self._sized(self._design(cell, level), cell, counts, drawn)

    def _select_sized(self, store: Trials, level: float) -> list[Sized]:
        played = [self._play(store, cell, level) for cell in self.cells]
        return [p for p in played if isinstance(p, Sized)]

    def decide(self, store: Trials, level: float) -> Evidence:
        """Compare the exponents of the thresholds, or the thresholds, with the stated ones."""
        sized = self._select_sized(store, level)
        tables = [self._table(sized)]
        sharpness: list[str] = []
        ways = [sized]
        if any(z.otherwise for z in sized):
            ways.append([replace(z, fit=z.otherwise or z.fit) for z in sized])
        if self.scaling:
            compared = [self.compare_growth(way, level) for way in ways]
            verdict = worst([found[0] for found in compared])
            _, summary, rows, sharpness = next(found for found in compared if found[0] is verdict)
            if rows:
                columns = ("towards larger", "growth", "se", "lower", "upper", "verdict")
                title = "Growth of the threshold over the stated order, per unit log"
                tables.append(EvidenceTable(title=title, columns=columns, rows=rows))
            cells = [self._row(z, "holds" if z.fit.estimated else "open", None) for z in sized]
        else:
            cells = [worse([self._compare(z) for z in each]) for each in zip(*ways, strict=True)]
            verdict, summary = combine(cells)
        figures, notes = (self._figure(sized),), self._notes(sized)
        return self.evidence(
            [o for z in sized for o in z.observed],
            Presentation(figures=figures, tables=tables, sharpness=sharpness, notes=notes),
            verdict=verdict,
            summary=summary,
            level=level,
            n_trials=sum(c.n_trials for c in cells),
            n_failed=sum(c.n_failed for c in cells),
            cells=[
                replace(c.result(z.params), bound=None, ratio=None, verdict="")
                if self.scaling
                else c.result(z.params)
                for c, z in zip(cells, sized, strict=True)
            ],
        )

    def _row(self, sized: Sized, status: Status, bound: float | None) -> CellDecision:
        fit = sized.fit
        lower, upper = fit.profile if self.scaling else (fit.lower, fit.upper)
        return CellDecision(
            status=status,
            n_trials=sum(t for _, t in sized.counts.values()),
            n_failed=sized.n_failed,
            bound=math.nan if bound is None else bound,
            observed=fit.threshold,
            se=fit.threshold * fit.se_log if math.isfinite(fit.se_log) else None,
            lower=lower,
            upper=upper if math.isfinite(upper) else None,
            reason=_why(fit, lower, upper),
            relation=_RELATIONS[self.statement.relation],
        )

    def _compare(self, sized: Sized) -> CellDecision:
        """One cell's limits against the stated size."""
        bound, fit = float(self.statement.bound(self.values(sized.params))), sized.fit
        low, high = self._stated(sized.params)
        status: Status = "open"
        if fit.lower > high or fit.upper < low:
            status = "fails"
        elif low <= fit.lower and fit.upper <= high:
            status = "holds"
        return self._row(sized, status, bound)

    def compare_growth(
        self, sized: Sequence[Sized], level: float
    ) -> tuple[Verdict, str, list[tuple[str | float, ...]], list[str]]:
        """The verdict on the growth of the required constant over the cells, in words, by direction
        as rows of a table, and where the order could be sharper.
        """
        if lost := [z.fit for z in sized if not z.fit.estimated]:
            return (
                Verdict.INCONCLUSIVE,
                f"no threshold in {len(lost)} of {len(sized)} cells: "
                f"{_why(lost[0], *lost[0].profile)}",
                [],
                [],
            )
        rows: list[tuple[str | float, ...]] = []
        verdicts, parts, sharpness = [], [], []
        varied = self._regressors([z.params for z in sized])
        sizes = [float(self.statement.bound(self.values(z.params))) for z in sized]
        for direction in self.directions:
            pivot, turned = along(varied, direction)
            fit = fit_power_law(
                [z.fit.threshold / size for z, size in zip(sized, sizes, strict=True)],
                turned,
                level=level,
                se_log=[z.fit.se_log for z in sized],
            )
            growth, se = (part[fit.names.index(pivot)] for part in (fit.exponents, fit.se))
            limits = fit.limits(pivot, level, family=len(self.directions))
            verdict = decide_rate(limits, 0.0, self.side, self.margin).verdict
            where = self._spell(direction)
            verdicts.append(verdict)
            parts.append(f"{growth:+.2f} towards larger {where}")
            if self.side != "equals" and abs(growth) > self.margin:
                sharpness.append(
                    f"Towards larger {where} the threshold over the stated order has exponent "
                    f"{growth:.2f}."
                )
            rows.append((where, growth, se, *limits, str(verdict)))
        summary = f"growth of the required constant, which must {self._allowed}: {', '.join(parts)}"
        return worst(verdicts), summary, rows, sharpness

    @property
    def _allowed(self) -> str:
        return {"at most": "not grow", "at least": "not fall", "equals": "stay"}[self.side]

    def _spell(self, direction: Mapping[str, float]) -> str:
        """A direction as the power product that grows along it, inline mathematics."""
        product = sp.Mul(*(sp.Symbol(n) ** sp.nsimplify(s) for n, s in direction.items()))
        return f"${latex(product, self.statement.publication.notation)}$"

    def _letter(self, name: str) -> str:
        return latex(sp.Symbol(name), self.statement.publication.notation)

    def _spell_cell(self, params: Params) -> str:
        """The parameters of a cell that differ between cells, inline mathematics."""
        varied = [k for k in params if any(cell.get(k) != params[k] for cell in self.cells)]
        return ", ".join(
            f"${self._letter(k)}={tex_number(params[k])}$"
            if isinstance(params[k], int | float)
            else f"{k} {params[k]}"
            for k in varied
        )

    def _table(self, sized: Sequence[Sized]) -> EvidenceTable:
        rows = [
            (
                self._spell_cell(z.params),
                ", ".join(f"{n}: {s}/{t}" for n, (s, t) in sorted(z.counts.items())),
                z.fit.gof_p,
            )
            for z in sized
        ]
        return EvidenceTable(
            title="Draws",
            columns=("cell", f"{self.size}: successes/trials", "fit p-value"),
            rows=rows,
        )

    def _figure(self, sized: Sequence[Sized]) -> Figure:
        series = [self._series_of(z) for z in sized[:_DRAWN]]
        shown = "" if len(sized) <= _DRAWN else f" {_DRAWN} of {len(sized)} cells."
        return Figure(
            name="success",
            title="Success against size",
            xlabel=f"{f'${self.size}$' if len(self.size) == 1 else self.size} (count)",
            ylabel="share of successes (dimensionless)",
            series=series,
            xscale="log",
            hlines=[(self.target, "target")],
            caption="Every trial that was drawn counts. Bars are 95 % limits of a share "
            f"(Clopper-Pearson), as if its number of trials had been fixed before.{shown}",
        )

    def _series_of(self, z: Sized) -> Series:
        """The shares of successes of a cell, a size each, with their limits."""
        sizes = sorted(z.counts)
        limits = [exact_share_limits(*z.counts[n], 0.025) for n in sizes]
        return Series(
            label=self._spell_cell(z.params) or "all trials",
            x=[float(n) for n in sizes],
            y=[z.counts[n][0] / z.counts[n][1] for n in sizes],
            lower=[low for low, _ in limits],
            upper=[high for _, high in limits],
        )

    def _notes(self, sized: Sequence[Sized]) -> list[str]:
        notes = []
        if separated := sum(z.fit.separated for z in sized):
            notes.append(
                f"In {separated} cells one size separates failures from successes. Their estimate "
                "is the middle of a gap."
            )
        return notes


def _why(fit: ThresholdFit, lower: float, upper: float) -> str:
    """The reason why a fit lacks an end, or the basis of its estimate."""
    if fit.falls:
        return "the shares of success fall as the size grows"
    if lower <= 0 and not math.isfinite(upper):
        return "the sizes tried do not show a crossing"
    if lower <= 0:
        return "the threshold may lie below the smallest size tried"
    if not math.isfinite(upper):
        return "the threshold may lie above the largest size tried"
    return "bracket" if fit.separated else ""
