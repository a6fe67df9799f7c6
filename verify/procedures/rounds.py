"""Doubling rounds: cells that are not decided get twice as many trials, up to the budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trials.run.cell import Params
from trials.run.engine import Demand
from trials.run.store import RunStore
from verify.procedures.base import Observed, Sampling

Unresolved = Callable[[Sequence[Observed]], Sequence[int]]


def play_rounds(
    sampling: Sampling, store: RunStore, cells: Sequence[Params], unresolved: Unresolved
) -> tuple[list[Demand], list[Observed]]:
    """Play the rounds from the first on stored trials: what the next one lacks, or the end.

    Parameters
    ----------
    unresolved : the cells' trials -> the positions of cells that need more; empty ends the rounds.

    Notes
    -----
    The rule looks at each round's trials and not at whatever happens to be stored.  So a run that
    was killed within a round, or shares cells with another claim, stops where an uninterrupted
    one does.
    """
    budget = sampling.max_trials
    counts = [min(sampling.first, budget)] * len(cells)
    while True:
        wanted = [sampling.upto(store, c, n) for c, n in zip(cells, counts, strict=True)]
        lacking = [demand for demand in wanted if demand is not None]
        if lacking:
            return lacking, []
        observed = sampling.observed(store, cells, counts)
        more = [i for i in unresolved(observed) if counts[i] < budget]
        if not more:
            return [], observed
        for i in more:
            counts[i] = min(2 * counts[i], budget)


def whole_budget(
    sampling: Sampling, store: RunStore, cells: Sequence[Params]
) -> tuple[list[Demand], list[Observed]]:
    """Every cell at its whole budget: what is lacking, or the trials."""
    wanted = [sampling.upto(store, c, sampling.max_trials) for c in cells]
    lacking = [demand for demand in wanted if demand is not None]
    return (lacking, []) if lacking else ([], sampling.observed(store, cells))
