"""Upper bounds with unspecified constants: feasibility, held-out extrapolation, drift."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from bounds.statement import Statement
from trials.engine import Demand, trial_id
from trials.experiment import Params
from trials.store import RunStore, Table
from verify.decisions.constants import CellData, ConstantsDecision, Direction, decide_constants
from verify.decisions.constants import Constant as Box
from verify.decisions.sequences import quantile_lower, quantile_upper, resolvable
from verify.evidence import CellResult, Evidence, Figure, Series, Witness
from verify.evidence import Table as EvidenceTable
from verify.procedures.base import (
    FloatArray,
    Present,
    Sampling,
    nothing_to_show,
    override_cells,
)

Role = Literal["calibration", "held-out", "elsewhere"]


@dataclass(frozen=True, kw_only=True)
class Constants:
    """The kind *upper bound with unspecified universal constants*.

    Attributes
    ----------
    calibration, held_out : cells on which constants are fitted, and fresh cells on which they are
        tried, each parameter alone and jointly far outside the calibrated range.
    elsewhere : further held-out cells, where another term of the bound rules: they take part in
        feasibility and extrapolation, not in the drift of the fitted constants.
    values : ``cell -> `` the statement's symbols there (hidden constants of assumptions included).
    regressors : ``cell -> `` the positive numbers in which drift is tested.
    statistic, covariates : read from a cell's trials.
    choices : values of the constant that the theorem lets one choose (``choice_name``: a step),
        declared before the run; a cell is simulated once for each.
    """

    statement: Statement
    sampling: Sampling
    calibration: tuple[Params, ...]
    held_out: tuple[Params, ...]
    values: Callable[[Params], dict[str, float]]
    regressors: Callable[[Params], dict[str, float]]
    statistic: Callable[[Table, Params], FloatArray]
    covariates: Callable[[Table, Params], dict[str, FloatArray]]
    drift: Mapping[str, Direction]
    choices: tuple[float, ...]
    tighten: tuple[str, ...]
    choice_name: str = "c_1"
    choice_param: str = "c1"
    elsewhere: tuple[Params, ...] = ()
    slack: float = 2.0
    margin: float = 0.1
    present: Present = nothing_to_show

    def check(self) -> None:
        """Every cell is possible and meets the assumptions with the declared hidden constants."""
        for cell in (*self.calibration, *self.held_out, *self.elsewhere):
            self._check_cell(cell)

    def _check_cell(self, cell: Params) -> None:
        for choice in self.choices:
            self.sampling.experiment.check({**cell, self.choice_param: choice})
        self.statement.require(self.values(cell))

    def override(self, values: Mapping[str, Any]) -> Self:
        """The same constants, calibrated as always, held out at the given values only.

        An instance has no trend, so drift is not asked about.
        """
        cells = override_cells(
            (*self.held_out, *self.elsewhere), values, self.statement.id, self._check_cell
        )
        return replace(self, held_out=cells, elsewhere=(), drift={})

    def describe(self) -> str:
        """Cells, budget and what each of the three parts does."""
        chosen = f"${_tex(self.choice_name)}$ in " + ", ".join(f"{v:.4g}" for v in self.choices)
        fitted = ", ".join(f"${_tex(name)}$" for name in self.tighten)
        drift = ", ".join(f"${name}$" if len(name) == 1 else name for name in self.drift)
        return (
            f"Chosen: {chosen}. Feasibility at the generous corner of the box in all cells; "
            f"constants {fitted} fitted on {len(self.calibration)} calibration cells and frozen "
            f"with slack {self.slack:g}; fresh trials in {len(self.held_out)} held-out cells, each "
            "parameter alone and jointly at least 4 times outside the calibrated range; drift of "
            f"the required constant in {drift} (HC3, margin {self.margin:g} per "
            f"unit log). {self.sampling.max_trials} trials a cell of experiment "
            f"{self.sampling.experiment.name}."
        )

    @property
    def _cells(self) -> list[tuple[Role, float, Params]]:
        """Every cell under every choice: (role, choice, parameters)."""
        roles: tuple[tuple[Role, tuple[Params, ...]], ...] = (
            ("calibration", self.calibration),
            ("held-out", self.held_out),
            ("elsewhere", self.elsewhere),
        )
        return [
            (role, choice, {**cell, self.choice_param: choice})
            for role, cells in roles
            for cell in cells
            for choice in self.choices
        ]

    def demands(self, store: RunStore, level: float) -> list[Demand]:
        """A pilot in every cell; unless it refutes already, the whole budget."""
        pilot = [self.sampling.upto(store, c, self.sampling.first) for _, _, c in self._cells]
        if any(pilot):
            return [d for d in pilot if d is not None]
        full = [self.sampling.upto(store, c, self.sampling.max_trials) for _, _, c in self._cells]
        if not any(full):
            return []
        decision = self._decision(self._data(store, self.sampling.first), level)
        if decision.feasibility is not None and not any(decision.feasibility.feasible):
            return []
        return [d for d in full if d is not None]

    def _data(self, store: RunStore, first: int | None = None) -> list[CellData]:
        """The cells' trials: all, or the ``first`` so many (the pilot's, whatever is stored)."""
        limit = None if first is None else [min(first, self.sampling.max_trials)]
        data = []
        for role, choice, cell in self._cells:
            (observed,) = self.sampling.observed(store, [cell], limit)
            values = self.values(cell)
            data.append(
                CellData(
                    params={**cell, **self.regressors(cell)},
                    statistic=np.where(
                        observed.table.failed, np.inf, self.statistic(observed.table, cell)
                    ),
                    delta=self.statement.failure_probability(values),
                    role="calibration" if role == "calibration" else "held-out",
                    in_drift=role != "elsewhere",
                    choice={self.choice_name: choice},
                    covariates=self.covariates(observed.table, cell),
                )
            )
        return data

    def _boxes(self) -> list[Box]:
        return [
            Box(
                name=c.name,
                low=max(c.low, 1e-6),
                high=c.high,
                generous=c.generous,
                grid=self.choices if c.generous == "choose" else (),
            )
            for c in self.statement.constants
        ]

    def _bound(self, constants: Mapping[str, float], cell: CellData) -> FloatArray:
        values = {**self.values(cell.params), **constants, **cell.covariates}
        return np.asarray(self.statement.bound(values, unchecked=True), dtype=np.float64)

    def _decision(self, data: Sequence[CellData], level: float) -> ConstantsDecision:
        return decide_constants(
            data,
            self._boxes(),
            self._bound,
            drift=self.drift,
            level=level,
            tighten=self.tighten,
            slack=self.slack,
            margin=self.margin,
            resolution=resolvable(min(c.n_trials for c in data), level) * (1 + 1e-6),
        )

    def decide(self, store: RunStore, level: float) -> Evidence:
        """The verdict, the frozen constants, the drift, and each cell's error against its bound."""
        data = self._data(store)
        decision = self._decision(data, level)
        observed = self.sampling.observed(store, [c for _, _, c in self._cells])
        shown = self.present(observed)
        cells = tuple(self._cell_result(c, decision, level) for c in data)
        return Evidence(
            verdict=decision.verdict,
            summary=decision.summary,
            level=level,
            n_trials=sum(c.n_trials for c in data),
            n_failed=sum(o.table.n_failed for o in observed),
            cells=cells,
            tables=(*self._exclusions(data, decision), *decision.tables(), *shown.tables),
            figures=(*self._figures(cells, decision), *shown.figures),
            sharpness=(*self._sharpness(cells), *shown.sharpness),
            witness=self._witness(store, data, decision),
            notes=(*decision.notes, *shown.notes),
        )

    def _exclusions(
        self, data: Sequence[CellData], decision: ConstantsDecision
    ) -> tuple[EvidenceTable, ...]:
        """Refuted by feasibility: which cell excludes which choice."""
        feasibility = decision.feasibility
        if feasibility is None or any(feasibility.feasible):
            return ()
        rows = {row.cell: row for row in feasibility.rows}
        return (
            EvidenceTable(
                title="Every choice is excluded by a cell (all other constants generous)",
                columns=(f"${_tex(self.choice_name)}$", "violations", "lower limit", "cell"),
                rows=[
                    (
                        data[i].choice[self.choice_name],
                        f"{rows[i].n_bad}/{rows[i].n_trials}",
                        rows[i].lower,
                        ", ".join(f"{k}={v:.4g}" for k, v in self._varied(data[i]).items()),
                    )
                    for i in sorted(
                        feasibility.witness, key=lambda i: data[i].choice[self.choice_name]
                    )
                ],
            ),
        )

    def _varied(self, cell: CellData) -> dict[str, float]:
        """The regressors in which the statement is watched, for a short name of a cell."""
        return {name: float(cell.params[name]) for name in self.drift}

    def _witness(
        self, store: RunStore, data: Sequence[CellData], decision: ConstantsDecision
    ) -> Witness | None:
        """The first excluding cell, with a violating trial to replay."""
        if decision.witness is None:
            return None
        feasibility = decision.feasibility
        if feasibility is None or not feasibility.witness:
            return decision.witness
        first = feasibility.witness[0]
        _, choice, cell = self._cells[first]
        generous = {
            c.name: c.most_generous
            for c in self.statement.constants
            if c.name not in (self.choice_name,)
        }
        bound = np.broadcast_to(
            self._bound({**generous, self.choice_name: choice}, data[first]),
            data[first].statistic.shape,
        )
        index = int(np.argmax(data[first].statistic > bound))
        others = len(feasibility.witness) - 1
        return Witness(
            description="a trial that violates the statement at the most generous constants of "
            "the box"
            + (
                f"; {others} more cells exclude the other choices (see the table)" if others else ""
            ),
            params=cell,
            observed=float(data[first].statistic[index]),
            bound=float(bound[index]),
            trial=trial_id(self.sampling.experiment, cell, index),
        )

    def _cell_result(self, cell: CellData, decision: ConstantsDecision, level: float) -> CellResult:
        """The error quantile that the statement bounds, against the bound at frozen constants."""
        wanted = max(cell.delta, resolvable(cell.n_trials, level))
        finite = np.where(np.isfinite(cell.statistic), cell.statistic, np.inf)
        q = float(np.quantile(finite, 1 - wanted, method="inverted_cdf"))
        bound = None
        if decision.calibration is not None:
            frozen = {**decision.calibration.frozen, **cell.choice}
            bound = float(np.median(self._bound(frozen, cell)))
        return CellResult(
            params=dict(cell.params),
            n_trials=cell.n_trials,
            n_failed=int(np.sum(~np.isfinite(cell.statistic))),
            observed=q,
            lower=quantile_lower(finite, 1 - wanted, level),
            upper=quantile_upper(finite, 1 - wanted, level),
            bound=bound,
            ratio=None if bound is None else q / bound,
            note=f"{cell.role}; quantile at failure probability {wanted:.2g}"
            + ("" if wanted <= cell.delta else ", the smallest that the trials resolve"),
        )

    def _figures(
        self, cells: Sequence[CellResult], decision: ConstantsDecision
    ) -> tuple[Figure, ...]:
        """Observed quantiles with their limits against the frozen bound, cell by cell."""
        shown = [c for c in cells if c.bound is not None and c.observed is not None]
        if not shown or decision.drift is None:
            return ()
        series = []
        for role in ("calibration", "held-out"):
            mine = [c for c in shown if c.note.startswith(role)]
            series.append(
                Series(
                    label=f"{role} cells",
                    x=[c.bound or 0.0 for c in mine],
                    y=[c.observed for c in mine],
                    lower=[c.lower for c in mine],
                    upper=[c.upper if c.upper != np.inf else None for c in mine],
                )
            )
        ends = [min(c.bound or 1.0 for c in shown), max(c.bound or 1.0 for c in shown)]
        series.append(Series(label="observed = bound", x=ends, y=ends, style="dashed"))
        needed = Series(
            label="required multiple of the frozen bound",
            x=list(range(1, len(decision.drift.kappa) + 1)),
            y=list(decision.drift.kappa),
            lower=[
                k * float(np.exp(-2 * s))
                for k, s in zip(decision.drift.kappa, decision.drift.se_log, strict=True)
            ],
            upper=[
                k * float(np.exp(2 * s))
                for k, s in zip(decision.drift.kappa, decision.drift.se_log, strict=True)
            ],
        )
        return (
            Figure(
                name="quantiles",
                title="Error quantiles against the bound",
                xlabel="bound at the frozen constants (units of $\\theta$)",
                ylabel="error quantile (units of $\\theta$)",
                xscale="log",
                yscale="log",
                series=series,
                caption="Each point is a cell; bars are confidence limits of the quantile. "
                "Points below the dashed line obey the bound.",
            ),
            Figure(
                name="required",
                title="Required constants over the grid",
                xlabel="cell (calibration first, then held-out)",
                ylabel="required multiple (dimensionless)",
                yscale="log",
                series=[needed],
                hlines=[(1.0, "frozen constants")],
                caption="The multiple of the frozen bound that would just serve each cell, with "
                "two standard errors. Above one the frozen constants fail.",
            ),
        )

    @staticmethod
    def _sharpness(cells: Sequence[CellResult]) -> tuple[str, ...]:
        ratios = [c.ratio for c in cells if c.ratio is not None and np.isfinite(c.ratio)]
        if not ratios:
            return ()
        return (
            f"Observed quantile over frozen bound: between {min(ratios):.2g} and "
            f"{max(ratios):.2g} (median {float(np.median(ratios)):.2g}) over {len(ratios)} cells.",
        )


def _tex(name: str) -> str:
    """``c_1`` as LaTeX."""
    head, _, index = name.partition("_")
    return f"{head}_{{{index}}}" if index else head
