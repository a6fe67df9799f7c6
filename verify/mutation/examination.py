"""A claim with everything that its statement and its changed forms are decided with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bounds.statement import OutsideTheorem, Statement
from trials.checks import InvalidParameter
from trials.run.cell import Params
from trials.run.engine import ensure
from trials.run.executors import Executor
from trials.run.store import RunStore, StoreError
from verify.claim import Claim
from verify.evidence import Evidence
from verify.mutation.opened import breaks_condition
from verify.procedures.base import Profile
from verify.procedures.interface import Procedure
from verify.procedures.placebos import Occurs, Placebo, decide, demands
from verify.procedures.reading import ReadOnce

#: Evaluations of a search in a sample.
QUICK_BUDGET = 200
#: New trials that one mutant may ask for.
MAX_NEW_TRIALS = 400_000
#: Refusals of a procedure: it cannot try the statement, or its numbers leave floats or memory.
REFUSALS = (InvalidParameter, OutsideTheorem, ArithmeticError, ValueError, KeyError, MemoryError)


class TooManyTrials(InvalidParameter):
    """More new trials are asked for than are allowed."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """The verdict of the unchanged statement, as a run decided it."""

    verdict: str
    mark: str
    resolution: float | None = None
    level: float = 0.0

    @classmethod
    def of(cls, evidence: Evidence) -> Standing:
        """The standing of evidence that was just found."""
        return cls(
            verdict=str(evidence.verdict),
            mark=evidence.mark,
            resolution=evidence.resolution,
            level=evidence.level,
        )


@dataclass(frozen=True, kw_only=True)
class Examination:
    """A claim with everything that its statement and its mutants are decided with.

    Attributes
    ----------
    standing : the verdict on the unchanged statement, with its error level.
    store : open for writing where ``executor`` is given.
    executor : draws the trials that a mutant asks for and that are not stored; None allows none.
    values : the user's own values, where the claim was run at some.
    placebos : those of the claim: a mutant that they pass is not supported either.
    new_seconds : CPU seconds, as experiments declare them, of the new trials that one mutant may
        ask for.
    trials : those of ``store``, each cell read once.
    original : the claim's procedure for its own statement where it is built already, at the user's
        values.
    """

    claim: Claim
    profile: Profile
    standing: Standing
    store: RunStore
    executor: Executor | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    new_seconds: float = 10.0
    placebos: tuple[Placebo | Occurs, ...] = ()
    trials: ReadOnce = field(default=None)  # type: ignore[assignment]
    original: Procedure | None = None

    def __post_init__(self) -> None:
        """Every change reads the same trials, so they are kept."""
        if self.trials is None:
            object.__setattr__(self, "trials", ReadOnce(self.store))

    def procedure(self, statement: Statement) -> Procedure:
        """The claim's procedure for a statement, at the user's values where there are any."""
        if self.original is not None and statement is self.claim.statement:
            return self.original
        built = replace(self.claim, statement=statement).build(self.profile)
        return built.override(self.values) if self.values else built

    def decide(self, statement: Statement, *, quickly: bool = False) -> Evidence:
        """The evidence that the claim's procedure gives for a statement.

        ``quickly`` gives a search a small budget: enough to find what is plainly false.
        """
        return self.evidence(self.inside(statement), quickly=quickly)

    def inside(self, statement: Statement) -> Procedure:
        """The claim's procedure for a statement, in those of its cells that meet its conditions.

        A change may move a condition that names the bound itself.  A procedure that decides no cell
        alone, or none of whose cells is left, is returned as it is and refuses them.
        """
        procedure = self.procedure(statement).with_numbers()
        cells = procedure.cells_alone()
        kept = [cell for cell in cells if not breaks_condition(procedure, cell)]
        return procedure.in_cells(kept) if 0 < len(kept) < len(cells) else procedure

    def evidence(
        self, procedure: Procedure, *, quickly: bool = False, n_new: int = MAX_NEW_TRIALS
    ) -> Evidence:
        """The evidence that a procedure gives at the claim's error level, from ``n_new`` new trials
        at most.

        Raises
        ------
        InvalidParameter, OutsideTheorem
            When the procedure cannot try the statement, its cells do not meet its assumptions, or
            it asks for more new trials than are allowed.
        """
        level = self.standing.level
        procedure = procedure.without_figures()
        procedure.check()
        spent, seconds = 0, 0.0
        while missing := demands(procedure, self.placebos, self.trials, level):
            for demand in missing:
                params = demand.experiment.check(demand.params)
                stored = self.store.blocks(demand.experiment, params)
                lacking = set(range(demand.n_blocks)) - stored  # it may hold later ones too
                new = demand.experiment.block_size * len(lacking)
                spent += new
                if demand.experiment.cost is not None:
                    seconds += new * demand.experiment.cost(params)
            if self.executor is None or spent > n_new or seconds > self.new_seconds:
                raise TooManyTrials(
                    f"it asks for {spent} trials that the run does not hold"
                    + (f", or {seconds:.0f} s of CPU" if seconds else "")
                )
            try:
                ensure(self.store, missing, self.executor)
            except StoreError as error:  # made by older code, to which no trial may be added
                raise InvalidParameter(f"it asks for new trials: {error}") from None
        if quickly:
            procedure = procedure.with_budget(QUICK_BUDGET)
        return decide(procedure, self.placebos, self.trials, level)

    def alone(self, cell: Params, procedure: Procedure, level: float, n_new: int) -> Evidence:
        """The evidence that a procedure gives in one cell at an error level, without placebos.

        Raises
        ------
        InvalidParameter, OutsideTheorem
            As `evidence`, and when a trial fails.
        """
        standing = replace(self.standing, level=level)
        asked = replace(self, placebos=(), standing=standing)
        evidence = asked.evidence(procedure.in_cells([cell]), n_new=n_new)
        if evidence.n_failed:
            raise InvalidParameter("some of its trials fail")
        return evidence
