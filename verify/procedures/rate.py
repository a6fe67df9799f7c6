"""Rates: exponents and factors, estimated where one term of the bound dominates.

A mean may be ruled by values that no trial has drawn.  An event is drawn somewhere, but for the
level, when its probability, averaged over all trials of all cells, is at least
``resolvable(n_trials, level)``.  So a verdict reaches down to that probability: a rate is SUPPORTED
TO it, and a refutation names it.  Values that were drawn either rule the mean of their cell
(`verify.decisions.rates.why_ruled`), and then nothing is decided, or each one is at most a tenth of
the sum.  A cell in which such a value is missing has a mean that is too small by a tenth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from trials.checks import InvalidParameter
from trials.run.cell import Params
from trials.run.store import Table
from verify.decisions.combine import worst
from verify.decisions.means import mean_and_deviation
from verify.decisions.rates import (
    ContractionFit,
    PowerLawFit,
    Side,
    contraction_factor,
    decide_rate,
    fit_power_law,
    log_design,
    why_ruled,
)
from verify.decisions.sequences import resolvable
from verify.evidence import CellResult, Evidence, EvidenceTable, Figure, Series, Verdict, ratio_of
from verify.procedures.base import (
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
from verify.procedures.interface import CellByCell, Sampled
from verify.procedures.rate_figures import exponents_figure


@dataclass(frozen=True, kw_only=True)
class StatedRate:
    """One stated exponent, with the side on which the observed exponent may not lie."""

    exponent: float
    side: Side
    symbol: str


@dataclass(frozen=True, kw_only=True)
class Rate(Sampled):
    """The kind *rate*: a power law in the cells' parameters, exponent by exponent.

    Attributes
    ----------
    statistic : ``trials -> (n_trials,)``.  The log of its mean in each cell is regressed on the
        logs of ``regressors``.  A failed trial makes its cell infinite, hence the claim
        inconclusive.
    stated : regressor -> stated exponent.  Regressors without one are nuisance parameters.
    spread : ``cell -> `` standard deviation of the statistic over its mean, from an exact law or
        the design.  It weights the cells, which are equal without it.  The sample's own errors are
        no weights: a cell whose rare large values were not drawn would count as sure.
    """

    name: str
    sampling: Sampling
    cells: tuple[Params, ...]
    statistic: Callable[[Table], FloatArray]
    regressors: Callable[[Params], dict[str, float]]
    stated: Mapping[str, StatedRate]
    observable: str
    validate: Callable[[Params], None] = lambda _cell: None
    bound: Callable[[Params], float] | None = None
    margin: float = 0.05
    spread: Callable[[Params], float] | None = None
    present: Present = nothing_to_show

    def check(self) -> None:
        """Check that every cell is inside the theorem and that the cells identify the exponents."""
        super().check()
        varied = self._find_varied(self.cells)
        if fixed := [name for name in self.stated if name not in varied]:
            raise InvalidParameter(
                f"{self.name}: the cells do not vary {', '.join(fixed)}, whose exponent is stated"
            )
        log_design(varied)

    def is_coarse(self, _level: float) -> bool:
        """A mean may be ruled by values that no trial has drawn."""
        return True

    def require(self, cell: Params) -> None:
        """The cell is possible and inside the theorem."""
        self.sampling.check([cell], self.validate)

    def override(self, values: Mapping[str, Any]) -> Self:
        """The same regression with some parameters at other values.

        The exponent of a parameter that no longer varies is not tested.
        """
        cells = super().override(values).cells
        varied = self._find_varied(cells)
        stated = {name: rate for name, rate in self.stated.items() if name in varied}
        if not stated:
            raise InvalidParameter(
                f"{self.name}: with these values no parameter varies whose exponent is stated "
                f"({', '.join(self.stated)})"
            )
        return replace(self, cells=cells, stated=stated)

    def _find_varied(self, cells: Sequence[Params]) -> dict[str, list[float]]:
        """The regressors that differ between cells by more than 5 per cent.

        Shares are rounded to whole clients, which changes them by up to 3 per cent.  No exponent
        can be estimated from such small changes.  Leaving the parameter out moves the other
        exponents by less than 0.01 over the decades that are tried.
        """
        rows = [self.regressors(cell) for cell in cells]
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        return {
            name: values for name, values in columns.items() if max(values) > 1.05 * min(values)
        }

    def describe(self) -> str:
        """Cells, budget and regression."""
        stated = ", ".join(
            f"{s.symbol}: {'' if s.side == 'equals' else s.side + ' '}{s.exponent:g}"
            for s in self.stated.values()
        )
        return (
            f"The mean of {self.observable} is estimated in {len(self.cells)} cells of experiment "
            f"{self.sampling.experiment.name}, {self.sampling.max_trials} trials each. The "
            f"exponents are estimated by least squares in logs, "
            + ("all cells alike" if self.spread is None else "cells weighted by their design")
            + ", with simultaneous HC3 limits. The "
            f"stated exponents are {stated}. The margin is {self.margin:g}. Values that come with "
            "a smaller probability, averaged over all trials, than the trials resolve may be "
            "missing in the means: the verdict names that probability."
        )

    def symbols_in(self, cell: Params) -> Mapping[str, Any]:
        """The statement's symbols in a cell."""
        return self.regressors(cell)

    def compared_growth(self) -> Mapping[str, str]:
        """The symbols with a stated exponent, each with its side."""
        return {name: rate.side for name, rate in self.stated.items()}

    def fingerprint(self) -> Any:
        """The stated exponents."""
        return {name: rate.exponent for name, rate in self.stated.items()}

    def decide(self, store: Trials, level: float) -> Evidence:
        """Compare each exponent's limits with the stated exponent.  All must agree."""
        observed = self.sampling.observed(store, self.cells)
        means, errors = zip(*(self._mean(o) for o in observed), strict=True)
        if not all(math.isfinite(mean) and mean > 0 for mean in means):
            return self._give_up(observed, means, level)
        varied = self._find_varied([o.params for o in observed])
        fit = fit_power_law(means, varied, level=level, se_log=self._spreads(observed))
        verdict, summary, rows = self._verdict(fit, level)
        ruled = [why for o in observed if (why := why_ruled(self.statistic(o.table)))]
        floor = resolvable(sum(o.table.n_trials for o in observed), level)
        if verdict is not Verdict.INCONCLUSIVE:
            summary += f"; values rarer than {floor:.2g} may be missing"
        if ruled and verdict is not Verdict.INCONCLUSIVE:
            verdict = Verdict.INCONCLUSIVE
            summary = f"in {len(ruled)} of {len(observed)} cells the mean is not known: {ruled[0]}"
        table = EvidenceTable(
            title="Exponents",
            columns=("parameter", "observed", "se", "lower", "upper", "stated", "verdict"),
            rows=rows,
            note=f"{_goodness(fit, varied)}limits simultaneous at level {level:.2g}",
        )
        symbols = {name: (s.symbol, s.exponent) for name, s in self.stated.items()}
        figure = exponents_figure(symbols, varied, means, errors, fit, self.observable)
        return self.evidence(
            observed,
            Presentation(tables=(table,), figures=(figure,), sharpness=self._sharpness(fit)),
            verdict=verdict,
            resolution=floor if verdict is Verdict.SUPPORTED else None,
            summary=summary,
            level=level,
            cells=[
                self._cell_result(o, mean, error)
                for o, mean, error in zip(observed, means, errors, strict=True)
            ],
        )

    def _spreads(self, observed: Sequence[Observed]) -> list[float] | None:
        """The standard errors of the log means that the design gives, None for equal weights."""
        if self.spread is None:
            return None
        return [self.spread(o.params) / math.sqrt(o.table.n_trials) for o in observed]

    def _give_up(
        self, observed: Sequence[Observed], means: Sequence[float], level: float
    ) -> Evidence:
        """The evidence where a cell has no mean, or one without a logarithm."""
        failed = sum(o.table.n_failed for o in observed)
        low = [mean for mean in means if not mean > 0]
        why = f"{counted_trials(failed)} failed: their cells have no mean"
        if low and not failed:
            why = (
                f"the mean is {low[0]:.3g} in {len(low)} of {len(means)} cells: it has no logarithm"
            )
        return Evidence(
            verdict=Verdict.INCONCLUSIVE,
            summary=f"{why}, so no exponent can be estimated",
            level=level,
            n_trials=sum(o.table.n_trials for o in observed),
            n_failed=failed,
        )

    def _mean(self, observed: Observed) -> tuple[float, float]:
        values = np.where(observed.table.failed, np.inf, self.statistic(observed.table))
        if not np.all(np.isfinite(values)):
            return np.inf, np.inf
        mean, deviation = mean_and_deviation(values, ddof=1)
        return mean, deviation / math.sqrt(values.size)

    def _verdict(
        self, fit: PowerLawFit, level: float
    ) -> tuple[Verdict, str, list[tuple[str | float, ...]]]:
        rows: list[tuple[str | float, ...]] = []
        verdicts, parts = [], []
        for i, name in enumerate(fit.names):
            limits = fit.limits(name, level, family=len(self.stated))
            stated = self.stated.get(name)
            word, text = "nuisance", ""
            if stated is not None:
                decision = decide_rate(limits, stated.exponent, stated.side, self.margin)
                verdicts.append(decision.verdict)
                word = str(decision.verdict)
                text = f"{'' if stated.side == 'equals' else stated.side + ' '}{stated.exponent:g}"
                undecided = decision.verdict is Verdict.INCONCLUSIVE
                why = decision.summary if undecided else text
                parts.append(f"{stated.symbol}: {fit.exponents[i]:.3f} ({why})")
            symbol = name if stated is None else stated.symbol
            rows.append((symbol, fit.exponents[i], fit.se[i], *limits, text, word))
        return worst(verdicts), "exponents observed (stated): " + ", ".join(parts), rows

    def _cell_result(self, observed: Observed, mean: float, error: float) -> CellResult:
        bound = None if self.bound is None else self.bound(observed.params)
        return CellResult(
            params=dict(observed.params),
            n_trials=observed.table.n_trials,
            n_failed=observed.table.n_failed,
            observed=mean,
            se=error,
            bound=bound,
            ratio=ratio_of(mean, bound, "order"),
            relation="order",
        )

    def _sharpness(self, fit: PowerLawFit) -> list[str]:
        """Sentences on the exponents for which the data support a smaller bound."""
        lines = []
        for name, stated in self.stated.items():
            found = fit.exponents[fit.names.index(name)]
            if stated.side != "equals" and abs(found - stated.exponent) > self.margin:
                lines.append(
                    f"In {stated.symbol} the data support exponent {found:.3f}, and the bound has "
                    f"{stated.exponent:g}."
                )
        return lines


def _goodness(fit: PowerLawFit, varied: Mapping[str, Sequence[float]]) -> str:
    """R^2, where each parameter has three levels: a line through two levels leaves no residual."""
    if any(_levels(values) < 3 for values in varied.values()):
        return ""
    return f"$R^2={fit.r_squared:.4f}$; "


def _levels(values: Sequence[float]) -> int:
    """The levels of a parameter.  Values within 5 per cent of a level are that level."""
    found: list[float] = []
    for value in sorted(values):
        if not found or value > 1.05 * found[-1]:
            found.append(value)
    return len(found)


@dataclass(frozen=True, kw_only=True)
class Contraction(CellByCell):
    """A contraction factor per step, estimated between burn-in and floor in every cell.

    ``errors`` turns a cell's trials into (n_trials, T + 1) errors along the iterations.
    """

    name: str
    sampling: Sampling
    cells: tuple[Params, ...]
    errors: Callable[[Table, Params], FloatArray]
    stated: float
    margin: float = 0.02
    validate: Callable[[Params], None] = lambda _cell: None
    present: Present = nothing_to_show

    def require(self, cell: Params) -> None:
        """The cell is possible and inside the theorem."""
        self.sampling.check([cell], self.validate)

    def describe(self) -> str:
        """Cells, budget and the estimation of a factor."""
        return (
            f"The factor per step is estimated in {len(self.cells)} cells of experiment "
            f"{self.sampling.experiment.name}, {self.sampling.max_trials} trials each. Even trials "
            "choose the window between burn-in and 20 floors, and odd trials are measured in it. "
            "The limits "
            f"are widened by the remaining influence of the floor. The factor is stated at most "
            f"{self.stated:g}, with margin {self.margin:g} in log. Factors of trials that "
            "are rarer than a cell resolves may be missing in the means: the verdict names that "
            "probability."
        )

    def fingerprint(self) -> Any:
        """The stated factor."""
        return self.stated

    def decide(self, store: Trials, level: float) -> Evidence:
        """Compare each cell's factor with the stated one.  All must agree."""
        observed = self.sampling.observed(store, self.cells)
        rows, steps, verdicts = [], [], []
        for o in observed:
            # whatever finite errors a failed trial has, it counts as one that diverged
            errors = np.where(o.table.failed[:, None], np.nan, self.errors(o.table, o.params))
            fit = contraction_factor(errors, level=level / len(observed))
            # a factor that half of all trials have may be missing in few, and with it their spread
            few = fit.resolved and resolvable(fit.n_used, level / len(observed)) >= 1.0
            # a diverged trial has no factor, so the other trials are a biased selection
            readable = fit.resolved and fit.n_failed == 0 and not few
            limits = fit.log_limits() if readable else (-math.inf, math.inf)
            decision = decide_rate(limits, math.log(self.stated), "at most", self.margin)
            verdicts.append(decision.verdict)
            rows.append(
                CellResult(
                    params=dict(o.params),
                    n_trials=o.table.n_trials,
                    n_failed=o.table.n_failed,
                    observed=fit.factor if fit.resolved else None,
                    lower=fit.lower,
                    upper=fit.upper if fit.resolved else None,
                    bound=self.stated,
                    ratio=ratio_of(fit.factor if fit.resolved else None, self.stated, "at most"),
                    verdict=str(decision.verdict),
                    note=fit.reason
                    or (f"{counted_trials(fit.n_failed)} failed" if fit.n_failed else "")
                    or (f"{fit.n_used} measured trials resolve no probability" if few else ""),
                )
            )
            steps.append((o, fit))
        verdict = worst(verdicts)
        # Student's limits know nothing of factors that no measured trial has shown.
        floor = resolvable(min(fit.n_used for _, fit in steps), level)
        read = [r.observed for r in rows if r.observed is not None]
        summary, sharpness = "no factor could be read in any cell", ""
        if read:
            summary = (
                f"factors from {min(read):.4f} to {max(read):.4f} in {len(read)} cells, stated at "
                f"most {self.stated:g}"
            )
            sharpness = f"The largest factor is {max(read):.4f}; the stated one is {self.stated:g}."
        return self.evidence(
            observed,
            Presentation(
                figures=(self._figure(steps),), sharpness=(sharpness,) if sharpness else ()
            ),
            verdict=verdict,
            resolution=floor if verdict is Verdict.SUPPORTED else None,
            summary=summary,
            level=level,
            cells=rows,
        )

    def _figure(self, steps: Sequence[tuple[Observed, ContractionFit]]) -> Figure:
        series = [
            Series(
                label=", ".join(
                    f"${k}={tex_number(v)}$" for k, v in o.params.items() if k in ("k", "d")
                ),
                x=[s[0] + 1 for s in fit.steps],
                y=[math.exp(s[1]) for s in fit.steps],
                lower=[math.exp(s[2]) for s in fit.steps],
                upper=[math.exp(s[3]) for s in fit.steps],
            )
            for o, fit in steps
            if fit.steps
        ]
        return Figure(
            name="contraction",
            title="Contraction per step",
            xlabel="step",
            ylabel="factor (dimensionless)",
            series=series[:6],
            hlines=[(self.stated, "stated")],
            caption="Geometric mean over trials with confidence limits, between burn-in and "
            "floor; the first six cells.",
        )
