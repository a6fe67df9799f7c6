"""The common part of all procedures: profiles, sampling and the reading of cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from trials.checks import InvalidParameter
from trials.run.cell import Params
from trials.run.engine import Demand
from trials.run.experiment import Experiment
from trials.run.store import Table
from verify.evidence import Apart, EvidenceTable, Figure, Slack

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


def truths(name: str, found: Any, n_trials: int) -> BoolArray:
    """What a claim's own function says of each trial, (n_trials,).

    One truth value for all trials, or numbers, would be taken for events in silence.

    Raises
    ------
    InvalidParameter : another shape or type.
    """
    given = np.asarray(found)
    if given.dtype != np.bool_ or given.shape != (n_trials,):
        raise InvalidParameter(
            f"{name} must give a truth value for each of {n_trials} trials, and gives "
            f"{given.dtype} of shape {given.shape}"
        )
    return given


@dataclass(frozen=True, kw_only=True)
class Profile:
    """The amount of work that a run may do, fixed before the first trial.

    Attributes
    ----------
    max_trials : budget of one cell, in trials.
    searches : evaluations that a search for a counterexample may use.
    seconds : budget of one claim in CPU seconds, as its experiment declares its cost.  It limits
        the trials of claims whose experiments declare one (`budget`).
    """

    name: str
    max_trials: int
    searches: int
    seconds: float = math.inf

    def budget(self, experiment: Experiment, cells: Iterable[Params]) -> int:
        """The trials that a claim may draw in a cell, within ``max_trials`` and ``seconds``.

        The *declared* cost of a trial decides, never a measured time, so that the number of trials
        is the same on every machine.  At least one block is drawn at any cost.  A claim that takes
        too long for a profile sets `verify.claim.Claim.smallest_profile`.
        """
        if experiment.cost is None or not math.isfinite(self.seconds):
            return self.max_trials
        one_each = math.fsum(experiment.cost(experiment.check(cell)) for cell in cells)
        if not one_each > 0:
            return self.max_trials
        block = experiment.block_size
        whole_blocks = int(self.seconds / one_each) // block * block
        return min(self.max_trials, max(whole_blocks, block))

    def sampling(
        self, experiment: Experiment, cells: Collection[Params], first: int = 512
    ) -> Sampling:
        """The sampling of a claim with these cells, within its trials and its CPU seconds.

        Examples
        --------
        One trial in each of ten cells takes 0.1 s by declaration, so 2 s are enough for 20 each:

        >>> slow = Experiment(name="doc.slow", design=4_000_000_001, columns=("s",), block_size=1,
        ...     simulate=lambda params, rng, n: rng.random((n, 1)), check=dict,
        ...     cost=lambda params: 0.01)
        >>> PROFILES["quick"].sampling(slow, [{"n": n} for n in range(10)]).max_trials
        20
        """
        budget = self.budget(experiment, cells)
        return Sampling(experiment=experiment, max_trials=budget, first=min(first, budget))


PROFILES: dict[str, Profile] = {
    "quick": Profile(name="quick", max_trials=1_024, searches=2_000, seconds=2.0),
    "standard": Profile(name="standard", max_trials=65_536, searches=30_000, seconds=60.0),
    "full": Profile(name="full", max_trials=1_048_576, searches=300_000, seconds=1_800.0),
}


class Trials(Protocol):
    """Stored trials as a procedure reads them: a `trials.run.store.RunStore`, or a view of it."""

    def blocks(self, experiment: Experiment, params: Params) -> set[int]:
        """The numbers of the blocks of a cell that are there."""
        ...

    def table(self, experiment: Experiment, params: Params, n_blocks: int) -> Table:
        """The first blocks of a cell."""
        ...


@dataclass(frozen=True, kw_only=True)
class Observed:
    """One cell with its trials."""

    params: Params
    table: Table


def finished(observed: Iterable[Observed]) -> list[Observed]:
    """The cells without their failed trials, and without the cells in which every trial failed.

    A figure of errors takes these: one value that is no number would spoil its point.
    """
    kept = (replace(o, table=o.table.finished) for o in observed)
    return [o for o in kept if o.table.n_trials]


@dataclass(frozen=True, kw_only=True)
class Presentation:
    """The figures, tables and sentences that a claim shows beside its verdict."""

    figures: Sequence[Figure] = ()
    tables: Sequence[EvidenceTable] = ()
    sharpness: Sequence[str] = ()
    slack: Sequence[Slack] = ()
    apart: Sequence[Apart] = ()
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Refuse parts of another type: no report could show them.

        Raises
        ------
        InvalidParameter : it names the part.
        """
        for name, kind in _SHOWN.items():
            parts = getattr(self, name)
            if isinstance(parts, str) or not all(isinstance(p, kind) for p in parts):
                wanted = "texts" if kind is str else f"{kind.__name__} objects"
                raise InvalidParameter(f"{name}={parts!r:.80} must be a list of {wanted}")


#: What a presentation holds, and of which type.
_SHOWN: dict[str, type] = {
    "figures": Figure, "tables": EvidenceTable, "slack": Slack, "apart": Apart, "sharpness": str,
    "notes": str,
}  # fmt: skip
#: What a procedure shows that has no figure, table or sentence of its own.
NOTHING = Presentation()


def counted_trials(n: int) -> str:
    """A number of trials in words: ``1 trial``, ``3 trials``."""
    return "1 trial" if n == 1 else f"{n} trials"


def tex_number(value: float) -> str:
    """A number inside math: three digits, powers of ten written out, 1000 but 10 000."""
    mantissa, _, exponent = f"{value:.3g}".partition("e")
    if exponent and 1e3 <= value < 1e5:
        return f"{value:,.0f}".replace(",", r"\," if value >= 1e4 else "")
    power = rf"10^{{{int(exponent)}}}" if exponent else ""
    return power if power and mantissa == "1" else mantissa + (rf"\times{power}" if power else "")


Present = Callable[[Sequence[Observed]], Presentation]


def nothing_to_show(_observed: Sequence[Observed]) -> Presentation:
    """The presentation of a claim that has no figures of its own."""
    return NOTHING


class UnknownParameter(InvalidParameter):
    """A value was given for a parameter that the claim does not have."""


def unknown_parameter(owner: str, name: str, known: Iterable[str]) -> UnknownParameter:
    """The error that names the parameter and lists those that the claim has."""
    listed = ", ".join(sorted(known)) or "none"
    return UnknownParameter(f"{owner} has no parameter {name!r}; its parameters: {listed}")


@dataclass(frozen=True)
class DroppedCell:
    """A pre-registered cell that violates an assumption at the user's values, and the reason."""

    params: Params
    reason: str


_dropped: ContextVar[list[DroppedCell] | None] = ContextVar("dropped_cells", default=None)


@contextmanager
def dropped_cells() -> Iterator[list[DroppedCell]]:
    """Collect the cells that `override_cells` leaves out inside the ``with`` block."""
    found: list[DroppedCell] = []
    token = _dropped.set(found)
    try:
        yield found
    finally:
        _dropped.reset(token)


def override_cells(
    cells: Iterable[Params], values: Mapping[str, Any], owner: str, check: Callable[[Params], None]
) -> tuple[dict[str, Any], ...]:
    """Every cell with ``values`` put in, without duplicates, in the same order.

    A cell that leaves the theorem (``check`` raises) is left out and reported to `dropped_cells`.
    When no cell remains, the first cell's error is raised.
    """
    collected = _dropped.get()
    dropped = [] if collected is None else collected
    distinct: dict[str, dict[str, Any]] = {}
    first: ValueError | None = None
    for cell in cells:
        unknown = sorted(set(values) - set(cell))
        if unknown:
            raise unknown_parameter(owner, unknown[0], cell)
        merged = {**cell, **values}
        try:
            check(merged)
        except ValueError as error:
            first = first or error
            dropped.append(DroppedCell(merged, str(error)))
        else:
            distinct.setdefault(repr(sorted(merged.items())), merged)
    if first is not None and not distinct:
        raise first
    return tuple(distinct.values())


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How a procedure draws trials of its cells: doubling rounds up to a budget."""

    experiment: Experiment
    max_trials: int
    first: int = 512

    def n_blocks(self, n_trials: int) -> int:
        """Blocks that hold at least ``n_trials`` trials."""
        return max(1, -(-n_trials // self.experiment.block_size))

    def observed(
        self, store: Trials, cells: Sequence[Params], n_trials: Sequence[int] | None = None
    ) -> list[Observed]:
        """The stored trials of cells that have any: the first ``n_trials`` of each, or the budget.

        More trials are never read, though the store may hold more for another claim with the same
        cells.  A claim's verdict must not depend on the other claims of the run.
        """
        found = []
        for i, cell in enumerate(cells):
            full = self.experiment.check(cell)
            stored = store.blocks(self.experiment, full)
            if 0 in stored:
                whole = next(b for b in range(len(stored) + 1) if b not in stored)
                budget = min(self.n_blocks(self.max_trials), whole)
                blocks = budget if n_trials is None else self.n_blocks(n_trials[i])
                table = store.table(self.experiment, full, blocks)
                found.append(Observed(params=cell, table=table))
        return found

    def upto(self, store: Trials, cell: Params, n_trials: int) -> Demand | None:
        """The demand that brings a cell to ``n_trials`` (at most its budget), or None when met."""
        blocks = self.n_blocks(min(n_trials, self.max_trials))
        if store.blocks(self.experiment, self.experiment.check(cell)).issuperset(range(blocks)):
            return None
        return Demand(self.experiment, cell, blocks)

    def missing(
        self, store: Trials, cells: Sequence[Params], n_trials: Sequence[int] | None = None
    ) -> list[Demand]:
        """The demands of the cells that hold fewer trials: ``n_trials`` of each, or the budget."""
        counts = [self.max_trials] * len(cells) if n_trials is None else n_trials
        wanted = (self.upto(store, cell, n) for cell, n in zip(cells, counts, strict=True))
        return [demand for demand in wanted if demand is not None]

    def check(self, cells: Iterable[Params], validate: Callable[[Params], None]) -> None:
        """Validate every cell: first with the experiment's own check, then as the claim's."""
        for cell in cells:
            self.experiment.check(cell)
            validate(cell)
