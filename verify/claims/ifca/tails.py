"""Computed limits on the failure probabilities of IFCA's cells (`trials.laws.step_tail`).

Sampling at the profile *quick* resolves probabilities down to about 0.008.  Theorem 1 states 1/m.
These limits hold for the laws that the experiments draw from.  So they support a cell at its stated
probability for any number of trials.
"""

from __future__ import annotations

import json
import math
from functools import lru_cache

import numpy as np

from trials.experiments.ifca.geometry import sizes_of, step_sizes_of
from trials.laws.step_tail import (
    StepSetting,
    log_growth_tails,
    log_label_tail,
    log_run_tail,
    log_step_tail,
    same_clusters,
)
from trials.run.cell import Params, canonical_json
from verify.claims.ifca.cells import floor

_GRID = 1.05  # errors between two radii are covered by a grid of this ratio


def start_of(params: Params) -> float:
    """The distance of every model from its optimum at the start of a cell's trials."""
    return float((0.5 - params["alpha"]) * params["Delta"])


def setting_of(params: Params) -> StepSetting:
    """A cell of ``ifca.step`` or ``ifca.trajectory`` as the limits take it."""
    sizes = sizes_of(params)
    return StepSetting(
        sizes=[int(size) for size in sizes],
        step_sizes=[float(gamma) for gamma in step_sizes_of(params, sizes)],
        n_samples=int(params["n"]),
        dimension=int(params["d"]),
        separation=float(params["Delta"]),
        sigma=float(params["sigma"]),
    )


def log_step_limit(params: Params, bound: float) -> float:
    """Log of a limit on P(some cluster's error > bound) after one step from the cell's start."""
    return log_step_tail(setting_of(params), start_of(params), bound)


def log_run_limit(params: Params, n_steps: int, bound: float, log_delta: float) -> float:
    """Log of a limit on P(some cluster's error > bound) after ``n_steps`` steps.

    The stated probability is tried first, then two far smaller ones.  One above 1 is tried as 1.
    """
    spelling = canonical_json(params)
    return _run_limit(spelling, n_steps, bound, min(log_delta, 0.0))


@lru_cache(maxsize=4096)
def _run_limit(spelling: str, n_steps: int, bound: float, log_delta: float) -> float:
    cell: Params = json.loads(spelling)
    candidates = (log_delta, log_delta - 25.0, log_delta - 100.0)
    return log_run_tail(setting_of(cell), start_of(cell), n_steps, bound, candidates)


def log_stay_limit(params: Params, n_steps: int, bound: float) -> float:
    """Log of a limit on P(some error exceeds ``bound`` at some of ``n_steps`` steps).

    Until it happens every error is at most the larger of the start and the bound, so each step adds
    at most the limit of one step from there.
    """
    radius = max(start_of(params), bound)
    one = log_step_tail(setting_of(params), radius, bound)
    return min(0.0, math.log(n_steps) + one)


def log_growth_limit(params: Params, n_steps: int, above: float) -> float:
    """Log of a limit on P(some error of at least ``above`` floors grows at some step).

    While no error has grown from there, all are at most the start.  An error e between two points
    of a grid grows with at most the probability that one at the upper point ends above the lower.
    """
    return _growth_limit(canonical_json(params), n_steps, above)


@lru_cache(maxsize=4096)
def _growth_limit(spelling: str, n_steps: int, above: float) -> float:
    params: Params = json.loads(spelling)
    setting, start, least = setting_of(params), start_of(params), above * floor(params)
    if not least > 0:
        return 0.0
    logs = [log_label_tail(setting, max(start, least))]
    if least < start:
        count = max(2, math.ceil(math.log(start / least) / math.log(_GRID)) + 1)
        grid = np.geomspace(least, start, count)
        first = same_clusters(setting)
        rises = {j: float(log_growth_tails(setting, j, grid).max()) for j in set(first)}
        logs += [rises[j] for j in first]
    total = float(np.logaddexp.reduce(logs))
    return min(0.0, math.log(n_steps) + total)
