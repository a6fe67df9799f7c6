"""Vacuity: the settings and sizes at which a statement is stronger than a trivial bound."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import sympy as sp

from bounds.log_domain import LogNumber, LogValues
from bounds.render import latex
from bounds.statement import Statement
from trials.checks import InvalidParameter
from trials.run.engine import Demand
from verify.decisions.vacuity import Condition, Setting, conditions, examine
from verify.evidence import (
    CellResult,
    Evidence,
    EvidenceTable,
    Figure,
    Series,
    Verdict,
    Witness,
    ratio_of,
)
from verify.procedures.base import Trials, unknown_parameter
from verify.procedures.interface import Stated

_MAP_PRECISION = 0.01  # of the log of a size in a map


@dataclass(frozen=True, kw_only=True)
class Vacuity(Stated):
    """The kind *vacuity*: the statement's conditions and bound with the paper's own constants.

    The verdict is VACUOUS when some condition fails at every setting.  The report then gives
    the size from which on all conditions would hold.  The verdict is SUPPORTED when all conditions
    hold at one of the settings.  With ``claimed`` the paper asserts that its experiments meet
    the conditions.  Then one setting that misses a condition refutes.

    No trial is drawn and no error level is used, because every condition is evaluated directly.

    Attributes
    ----------
    settings : name -> the value of every symbol, constants included.
    along : the symbol that is varied, a size.
    trivial : a bound that the observed quantity never exceeds, in the statement's symbols.
    smallest, largest : the range of ``along``.  Where ``largest`` overflows, ``largest_power``
        gives it as an exponent of ten.
    across : symbol -> values.  For each of these symbols a map shows the sizes from which on all
        conditions hold over the symbol, and where the settings lie.
    """

    statistical: ClassVar[bool] = False

    statement: Statement
    settings: Mapping[str, Mapping[str, float]]
    along: str
    trivial: sp.Expr | None = None
    smallest: float = 1.0
    largest_power: float = 30.0
    claimed: bool = False
    fixed: Mapping[str, float] = field(default_factory=dict)
    across: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def _values(self, name: str) -> dict[str, float]:
        return {**self.settings[name], **self.fixed}

    def check(self) -> None:
        """Every symbol of every condition has a value in every setting."""
        if not self.settings:
            raise InvalidParameter(f"{self.name} has no setting at which it could be evaluated")
        if not 0 < self.smallest < 10.0 ** min(self.largest_power, 300.0):
            raise InvalidParameter(
                f"smallest={self.smallest} must be > 0 and below the largest size"
            )
        for name in self.settings:
            values = self._values(name)
            for condition in conditions(self.statement, self.trivial):
                needed = {s.name for s in (condition.left - condition.right).free_symbols}
                if missing := sorted(needed - set(values)):
                    raise InvalidParameter(
                        f"{self.name}: setting {name!r} has no value for {', '.join(missing)} "
                        f"({condition.name})"
                    )
            if self.along not in values:
                raise InvalidParameter(f"{self.name}: setting {name!r} has no {self.along}")

    def override(self, values: Mapping[str, Any]) -> Self:
        """The same settings with some symbols at other values."""
        known = sorted({symbol for setting in self.settings.values() for symbol in setting})
        for name in values:
            if name not in known:
                raise unknown_parameter(self.name, name, known)
        return replace(self, fixed={**self.fixed, **{k: float(v) for k, v in values.items()}})

    def describe(self) -> str:
        """Settings, range and rule."""
        names = ", ".join(c.name for c in conditions(self.statement, self.trivial))
        says = (
            "The paper asserts that they hold at all settings"
            if self.claimed
            else "The statement is not vacuous if they hold at one setting"
        )
        return (
            f"The conditions are evaluated, without trials, at {len(self.settings)} settings "
            f"({', '.join(self.settings)}). They are: {names}. {says}. Along ${self._letter}$ from "
            f"{self.smallest:g} to $10^{{{self.largest_power:g}}}$, the size from which each "
            "condition holds is found by bisection in the log domain."
        )

    @property
    def _asked(self) -> str:
        """What is evaluated, in words.  Not every statement has a trivial bound beside it."""
        if self.trivial is None:
            return "the conditions hold"
        return "the conditions hold and the bound is below the trivial one"

    @property
    def _letter(self) -> str:
        return latex(sp.Symbol(self.along), self.statement.publication.notation)

    def fingerprint(self) -> Any:
        """The size from which the conditions hold, at every setting."""
        return [setting.begins.log_size for setting in self.examined()]

    def demands(self, _store: Trials, _level: float) -> list[Demand]:
        """Nothing is drawn."""
        return []

    def examined(self) -> list[Setting]:
        """Every setting with its failing conditions and onsets."""
        wanted = conditions(self.statement, self.trivial)
        return [
            examine(
                name,
                wanted,
                self._values(name),
                self.along,
                self.smallest,
                self.largest_power * math.log(10),
            )
            for name in self.settings
        ]

    def decide(self, _store: Trials, level: float) -> Evidence:
        """The verdict, with the conditions that fail and where each begins to hold."""
        found = self.examined()
        biting = [s for s in found if s.bites]
        begins = min((s.begins for s in found), key=lambda o: o.log_size)
        largest_log = self.largest_power * math.log(10)
        onset = f"they do so for ${self._letter}$ {begins.text(largest_log)}"
        if len(found) > 1:
            onset = f"where it is earliest, {onset}"
        if begins.never:
            onset = f"they do so at no ${self._letter}$ up to $10^{{{self.largest_power:g}}}$"
        if self.claimed:
            verdict = Verdict.SUPPORTED if len(biting) == len(found) else Verdict.REFUTED
        else:
            verdict = Verdict.SUPPORTED if biting else Verdict.VACUOUS
        return Evidence(
            verdict=verdict,
            summary=(f"{self._asked} at {len(biting)} of {len(found)} settings; {onset}"),
            level=level,
            n_trials=0,
            cells=[self._cell(s) for s in found],
            tables=(self._table(found, largest_log),),
            figures=[self._map(name, values) for name, values in self.across.items()],
            witness=self._witness(found) if verdict is Verdict.REFUTED else None,
        )

    def _cell(self, setting: Setting) -> CellResult:
        size = self._values(setting.name)[self.along]
        log = setting.begins.log_size
        needed = None if log > 700 else max(math.exp(log), self.smallest)
        return CellResult(
            params={"setting": setting.name},
            n_trials=0,
            observed=size,
            bound=needed,
            ratio=ratio_of(size, needed, "at least"),
            relation="at least",
            verdict="" if setting.bites else str(Verdict.VACUOUS),
            note="fails: " + ", ".join(setting.failing) if setting.failing else "",
        )

    def _table(self, found: Sequence[Setting], largest_log: float) -> EvidenceTable:
        rows = [
            (s.name, name, "fails" if name in s.failing else "holds", o.text(largest_log))
            for s in found
            for name, o in s.onsets.items()
        ]
        return EvidenceTable(
            title="Conditions",
            columns=("setting", "condition", "there", f"along ${self._letter}$"),
            rows=rows,
        )

    def _map(self, symbol: str, values: Sequence[float]) -> Figure:
        """Over a symbol: the size from which on all conditions hold, and the settings' sizes."""
        wanted = conditions(self.statement, self.trivial)
        series = []
        for name in self.settings:
            at = self._values(name)
            sizes = [self._from_on(wanted, {**at, symbol: value}) for value in values]
            series += [
                Series(label=f"{name}: needed", x=values, y=sizes, style="line", group=name),
                Series(label=f"{name}: has", x=[at[symbol]], y=[at[self.along]], group=name),
            ]
        letter = latex(sp.Symbol(symbol), self.statement.publication.notation)
        return Figure(
            name=f"map-{symbol}",
            title="Where the statement says something",
            xlabel=f"${letter}$",
            ylabel=f"${self._letter}$ (count)",
            xscale="log",
            yscale="log",
            series=series,
            caption="From a line on upwards all conditions hold with that setting's other "
            "constants. A point is the setting itself.",
        )

    def _from_on(self, wanted: Sequence[Condition], values: LogValues) -> float | None:
        """The size at which all conditions begin to hold, by bisection for one crossing.

        None where they fail at the largest size.
        """

        tests = [condition.along(self.along, values) for condition in wanted]

        def hold(log_size: float) -> bool:
            return all(test(LogNumber.exp(log_size)) for test in tests)

        low = math.log(self.smallest)
        high = min(self.largest_power, 300.0) * math.log(10)
        if not hold(high):
            return None
        while high - low > _MAP_PRECISION:
            middle = (low + high) / 2
            low, high = (low, middle) if hold(middle) else (middle, high)
        return math.exp(high)

    def _witness(self, found: Sequence[Setting]) -> Witness:
        """A setting of the paper that misses a condition, with both sides."""
        setting = next(s for s in found if not s.bites)
        values = self._values(setting.name)
        condition = next(
            c for c in conditions(self.statement, self.trivial) if c.name == setting.failing[0]
        )
        try:
            left, right = (float(side) for side in condition.sides(values))
        except ValueError:
            left = right = math.nan
        return Witness(
            description=f"{condition.name} fails at {setting.name}",
            params=dict(values),
            observed=left,
            bound=right,
        )
