"""Part 1: constants of the declared box that no cell excludes."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trials.run.cell import canonical_json
from verify.decisions.constants.problem import ConstantValues, Problem
from verify.decisions.sequences import confidence_sequence, exceeds, prior_for


@dataclass(frozen=True, kw_only=True)
class FeasibilityRow:
    """One (cell, choice) at the generous corner.  ``lower`` is the simultaneous lower limit."""

    cell: int
    n_trials: int
    n_bad: int
    n_failed: int
    delta: float
    lower: float
    excluded: bool


@dataclass(frozen=True, kw_only=True)
class Feasibility:
    """The choices that remain.  ``witness`` indexes cells that together exclude every choice."""

    rows: tuple[FeasibilityRow, ...]
    choices: tuple[ConstantValues, ...]
    feasible: tuple[bool, ...]
    witness: tuple[int, ...]


def find_feasible(
    problem: Problem, live: Sequence[int], choices: Sequence[ConstantValues], level: float
) -> Feasibility:
    loose = problem.generous()
    data = [problem.cells[i] for i in live]
    n = np.array([c.n_trials for c in data], dtype=np.float64)
    bad = np.array([problem.violations(loose, c) for c in data], dtype=np.float64)
    delta = np.array([problem.delta(loose, c) for c in data])
    shapes = np.array([prior_for(d) for d in delta])
    prior = (shapes[:, 0], shapes[:, 1])
    split = level / len(live)
    excluded = exceeds(bad, n, delta, split, prior)
    lower = confidence_sequence(bad, n, split, prior)[0]
    rows = tuple(
        FeasibilityRow(
            cell=i,
            n_trials=int(n[j]),
            n_bad=int(bad[j]),
            n_failed=int(np.sum(~np.isfinite(data[j].statistic))),
            delta=float(delta[j]),
            lower=float(lower[j]),
            excluded=bool(excluded[j]),
        )
        for j, i in enumerate(live)
    )
    # The choices that a parameter assignment rules out, with the index of one cell that shows it.
    # The keys are the assignments as text.
    rules_out: dict[str, dict[int, int]] = {}
    for row in rows:
        if row.excluded:
            cell = problem.cells[row.cell]
            k = list(choices).index(dict(cell.choice))
            rules_out.setdefault(canonical_json(cell.params), {})[k] = row.cell
    lost = set().union(*rules_out.values()) if rules_out else set()
    feasible = tuple(k not in lost for k in range(len(choices)))
    witness: tuple[int, ...] = ()
    if not any(feasible):
        witness = smallest_cover(rules_out, len(choices))
    return Feasibility(rows=rows, choices=tuple(choices), feasible=feasible, witness=witness)


def smallest_cover(rules_out: Mapping[str, Mapping[int, int]], n_choices: int) -> tuple[int, ...]:
    """Cell indices of a smallest set of parameter assignments that excludes all choices.

    Singles and pairs are tried exhaustively, larger sets greedily.
    """
    keys = sorted(rules_out, key=lambda key: -len(rules_out[key]))
    for size in (1, 2):
        for group in itertools.combinations(keys, size):
            if len(set().union(*(rules_out[g] for g in group))) == n_choices:
                return tuple(next(iter(rules_out[g].values())) for g in group)
    chosen: list[int] = []
    covered: set[int] = set()
    while len(covered) < n_choices:
        best = max(keys, key=lambda key: len(set(rules_out[key]) - covered))
        chosen.append(next(iter(rules_out[best].values())))
        covered |= set(rules_out[best])
    return tuple(chosen)
