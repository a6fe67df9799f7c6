"""Reproductions: the paper's printed numbers against several readings of its experiment."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from bounds.statement import Printed, Statement
from trials.checks import InvalidParameter
from trials.run.cell import Params
from trials.run.engine import Demand
from trials.run.store import Table
from verify.decisions.combine import CellDecision, combine, worse
from verify.decisions.means import (
    Knowledge,
    asymptotic_resolution,
    both_ends,
    find_unresolved,
)
from verify.decisions.reproductions import Estimand, ReproductionTest
from verify.evidence import Evidence, EvidenceTable, Figure, Series, Verdict
from verify.procedures.base import FloatArray, Observed, Sampling, Trials, unknown_parameter
from verify.procedures.interface import Stated
from verify.procedures.rounds import play_rounds


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One way to read the paper's description of its experiment.

    Attributes
    ----------
    sampling : the experiment that this reading runs, with its budget.
    cell : the setting of a printed number -> the experiment's parameters.
    statistic : ``(trials, cell) -> (n_trials,)`` the value that the paper averages.
    knowledge : ``cell -> `` the knowledge about that value.
    meaning : the reading in a few words.
    """

    sampling: Sampling
    cell: Callable[[Mapping[str, Any]], Params]
    statistic: Callable[[Table, Params], FloatArray]
    knowledge: Callable[[Params], Knowledge]
    meaning: str


@dataclass(frozen=True, kw_only=True)
class Reproduction(Stated):
    """The kind *reproduction*: every number of ``statement.printed``, under every reading.

    The verdict is that of the reading called ``named``: SUPPORTED when all printed numbers lie
    within their tolerances, REFUTED when the limits of one exclude them.  The other readings stand
    beside it in a table, for the reader to see which one the paper may have meant.

    Attributes
    ----------
    readings : name -> reading.
    observable : the printed quantity in words, with its unit.
    estimand : how the paper's number is computed from the trials' values (mean or median).
    only : positions of the printed numbers that are tried (set by `override`).
    """

    statement: Statement
    readings: Mapping[str, Reading]
    named: str
    observable: str
    estimand: Estimand = "mean"
    only: tuple[int, ...] | None = None

    @property
    def printed(self) -> list[Printed]:
        """The printed numbers that are tried."""
        every = list(self.statement.printed)
        return every if self.only is None else [every[i] for i in self.only]

    def check(self) -> None:
        """Check that numbers are printed, that the named reading exists, and every setting."""
        if not self.printed:
            raise InvalidParameter(f"{self.name} prints no number that could be reproduced")
        if self.named not in self.readings:
            known = ", ".join(self.readings)
            raise InvalidParameter(f"{self.name}: reading {self.named!r} must be one of {known}")
        for reading in self.readings.values():
            for printed in self.printed:
                reading.sampling.experiment.check(reading.cell(printed.at))

    def override(self, values: Mapping[str, Any]) -> Self:
        """The printed numbers at these settings only, because the paper prints no others."""
        known = sorted({name for p in self.printed for name in p.at})
        unknown = sorted(set(values) - set(known))
        if unknown:
            raise unknown_parameter(self.name, unknown[0], known)
        kept = tuple(
            i
            for i, p in enumerate(self.statement.printed)
            if all(p.at.get(name) == value for name, value in values.items())
            and (self.only is None or i in self.only)
        )
        if not kept:
            given = ", ".join(f"{k}={v}" for k, v in values.items())
            raise InvalidParameter(f"{self.name}: the paper prints no number at {given}")
        return replace(self, only=kept)

    def describe(self) -> str:
        """Numbers, readings, budgets and rule."""
        spelled = "; ".join(
            f"{name}: {r.meaning} (experiment {r.sampling.experiment.name}, at most "
            f"{r.sampling.max_trials} trials a setting)"
            for name, r in self.readings.items()
        )
        return (
            f"The {self.estimand} of {self.observable} is compared with {len(self.printed)} "
            f"printed numbers, each with its reading tolerance. Readings: {spelled}. The verdict "
            f"is that of reading {self.named}. There are two one-sided tests at each number, and "
            f"refutations are "
            "corrected over the numbers. A number is contradicted when the limits do not meet its "
            "tolerance. A failed trial takes either end of the range, and the number must be "
            "reproduced with both."
        )

    def _test(self, reading: Reading, printed: Printed, level: float) -> ReproductionTest:
        return ReproductionTest(
            printed=printed,
            knowledge=reading.knowledge(reading.cell(printed.at)),
            horizon=reading.sampling.max_trials,
            refute_level=level / len(self.printed),
            support_level=level,
            estimand=self.estimand,
        )

    def _decide_all(
        self,
        reading: Reading,
        observed: Sequence[Observed],
        level: float,
        *,
        limits: bool = True,
    ) -> list[CellDecision]:
        found = []
        for o, printed in zip(observed, self.printed, strict=True):
            test = self._test(reading, printed, level)
            raw = reading.statistic(o.table, o.params)
            samples = both_ends(raw, o.table.failed, test.knowledge)
            n_failed = o.table.n_failed
            found.append(worse([test.decide(x, n_failed=n_failed, limits=limits) for x in samples]))
        return found

    def _rounds(
        self, reading: Reading, store: Trials, level: float
    ) -> tuple[list[Demand], list[Observed]]:
        return play_rounds(
            reading.sampling,
            store,
            [reading.cell(p.at) for p in self.printed],
            lambda observed: find_unresolved(
                self._decide_all(reading, observed, level, limits=False)
            ),
        )

    def fingerprint(self) -> Any:
        """The printed numbers with their tolerances."""
        return [(dict(p.at), p.value, p.tolerance) for p in self.printed]

    def demands(self, store: Trials, level: float) -> list[Demand]:
        """The rounds of all readings, so that the report can show them side by side."""
        return [d for r in self.readings.values() for d in self._rounds(r, store, level)[0]]

    def decide(self, store: Trials, level: float) -> Evidence:
        """The verdict of the named reading, and one table with the numbers of every reading."""
        drawn = {name: self._rounds(r, store, level)[1] for name, r in self.readings.items()}
        decided = {
            name: self._decide_all(self.readings[name], o, level) for name, o in drawn.items()
        }
        verdicts = {name: combine(cells)[0] for name, cells in decided.items()}
        verdict, summary = combine(decided[self.named], "number", "numbers")
        others = ", ".join(f"{n}: {v}" for n, v in verdicts.items() if n != self.named)
        return Evidence(
            verdict=verdict,
            resolution=asymptotic_resolution(verdict, decided[self.named], level),
            summary=f"reading {self.named}: {summary}"
            + (f" (other readings: {others})" if others else ""),
            level=level,
            n_trials=sum(c.n_trials for cells in decided.values() for c in cells),
            n_failed=sum(c.n_failed for cells in decided.values() for c in cells),
            cells=[c.result(p.at) for c, p in zip(decided[self.named], self.printed, strict=True)],
            tables=(self._table(decided),),
            figures=self._figures(decided),
            notes=self._notes(decided, verdicts),
        )

    def _table(self, decided: Mapping[str, Sequence[CellDecision]]) -> EvidenceTable:
        rows: list[tuple[str | float | None, ...]] = [
            (
                name + (" (named)" if name == self.named else ""),
                ", ".join(f"{k}={v}" for k, v in p.at.items()),
                p.value,
                p.tolerance,
                c.observed,
                c.lower,
                c.upper,
                c.result({}).verdict,
            )
            for name, cells in decided.items()
            for c, p in zip(cells, self.printed, strict=True)
        ]
        return EvidenceTable(
            title="Readings side by side",
            columns=(
                "reading",
                "setting",
                "printed",
                "tolerance",
                "observed",
                "lower",
                "upper",
                "verdict",
            ),
            rows=rows,
        )

    def _figures(self, decided: Mapping[str, Sequence[CellDecision]]) -> tuple[Figure, ...]:
        """The printed curve beside every reading's, where one parameter varies."""
        varied = [
            name
            for name in self.printed[0].at
            if len({p.at.get(name) for p in self.printed}) == len(self.printed) > 1
            and all(isinstance(p.at.get(name), int | float) for p in self.printed)
        ]
        if not varied:
            return ()
        x = [float(p.at[varied[0]]) for p in self.printed]
        series = [
            Series(
                label="printed",
                x=x,
                y=[p.value for p in self.printed],
                lower=[p.value - p.tolerance for p in self.printed],
                upper=[p.value + p.tolerance for p in self.printed],
            )
        ]
        for name, cells in decided.items():
            series.append(
                Series(
                    label=name,
                    x=x,
                    y=[c.observed for c in cells],
                    lower=[c.lower for c in cells],
                    upper=[c.upper for c in cells],
                    style="line",
                )
            )
        return (
            Figure(
                name="reproduction",
                title="Printed and reproduced",
                xlabel=varied[0],
                ylabel=self.observable,
                series=series,
                caption="Printed values with their tolerances; readings with confidence limits.",
            ),
        )

    def _notes(
        self, decided: Mapping[str, Sequence[CellDecision]], verdicts: Mapping[str, Verdict]
    ) -> list[str]:
        notes = [
            f"Reading {name} reproduces every printed number."
            for name, verdict in verdicts.items()
            if name != self.named and verdict is Verdict.SUPPORTED
        ]
        gaps = [
            abs(c.observed - p.value) / p.tolerance
            for c, p in zip(decided[self.named], self.printed, strict=True)
            if c.observed is not None and math.isfinite(c.observed)
        ]
        if gaps:
            notes.append(
                f"The largest distance from a printed number is {np.max(gaps):.2g} tolerances."
            )
        if any(c.asymptotic for c in decided[self.named]):
            notes.append("Limits are asymptotic: the values have no known range.")
        return notes
