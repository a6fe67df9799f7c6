r"""Experiments on orthogonal iteration from a uniformly random start (Lemmas 5 and 15).

The :math:`x_i` are orthogonal to each other.  M has an error :math:`\epsilon` in all other
directions, and :math:`-\epsilon` along the shortest :math:`x_i`.

``sxy.projection`` (design 300):

* ``cosine``: the smallest singular value of the start inside the leading subspace.
* ``projection``: the largest projection error over :math:`\sqrt\epsilon` after ``half_steps``.

``sxy.crossing`` (design 301):

* ``crossing``: half steps, as a real number, at which the largest projection error falls to
  :math:`3\sqrt\epsilon`, and 0 where the start is that good.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trials.checks import MAX_DRAWN, FloatArray, InvalidParameter
from trials.laws.random_subspace import (
    MOST_COLUMNS,
    lost_shares,
    random_tangents,
    smallest_cosines,
)
from trials.parameters import Integer, Options, Parameters, Real, unchecked
from trials.run.cell import Params
from trials.run.experiment import Simulate, add_experiment

MOST_ROUNDS = 1024.0
_BISECTIONS = 24
_tangents = unchecked(random_tangents)
_cosines = unchecked(smallest_cosines)
_lost = unchecked(lost_shares)


def subspace_fits(cell: Params) -> None:
    """k <= d."""
    if cell["k"] > cell["d"]:
        raise InvalidParameter(f"k={cell['k']} must be <= d={cell['d']}")


def lengths(params: Params) -> FloatArray:
    """The squared lengths of the x_i over epsilon, (k,), descending."""
    k, top, low = params["k"], params["top"], params["low"]
    family = params["family"]
    if k == 1 or family == "equal":
        return np.full(k, top)
    if family == "cliff":
        return np.concatenate([[top], np.full(k - 1, low)])
    return np.geomspace(top, low, k)


def _crossings(projection: Callable[[FloatArray], FloatArray], n_trials: int) -> FloatArray:
    """Half steps, as real numbers, after which each trial's largest projection error is 3."""
    low, high = np.zeros(n_trials), np.ones(n_trials)
    there = projection(low) <= 3.0
    while (far := (high < MOST_ROUNDS) & (projection(high) > 3.0)).any():
        low, high = np.where(far, high, low), np.where(far, 2.0 * high, high)
    endless = projection(high) > 3.0
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        far = projection(middle) > 3.0
        low, high = np.where(far, middle, low), np.where(far, high, middle)
    return np.where(there, 0.0, np.where(endless, np.inf, low + high))


def _projection(
    params: Params, rng: np.random.Generator, n_trials: int
) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
    """Starts, and the function from rounds to the largest projection errors, both (n_trials,)."""
    squares = lengths(params)
    values = np.maximum(squares - (squares == squares.min()), 1.0)
    tangents = _tangents(params["d"], params["k"], rng, n_trials)

    def errors(rounds: FloatArray) -> FloatArray:
        lost = _lost(tangents, values, rounds)
        return np.asarray(np.sqrt((squares * lost).max(axis=1)))

    return tangents, errors


def _in_groups(simulate: Simulate) -> Simulate:
    """The trials of a block in groups whose k x k matrices fit into memory together."""

    def simulate_all(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
        group = max(1, MAX_DRAWN // params["k"] ** 2)
        sizes = [min(group, n_trials - start) for start in range(0, n_trials, group)]
        return np.concatenate([simulate(params, rng, size) for size in sizes])

    return simulate_all


@_in_groups
def _simulate_projection(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    tangents, errors = _projection(params, rng, n_trials)
    after = errors(np.full(n_trials, params["half_steps"] / 2))
    return np.column_stack([_cosines(tangents), after])


@_in_groups
def _simulate_crossing(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    _, errors = _projection(params, rng, n_trials)
    return _crossings(errors, n_trials)[:, None]


VECTORS = Parameters(
    {
        "d": Integer(1, 10**12, default=100, meaning="dimension"),
        "k": Integer(1, MOST_COLUMNS, default=4, meaning="clusters, columns of the basis"),
        "family": Options(
            ("ladder", "cliff", "equal"), default="ladder", meaning="lengths of the x_i"
        ),
        "top": Real(1.0, 1e30, default=1e4, meaning="largest squared length over epsilon"),
        "low": Real(1.0, 1e30, default=10.0, meaning="smallest squared length over epsilon"),
    },
    (subspace_fits,),
)

PROJECTION = add_experiment(
    name="sxy.projection",
    design=300,
    columns=("cosine", "projection"),
    simulate=_simulate_projection,
    parameters=VECTORS.extended(
        {
            "half_steps": Integer(0, 10**6, default=0, meaning="half steps T1"),
            "N": Integer(1, default=None, meaning="rows, named by statements only"),
            "share": Real(0.0, 1.0, default=None, meaning="probability, named by statements only"),
        }
    ),
)
CROSSING = add_experiment(
    name="sxy.crossing",
    design=301,
    columns=("crossing",),
    simulate=_simulate_crossing,
    parameters=VECTORS,
)
