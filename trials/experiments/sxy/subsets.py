r"""Experiment on the worst few clients of Lemma 11.

``sxy.subsets`` (design 244): Gaussian features and noise of M clients.  A subset I holds at most a
share nu of all rows.

* ``zeta``: an upper limit of :math:`\sup_I\lVert\zeta_I\rVert^2/N`, the supremum itself where all
  clients have the same size: clients in the order of their squares a row, the last one in part.
* ``phi``: the same for the features' squares with d = 1.  With more features a lower limit: clients
  and direction are chosen in turn, from the direction of the largest singular value.
"""

from __future__ import annotations

import numpy as np

from trials.checks import MAX_DRAWN, BoolArray, FloatArray, IntArray, check_drawn
from trials.experiments.sxy.deviation import SIZES, sizes_of
from trials.parameters import Integer, Real
from trials.run.cell import Params
from trials.run.experiment import add_experiment, on_faster_stream

_TURNS = 8


def rows_fit(cell: Params) -> None:
    """M n_large d features fit into memory."""
    check_drawn("features M n d", cell["M"] * max(cell["n"], cell["n_large"]) * cell["d"])


def _densest(squares: FloatArray, sizes: FloatArray, budget: float) -> IntArray:
    """The clients that a budget may reach, by their squares a row, the largest first.

    A budget of few rows needs the order of few clients, and not of all M.
    """
    ranks = -squares / sizes
    most = int(budget / sizes.min()) + 2
    if most >= sizes.size:
        return np.argsort(ranks)
    few = np.argpartition(ranks, most)[:most]
    return np.asarray(few[np.argsort(ranks[few])])


def best_share(squares: FloatArray, sizes: FloatArray, budget: float) -> float:
    """The largest sum of squares (M,) of clients of at most ``budget`` rows, the last in part."""
    order = _densest(squares, sizes, budget)
    rows = np.cumsum(sizes[order])
    whole = int(np.searchsorted(rows, budget * (1 + 1e-12), side="right"))
    total = float(squares[order[:whole]].sum())
    if whole < order.size:
        spare = budget - (rows[whole - 1] if whole else 0.0)
        last = order[whole]
        total += float(squares[last] * spare / sizes[last])
    return total


def _choose(squares: FloatArray, sizes: FloatArray, budget: float) -> BoolArray:
    """Whether each client (M,) is one of the best whole ones."""
    order = _densest(squares, sizes, budget)
    chosen = np.zeros(sizes.size, dtype=np.bool_)
    chosen[order[np.cumsum(sizes[order]) <= budget * (1 + 1e-12)]] = True
    return chosen


def _largest_features(params: Params, sizes: FloatArray, rng: np.random.Generator) -> float:
    """The squared norm of the features of the clients found."""
    budget = params["nu"] * sizes.sum()
    if params["d"] == 1:
        return best_share(rng.chisquare(sizes), sizes, budget)
    rows = sizes.astype(np.int64)
    first = np.cumsum(rows) - rows
    x = rng.standard_normal((int(rows.sum()), params["d"]))
    direction = np.linalg.eigh(x.T @ x)[1][:, -1]
    best = 0.0
    for _ in range(_TURNS):
        squares = np.add.reduceat((x @ direction) ** 2, first)
        kept = x[np.repeat(_choose(squares, sizes, budget), rows)]
        if not len(kept):
            return best
        values, vectors = np.linalg.eigh(kept.T @ kept)
        direction = vectors[:, -1]
        if values[-1] <= best * (1 + 1e-9):
            break
        best = float(values[-1])
    return best


def _simulate(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    sizes = sizes_of(params)
    out = np.empty((n_trials, 2))
    for trial in range(n_trials):
        noise = params["sigma"] ** 2 * rng.chisquare(sizes)
        out[trial, 0] = best_share(noise, sizes, params["nu"] * sizes.sum())
        out[trial, 1] = _largest_features(params, sizes, rng)
    return np.asarray(out / sizes.sum())


SUBSETS = add_experiment(
    name="sxy.subsets",
    design=244,
    columns=("zeta", "phi"),
    simulate=on_faster_stream(_simulate),
    parameters=SIZES.extended(
        {
            "d": Integer(1, MAX_DRAWN, default=1, meaning="dimension"),
            "nu": Real(0.0, 1.0, open_low=True, default=0.1, meaning="share of the rows"),
            "sigma": Real(0.0, 1e9, open_low=True, default=1.0, meaning="noise level"),
        },
        rows_fit,
    ),
    block_size=32,
    cost=lambda cell: 2e-4 + 3e-7 * float(sizes_of(cell).sum()) * cell["d"],
)
