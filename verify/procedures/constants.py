"""Upper bounds with unspecified constants: feasibility, held-out extrapolation, drift."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np
import sympy as sp

from bounds.render import latex
from bounds.statement import Statement
from trials.checks import InvalidParameter
from trials.run.cell import Params
from trials.run.engine import Demand, trial_id
from trials.run.experiment import Experiment
from trials.run.store import Table
from verify.decisions.constants import (
    Calibration,
    CellSample,
    ConstantBox,
    ConstantsDecision,
    ConstantsRules,
    Direction,
    decide_constants,
    infeasible,
)
from verify.decisions.sequences import quantile_lower, quantile_upper, resolvable
from verify.evidence import (
    CellResult,
    Evidence,
    EvidenceTable,
    Figure,
    Series,
    Slack,
    Witness,
    ratio_of,
)
from verify.procedures.base import (
    FloatArray,
    Observed,
    Present,
    Sampling,
    Trials,
    nothing_to_show,
    override_cells,
    tex_number,
)
from verify.procedures.interface import Procedure

Role = Literal["calibration", "held-out", "elsewhere"]

#: Where a box begins that is declared from zero on: constants are searched in their logarithms.
_SMALLEST = 1e-6


@dataclass(frozen=True, kw_only=True)
class Constants(Procedure):
    """The kind *upper bound with unspecified universal constants*.

    Attributes
    ----------
    calibration, held_out : cells on which constants are fitted, and fresh cells on which they are
        tried, each parameter alone and jointly far outside the calibrated range.
    elsewhere : further held-out cells, where another term of the bound dominates.  They take part
        in feasibility and extrapolation, and not in the drift of the fitted constants.
    values : ``cell -> `` the statement's symbols there (hidden constants of assumptions included).
    regressors : ``cell -> `` the positive numbers in which drift is tested.
    statistic, covariates : read from a cell's trials.
    log_tail : ``(cell, b) -> `` log of an upper limit on P(statistic > b) from an exact law.
    choices : values, declared before the run, of the constant ``choice_name`` that the theorem lets
        the user choose, such as a step size.  A cell is simulated once for each.  Empty where the
        theorem leaves nothing to choose.
    proof_constants : values that the proof gives, beside which the required ones are shown.
    verdict_alone : whether what is only shown is left out: limits of quantiles, and fits where
        feasibility alone refutes.
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
    tighten: tuple[str, ...]
    choices: tuple[float, ...] = ()
    proof_constants: Mapping[str, float] = field(default_factory=dict)
    choice_name: str = "c_1"
    choice_param: str = "c1"
    elsewhere: tuple[Params, ...] = ()
    log_tail: Callable[[Params, float], float] | None = None
    slack: float = 2.0
    margin: float = 0.1
    present: Present = nothing_to_show
    verdict_alone: bool = False
    _known: dict[int, tuple[Params, Mapping[str, float]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def check(self) -> None:
        """Check that every cell meets the assumptions with the declared hidden constants."""
        for constant in self.statement.constants:
            if constant.generous == "low" and not constant.low > 0:
                raise InvalidParameter(
                    f"{self.statement.id}: {constant.name} has its generous end at "
                    f"{constant.low:g}, which must be > 0: no trial refutes all smaller ones"
                )
        for cell in self.every_cell():
            self.check_cell(cell)

    def check_cell(self, cell: Params) -> None:
        """The cell meets the assumptions with the declared hidden constants."""
        for choice in self._choices:
            self.sampling.experiment.check(self._run_at(cell, choice))
        self.statement.require(self.values(cell))

    def override(self, values: Mapping[str, Any]) -> Self:
        """The same constants, calibrated as always, held out at the given values only.

        One instance has no trend, so drift is not tested.
        """
        cells = override_cells(
            (*self.held_out, *self.elsewhere), values, self.statement.id, self.check_cell
        )
        return replace(self, held_out=cells, elsewhere=(), drift={})

    def describe(self) -> str:
        """Cells, budget and the task of each of the three parts."""
        name, values = _tex(self.choice_name), [f"{v:.4g}" for v in self.choices]
        chosen = ""
        if values:
            at = f"${name}$ in " + ", ".join(values) if values[1:] else f"${name}={values[0]}$"
            chosen = f"The choice is {at}. "
        fitted = ", ".join(f"${_tex(name)}$" for name in self.tighten)
        held_out = f"fresh trials in {_count(self.held_out, 'held-out cell')}"
        if self.drift:
            drift = ", ".join(_symbol(name) for name in self.drift)
            held_out += (
                ", where each parameter alone, and several jointly, lie at least 4 times outside "
                "the calibrated range"
            )
            if self.elsewhere:
                held_out += (
                    f", and in {_count(self.elsewhere, 'cell')} where another term of the bound "
                    "is the largest"
                )
            trend = (
                f"The growth of the required constant with {drift} must be at most "
                f"{self.margin:g} per unit log, and less than a logarithm's (HC3 limits)."
            )
        else:
            trend = "These are single settings, so no trend is asked about."
        return (
            f"{chosen}Feasibility is tested at the generous corner of the "
            f"box in all cells. The constants {fitted} are fitted on "
            f"{_count(self.calibration, 'calibration cell')} and frozen with slack "
            f"{self.slack:g}. They are then tried on {held_out}. {trend} The budget is "
            f"{self.sampling.max_trials} trials in each cell of experiment "
            f"{self.sampling.experiment.name}."
        )

    @property
    def _choices(self) -> list[dict[str, float]]:
        """The declared choices, one that is empty where there is nothing to choose."""
        return [{self.choice_name: value} for value in self.choices] or [{}]

    def _run_at(self, cell: Params, choice: Mapping[str, float]) -> Params:
        """The parameters of a cell's trials under a choice."""
        return {**cell, self.choice_param: choice[self.choice_name]} if choice else {**cell}

    @property
    def _cells(self) -> list[tuple[Role, dict[str, float], Params]]:
        """Every cell under every choice: (role, choice, parameters)."""
        roles: tuple[tuple[Role, tuple[Params, ...]], ...] = (
            ("calibration", self.calibration),
            ("held-out", self.held_out),
            ("elsewhere", self.elsewhere),
        )
        return [
            (role, choice, self._run_at(cell, choice))
            for role, cells in roles
            for cell in cells
            for choice in self._choices
        ]

    def experiment(self) -> Experiment:
        """The experiment that is sampled."""
        return self.sampling.experiment

    def every_cell(self) -> tuple[Params, ...]:
        """The cells of all roles, without the choice."""
        return (*self.calibration, *self.held_out, *self.elsewhere)

    def complete_cells(self) -> tuple[Params, ...]:
        """The cells with the first of the choices, where trials depend on one."""
        if not self.choices:
            return self.every_cell()
        return tuple({**cell, self.choice_param: self.choices[0]} for cell in self.every_cell())

    def symbols_in(self, cell: Params) -> Mapping[str, Any]:
        """The statement's symbols in a cell."""
        return self.values(cell)

    def is_coarse(self, level: float) -> bool:
        """Whether a held-out cell may fail more seldom than its trials resolve."""
        least = resolvable(self.sampling.max_trials, level)
        held = [cell for role, _, cell in self._cells if role != "calibration"]
        return self.log_tail is None and any(
            self.statement.failure_probability(self.values(cell)) < least for cell in held
        )

    def without_laws(self) -> Self:
        """The same constants without the exact law of the statistic's tail."""
        return replace(self, log_tail=None)

    def fingerprint(self) -> Any:
        """The bound at a corner of the box and the failure probability, in every cell."""
        corner = {c.name: c.high for c in self.statement.constants}
        at = {"err": 0.37, **corner}
        values = [
            {**self.values(self._run_at(cell, dict.fromkeys(self._choices[0], 1.0))), **at}
            for cell in self.every_cell()
        ]
        return [
            [self.statement.bound(v, unchecked=True) for v in values],
            [self.statement.failure_probability(v) for v in values],
        ]

    def tried_at(self, store: Trials) -> Iterator[Mapping[str, Any]]:
        """Each cell at the first choice, with the covariates of its stored trials."""
        cells = [self._run_at(c, self._choices[0]) for c in self.every_cell()]
        found = {id(o.params): o for o in self.sampling.observed(store, cells)}
        for cell in cells:
            o = found.get(id(cell))
            trials = {} if o is None else self.covariates(o.table.finished, o.params)
            yield {**cell, **self.values(cell), **trials}

    def moved_to(self, cells: tuple[Params, ...]) -> Self:
        """The same constants, calibrated as always, held out in other cells."""
        return replace(self, held_out=cells, elsewhere=(), drift={})

    def without_figures(self) -> Self:
        """The same procedure for a verdict alone."""
        return replace(self, present=nothing_to_show, verdict_alone=True)

    def demands(self, store: Trials, level: float) -> list[Demand]:
        """First a pilot in every cell.  The whole budget follows unless the pilot refutes."""
        lacking = self._upto(store, self._pilot)
        if lacking or self._pilot == self.sampling.max_trials:
            return lacking
        if self._is_refuted(self._samples(self._read(store, self._pilot)), level):
            return []
        return self._upto(store, self.sampling.max_trials)

    def _upto(self, store: Trials, n_trials: int) -> list[Demand]:
        cells = [cell for _, _, cell in self._cells]
        return self.sampling.missing(store, cells, [n_trials] * len(cells))

    def _read(self, store: Trials, n_trials: int) -> list[Observed]:
        """The first so many trials of every cell under every choice."""
        cells = [cell for _, _, cell in self._cells]
        return self.sampling.observed(store, cells, [n_trials] * len(cells))

    def _deciding(self, store: Trials, level: float) -> tuple[list[Observed], list[CellSample]]:
        """The trials that decide: the pilot's if they refute, else the whole budget."""
        pilot = self._read(store, self._pilot)
        samples = self._samples(pilot)
        if self._pilot == self.sampling.max_trials or self._is_refuted(samples, level):
            return pilot, samples
        whole = self._read(store, self.sampling.max_trials)
        return whole, self._samples(whole)

    @property
    def _pilot(self) -> int:
        """Trials a cell of the pilot."""
        return min(self.sampling.first, self.sampling.max_trials)

    def _is_refuted(self, samples: Sequence[CellSample], level: float) -> bool:
        """Whether feasibility alone refutes."""
        return infeasible(samples, self._boxes(), self._bound, level=level)

    def _samples(self, observed: Sequence[Observed]) -> list[CellSample]:
        """The statistics of every cell's trials that the decision needs."""
        samples = []
        for (role, choice, cell), read in zip(self._cells, observed, strict=True):
            # Cells that differ in the choice alone are one assignment of the theorem's parameters.
            given = {name: value for name, value in cell.items() if name != self.choice_param}
            samples.append(
                CellSample(
                    params={**given, **self.regressors(cell)},
                    statistic=np.where(read.table.failed, np.inf, self.statistic(read.table, cell)),
                    delta=self.statement.failure_probability(self.values(cell)),
                    role="calibration" if role == "calibration" else "held-out",
                    in_drift=role != "elsewhere",
                    choice=choice,
                    covariates=self._covariates(read.table, cell),
                    log_tail=self._tail(cell),
                )
            )
        return samples

    def _covariates(self, table: Table, cell: Params) -> dict[str, FloatArray]:
        """The covariates of every trial.

        A failed trial has an infinite statistic, which exceeds the bound whatever its covariates
        are.  Its row may hold no numbers, so it gets the medians of the other trials, or ones where
        every trial failed.
        """
        found = self.covariates(table.finished, cell)
        if not table.failed.any():
            return found
        full = {}
        for name, values in found.items():
            full[name] = np.full(table.n_trials, np.median(values) if values.size else 1.0)
            full[name][~table.failed] = values
        return full

    def _tail(self, cell: Params) -> Callable[[float], float] | None:
        """The exact law's limits in a cell, its parameters complete."""
        if self.log_tail is None:
            return None
        return partial(self.log_tail, self.sampling.experiment.check(cell))

    def _boxes(self) -> list[ConstantBox]:
        return [
            ConstantBox(
                name=c.name,
                low=c.low if c.low > 0 else min(_SMALLEST, 1e-3 * c.high),
                high=c.high,
                generous=c.generous,
                grid=self.choices if c.generous == "choose" else (),
            )
            for c in self.statement.constants
        ]

    def _symbols(self, params: Params) -> Mapping[str, float]:
        """The statement's symbols in a cell, which a calibration asks for ten thousand times."""
        known = self._known.get(id(params))
        if known is None:  # the cell is kept as well, so that no other one gets its identity
            known = self._known[id(params)] = params, self.values(params)
        return known[1]

    def _bound(self, constants: Mapping[str, float], cell: CellSample) -> FloatArray:
        values = {**self._symbols(cell.params), **constants, **cell.covariates}
        return np.asarray(self.statement.bound(values, unchecked=True), dtype=np.float64)

    def _decision(self, data: Sequence[CellSample], level: float) -> ConstantsDecision:
        return decide_constants(
            data,
            self._boxes(),
            self._bound,
            drift=self.drift,
            level=level,
            rules=ConstantsRules(
                tighten=self.tighten,
                slack=self.slack,
                margin=self.margin,
                resolution=resolvable(min(c.n_trials for c in data), level) * (1 + 1e-6),
                verdict_alone=self.verdict_alone,
            ),
        )

    def decide(self, store: Trials, level: float) -> Evidence:
        """The verdict, the frozen constants, the drift, and each cell's error against its bound."""
        observed, data = self._deciding(store, level)
        decision = self._decision(data, level)
        shown = self.present(observed)
        cells = tuple(self._cell_result(c, decision, level) for c in data)
        return Evidence(
            verdict=decision.verdict,
            resolution=decision.resolution,
            summary=decision.summary,
            level=level,
            n_trials=sum(c.n_trials for c in data),
            n_failed=sum(o.table.n_failed for o in observed),
            cells=cells,
            tables=(
                *(self._exclusions(data, decision) or decision.tables()),
                *shown.tables,
            ),
            figures=(*self._figures(data, cells, decision), *shown.figures),
            sharpness=shown.sharpness,
            required={}
            if decision.calibration is None
            else self._select_required(decision.calibration),
            slack=(*self._slack(data, cells, decision), *shown.slack),
            witness=self._witness(data, decision),
            notes=(*decision.notes, *shown.notes),
        )

    def _exclusions(
        self, data: Sequence[CellSample], decision: ConstantsDecision
    ) -> tuple[EvidenceTable, ...]:
        """The table of a refutation by feasibility: cells and the choices that each excludes."""
        feasibility = decision.feasibility
        if feasibility is None or not self.choices or not _infeasible(decision):
            return ()
        witnesses = [data[i].params for i in feasibility.witness]
        excluding = {
            data[row.cell].choice[self.choice_name]: row
            for row in reversed(feasibility.rows)  # the first of several cells is kept
            if row.excluded and data[row.cell].params in witnesses
        }
        varied = self._find_varied(data)
        return (
            EvidenceTable(
                title="Every choice is excluded by a cell (all other constants generous)",
                columns=(f"${_tex(self.choice_name)}$", "violations", "lower limit", "cell"),
                rows=[
                    (
                        choice,
                        f"{row.n_bad}/{row.n_trials}",
                        row.lower,
                        ", ".join(f"{k}={data[row.cell].params[k]:.4g}" for k in varied),
                    )
                    for choice, row in sorted(excluding.items())
                ],
            ),
        )

    def _find_varied(self, data: Sequence[CellSample]) -> list[str]:
        """The regressors that differ between this claim's cells."""
        names = self.regressors(self.calibration[0])
        return [name for name in names if len({float(c.params[name]) for c in data}) > 1]

    def _witness(self, data: Sequence[CellSample], decision: ConstantsDecision) -> Witness | None:
        """The first excluding cell, with a violating trial to replay."""
        if decision.witness is None:
            return None
        feasibility, calibration = decision.feasibility, decision.calibration
        if feasibility is None or not feasibility.witness:
            assert calibration is not None  # extrapolation and drift need calibrated constants
            at = self._run_at(decision.witness.params, calibration.choice)
            return replace(decision.witness, params=at)
        first = feasibility.witness[0]
        _, _, cell = self._cells[first]
        bound = np.broadcast_to(self._generous(data[first]), data[first].statistic.shape)
        index = int(np.argmax(data[first].statistic > bound))
        description = (
            "a trial that violates the statement at the most generous constants of the box"
        )
        if others := feasibility.witness[1:]:
            description += (
                f"; together with {_count(others, 'more cell')} this cell excludes all choices"
            )
        return Witness(
            description=description,
            params=cell,
            observed=float(data[first].statistic[index]),
            bound=float(bound[index]),
            trial=trial_id(self.sampling.experiment, cell, index),
        )

    def _cell_result(
        self, cell: CellSample, decision: ConstantsDecision, level: float
    ) -> CellResult:
        """The error quantile that the statement bounds, beside the bound at frozen constants."""
        bound, role = None, str(cell.role)
        if _infeasible(decision):
            bound, role = float(np.median(self._generous(cell))), "bound: most generous constants"
        elif decision.calibration is not None:
            frozen = {**decision.calibration.frozen, **cell.choice}
            bound = float(np.median(self._bound(frozen, cell)))
        found = CellResult(
            params=self._run_at(cell.params, cell.choice),
            n_trials=cell.n_trials,
            n_failed=int(np.sum(~np.isfinite(cell.statistic))),
            bound=bound,
            note=f"{role}; any failure is allowed here, so no quantile is bounded",
        )
        if cell.delta >= 1:
            return found
        wanted = max(cell.delta, resolvable(cell.n_trials, level))
        finite = np.where(np.isfinite(cell.statistic), cell.statistic, np.inf)
        q = float(np.quantile(finite, 1 - wanted, method="inverted_cdf"))
        lower = upper = None
        if not self.verdict_alone:
            lower = quantile_lower(finite, 1 - wanted, level)
            upper = quantile_upper(finite, 1 - wanted, level)
        return replace(
            found,
            observed=q,
            quantile=1 - wanted,
            lower=lower,
            upper=upper,
            ratio=ratio_of(q, bound, "at most"),
            note=f"{role}; quantile at failure probability {wanted:.2g}"
            + ("" if wanted <= cell.delta else ", the smallest that the trials resolve"),
        )

    def _generous(self, cell: CellSample) -> FloatArray:
        """The bound at the most generous corner of the box, under the cell's own choice."""
        corner = {
            c.name: c.most_generous for c in self.statement.constants if c.name != self.choice_name
        }
        return self._bound({**corner, **cell.choice}, cell)

    def _figures(
        self, data: Sequence[CellSample], cells: Sequence[CellResult], decision: ConstantsDecision
    ) -> tuple[Figure, ...]:
        """The figures of the deciding part: bounds of choices, or quantiles and constants."""
        if _infeasible(decision):
            return (self._choices_figure(data, cells),) if self.choices else ()
        if decision.calibration is None or decision.drift is None:
            return ()
        shown = [
            (role, cell)
            for (role, choice, _), cell in zip(self._cells, cells, strict=True)
            if choice == decision.calibration.choice
        ]
        figures = [self._quantiles_figure(shown)]
        if decision.drift.asked:
            figures.append(self._required_figure(data, decision))
        return tuple(figures)

    def _choices_figure(self, data: Sequence[CellSample], cells: Sequence[CellResult]) -> Figure:
        """The figure of a refutation by feasibility: each choice has a cell above its bound."""
        varied = self._find_varied(data)
        groups: dict[str, list[tuple[float, CellResult]]] = {}
        for one, cell in zip(data, cells, strict=True):
            name = ", ".join(f"${k}={tex_number(float(one.params[k]))}$" for k in varied)
            groups.setdefault(name, []).append((one.choice[self.choice_name], cell))
        series = []
        for name, mine in groups.items():
            mine.sort(key=lambda pair: pair[0])
            series.append(
                Series(
                    label=name or "every cell",
                    x=[choice for choice, _ in mine],
                    y=[_over(cell.observed, cell.bound) for _, cell in mine],
                    lower=[_over(cell.lower, cell.bound) for _, cell in mine],
                    upper=[_over(cell.upper, cell.bound) for _, cell in mine],
                )
            )
        return Figure(
            name="choices",
            title="No choice serves all cells",
            xlabel=f"${_tex(self.choice_name)}$ (dimensionless)",
            ylabel="error quantile over its bound (dimensionless)",
            xscale="log",
            yscale="log",
            series=series,
            hlines=[(1.0, "bound")],
            caption="Error quantiles with their confidence limits, each over the largest bound "
            "that the box of constants allows in its cell. A choice is excluded when some cell "
            "lies above the line.",
        )

    @staticmethod
    def _quantiles_figure(shown: Sequence[tuple[Role, CellResult]]) -> Figure:
        """Observed quantiles with their limits against the frozen bound."""
        labels: dict[Role, str] = {
            "held-out": "held-out cells",
            "elsewhere": "held-out, other term rules",
            "calibration": "calibration cells",  # last, to lie on top
        }
        series = []
        for role, label in labels.items():
            mine = [cell for own, cell in shown if own == role]
            if mine:
                series.append(
                    Series(
                        label=label,
                        x=[c.bound or 0.0 for c in mine],
                        y=[c.observed for c in mine],
                        lower=[c.lower for c in mine],
                        upper=[_finite(c.upper) for c in mine],
                    )
                )
        bounds = [c.bound for _, c in shown if c.bound]
        ends = [min(bounds), max(bounds)] if bounds else []
        series.append(Series(label="observed = bound", x=ends, y=ends, style="dashed"))
        return Figure(
            name="quantiles",
            title="Error quantiles against the bound",
            xlabel="bound at the frozen constants (units of $\\theta$)",
            ylabel="error quantile (units of $\\theta$)",
            xscale="log",
            yscale="log",
            series=series,
            caption="Each point is a cell; bars are confidence limits of the quantile. "
            "Points below the dashed line obey the bound.",
        )

    def _required_figure(self, data: Sequence[CellSample], decision: ConstantsDecision) -> Figure:
        """Required over frozen constants, against the parameter of the widest range."""
        drift, calibration = decision.drift, decision.calibration
        assert drift is not None
        assert calibration is not None
        spans = {
            name: np.ptp(np.log([float(data[i].params[name]) for i in drift.cells]))
            for name in self.drift
        }
        widest = max(spans, key=lambda name: float(spans[name]))
        series = []
        for role in ("held-out", "calibration"):
            mine = [
                (float(data[i].params[widest]), kappa, se)
                for i, kappa, se in zip(drift.cells, drift.kappa, drift.se_log, strict=True)
                if data[i].role == role
            ]
            series.append(
                Series(
                    label=f"{role} cells",
                    x=[x for x, _, _ in mine],
                    y=[kappa for _, kappa, _ in mine],
                    lower=[_finite(kappa * float(np.exp(-2 * se))) for _, kappa, se in mine],
                    upper=[_finite(kappa * float(np.exp(2 * se))) for _, kappa, se in mine],
                )
            )
        frozen = [
            f"${_tex(name)}={tex_number(calibration.frozen[name])}$"
            for name in self.tighten
            if name not in calibration.at_tight_end
        ]
        return Figure(
            name="required",
            title="Required constants over the grid",
            xlabel=_axis(widest, [float(data[i].params[widest]) for i in drift.cells]),
            ylabel="required over frozen constant (dimensionless)",
            xscale="log",
            yscale="log",
            series=series,
            hlines=[(1.0, "frozen" + (": " + ", ".join(frozen) if frozen else ""))],
            caption="The smallest multiple of the frozen bound that holds in each cell, with two "
            f"standard errors. The abscissa is the parameter with the widest range "
            f"({_symbol(widest)}; "
            "all others vary as well). Constants are fitted on the calibration cells and frozen "
            f"{self.slack:g} times looser. They would fail in a held-out cell above the line.",
        )

    def _select_required(self, calibration: Calibration) -> dict[str, float]:
        """The fitted constants, those apart that the calibration cells do not need."""
        names = [name for name in self.tighten if name not in calibration.at_tight_end]
        return {name: calibration.fitted[name] for name in names}

    def _slack(
        self, data: Sequence[CellSample], cells: Sequence[CellResult], decision: ConstantsDecision
    ) -> Iterator[Slack]:
        """The slack of the bound at the required constants, and at those of the proof."""
        calibration = decision.calibration
        if _infeasible(decision) or calibration is None:
            yield from Slack.of("the most generous constants", [c.ratio for c in cells])
            return
        for words, constants in (
            ("the required constants", calibration.fitted),
            ("the proof's constants", self.proof_constants),
        ):
            if constants:
                bounds = [float(np.median(self._bound({**constants, **c.choice}, c))) for c in data]
                seen = [cell.observed for cell in cells]
                yield from Slack.of(words, map(partial(ratio_of, relation="at most"), seen, bounds))


def _infeasible(decision: ConstantsDecision) -> bool:
    """Whether the declared box holds no constants at all for these cells."""
    return decision.feasibility is not None and not any(decision.feasibility.feasible)


def _count(items: Sequence[Any], word: str) -> str:
    return f"{len(items)} {word}{'s' * (len(items) != 1)}"


def _over(value: float | None, bound: float | None) -> float | None:
    """A ratio to draw, or None where a side is missing or not finite."""
    return _finite(value / bound) if value is not None and bound else None


def _finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None


def _symbol(name: str) -> str:
    """A parameter's name in prose.  A single letter is set as math, as is ``rho``."""
    return f"${name}$" if len(name) == 1 else name


def _axis(name: str, values: Sequence[float]) -> str:
    """The label of an axis with a parameter's values.

    >>> _axis("n", [1.0, 8.0]), _axis("sigma", [0.5])
    ('$n$ (count)', '$\\\\sigma$ (as in the cells)')
    """
    letters = latex(sp.Symbol(name))
    symbol = f"${letters}$" if len(name) == 1 or letters != name else name
    return f"{symbol} ({'count' if all(v.is_integer() for v in values) else 'as in the cells'})"


def _tex(name: str) -> str:
    """``c_1`` as LaTeX."""
    head, _, index = name.partition("_")
    return f"{head}_{{{index}}}" if index else head
