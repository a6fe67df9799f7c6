r"""Experiment on both phases of Su, Xu & Yang over one population of clients with few rows.

``sxy.end-to-end`` (design 308).  Most clients hold two rows, some fewer or a few more, and H anchor
clients among them hold enough for Phase 1.  Clusters differ in size and in the covariance of their
features.  The labels of the anchors are drawn, so that a cluster may have none.  Phase 1 reads two
rows of fresh clients in each round.  Phase 2 then trains on **all** clients, those of Phase 1 among
them, so that its start depends on its data.

The start is one model for all anchors: zero, an optimum, the mean of the optima, a point of the
ball's edge, or the ``worst`` of these and of random points of the ball, found after the data are
drawn: the one whose anchors end farthest from their optima.

All errors are the distance (6) to the optima over Delta.

* ``start``: of the start, as the model of every cluster.
* ``coarse``: after Phase 1.
* ``both``: after both phases.
* ``oracle``: of Phase 2 from the optima, the least error that its rounds keep.
* ``random``: of Phase 2 from one random start in the ball, without Phase 1.
* ``anchors``: the largest error of a single anchor after Phase 1.
* ``covered``: 1 where every cluster has an anchor.
* ``fail_coarse``, ``fail_both``, ``fail_random``: 1 where that error is more than twice ``oracle``.
"""

from __future__ import annotations

import numpy as np

from trials.checks import MAX_DRAWN, FloatArray, InvalidParameter
from trials.experiments.sxy.clients import spectrum_ordered, stable_step
from trials.experiments.sxy.two_phases import random_models
from trials.mixed_regression.anchor_groups import group_anchors
from trials.mixed_regression.batches import choose_anchors, fresh_batches
from trials.mixed_regression.fed_regression import local_spectra, run_fed_regression
from trials.mixed_regression.moment_descent import DescentOptions, run_moment_descent
from trials.models import mixture as mx
from trials.models.federated_data import FederatedModel, FederatedSample, covariance_roots
from trials.models.matching import bottleneck_distance
from trials.parameters import Integer, Options, Parameters, Real
from trials.run.cell import Params
from trials.run.experiment import add_experiment, each_trial

STARTS = ("zero", "optimum", "mean", "edge", "worst")
COLUMNS = (
    *("start", "coarse", "both", "oracle", "random", "anchors", "covered"),
    *("fail_coarse", "fail_both", "fail_random"),
)
#: Features of a trial.
LARGEST_DATA = 1.5e8
#: A run succeeds when its error is at most so many times that of Phase 2 from the optima.
FACTOR = 2.0
#: Share of the clients that hold two rows.  The others hold one to eight.
SHARE_OF_PAIRS = 0.8
LARGEST_SMALL = 8
#: Share of the clients that Phase 1 reads.  97.5 % of them hold two rows, on average.
_READ = 0.9
#: Half steps of Algorithm 3 and steps of the power iteration of an anchor.
_HALF_STEPS, _POWER_STEPS = 8, 12
#: Share of the largest stable step of Phase 2, and its local steps.
_STEP, _LOCAL_STEPS = 0.9, 5


def _fit(cell: Params) -> None:
    """The rows fit into memory, the simplex into d dimensions, and Phase 1 has clients."""
    n_numbers = round(_rows(cell)) * cell["d"]
    if n_numbers > LARGEST_DATA:
        raise InvalidParameter(
            f"M={cell['M']} in d={cell['d']} dimensions are {n_numbers:.3g} features; at most "
            f"{LARGEST_DATA:.0e} fit (4 GB with all copies)"
        )
    if cell["d"] < cell["k"]:
        raise InvalidParameter(f"d={cell['d']} must be >= k={cell['k']}: subspaces have k columns")
    if fresh_clients(cell) < 1:
        raise InvalidParameter(
            f"M={cell['M']} must give each of rounds_1={cell['rounds_1']} rounds fresh clients"
        )


def _rows(cell: Params) -> float:
    """The rows of all clients, on average."""
    few = SHARE_OF_PAIRS * 2 + (1 - SHARE_OF_PAIRS) * (1 + LARGEST_SMALL) / 2
    return float(few * cell["M"] + 2 * cell["anchors"] * cell["pairs"] * cell["rounds_1"])


def fresh_clients(cell: Params) -> int:
    """Clients of one round of Phase 1: those with two rows, shared among the rounds."""
    return int(_READ * cell["M"]) // int(cell["rounds_1"])


END_TO_END_PARAMETERS = Parameters(
    {
        "M": Integer(100, MAX_DRAWN, default=10_000, meaning="clients besides the anchors"),
        "k": Integer(2, 100, default=4, meaning="clusters"),
        "d": Integer(2, 10_000, default=50, meaning="dimension"),
        "ratio": Real(1.0, 1e3, default=2.0, meaning="ratio of the largest to the smallest share"),
        "Delta": Real(0.0, 1e6, open_low=True, default=1.0, meaning="distance of the optima"),
        "sigma": Real(0.0, 1e9, default=0.05, meaning="noise level"),
        "alpha": Real(
            0.0, 1e6, open_low=True, default=0.8, meaning="smallest eigenvalue", exhibited=True
        ),
        "beta": Real(
            0.0, 1e6, open_low=True, default=1.25, meaning="largest eigenvalue", exhibited=True
        ),
        "anchors": Integer(1, 1000, default=30, meaning="anchor clients"),
        "pairs": Integer(1, 10**6, default=100, meaning="pairs of rows of an anchor and round"),
        "rounds_1": Integer(1, 1000, default=10, meaning="rounds of Phase 1"),
        "rounds_2": Integer(1, 10**6, default=1500, meaning="rounds of Phase 2"),
        "tries": Integer(1, 1000, default=8, meaning="random points of the ball for the worst"),
        "start": Options(STARTS, default="zero", meaning="start of all anchors"),
    },
    (spectrum_ordered, _fit),
)


def draw_population(params: Params, rng: np.random.Generator) -> tuple[FederatedSample, FloatArray]:
    """The clients, the anchors last, and the optima (k, d)."""
    n_clients, k, d = params["M"], params["k"], params["d"]
    theta_star = mx.simplex(k, d, params["Delta"])
    model = FederatedModel(
        theta_star=theta_star,
        fractions=mx.fractions_with_ratio(k, params["ratio"], "geometric"),
        roots=covariance_roots(k, d, params["alpha"], params["beta"], rng),
        sigma=params["sigma"],
    )
    few = np.where(
        rng.random(n_clients) < SHARE_OF_PAIRS, 2, rng.integers(1, LARGEST_SMALL + 1, n_clients)
    )
    # An anchor has fresh rows in each round of Phase 1.
    many = np.full(params["anchors"], 2 * params["pairs"] * params["rounds_1"])
    return model.draw(np.concatenate([few, many]).astype(np.int64), rng), theta_star


def _starts(params: Params, theta_star: FloatArray, rng: np.random.Generator) -> list[FloatArray]:
    """The start of the cell, or all candidates for the worst one, each (d,)."""
    d = theta_star.shape[1]
    radius = float(np.linalg.norm(theta_star, axis=1).max())
    named = {
        "zero": np.zeros(d),
        "optimum": theta_star[0],
        "mean": theta_star.mean(axis=0),
        "edge": radius * np.eye(d)[-1],
    }
    if params["start"] != "worst":
        return [named[params["start"]]]
    ball = [random_models(theta_star, rng)[0] for _ in range(params["tries"])]
    return [*named.values(), -theta_star[0], *ball]


def simulate_trial(params: Params, rng: np.random.Generator) -> tuple[float, ...]:
    """One population, both phases and the runs that they are compared with, in `COLUMNS`."""
    sample, theta_star = draw_population(params, rng)
    data, k = sample.data, params["k"]
    n_rounds, n_pairs = params["rounds_1"], params["pairs"]
    anchors = choose_anchors(data, params["anchors"], 2 * n_pairs * n_rounds, rng)
    draw = fresh_batches(
        data, anchors, n_clients=fresh_clients(params), n_pairs=n_pairs, n_rounds=n_rounds, rng=rng
    )
    own = theta_star[sample.labels[anchors]]
    options = DescentOptions(
        alpha=params["alpha"],
        beta=params["beta"],
        threshold=0.1 * params["Delta"],
        n_rounds=n_rounds,
        subspace_iterations=_HALF_STEPS,
        power_iterations=_POWER_STEPS,
    )
    worst, start, theta = -1.0, np.zeros(0), np.zeros((0, 0))
    for candidate in _starts(params, theta_star, rng):
        found = run_moment_descent(
            draw=draw, k=k, start=candidate, options=options, rng=rng, targets=own
        )
        assert found.distances is not None
        largest = float(found.distances[-1].max())
        if largest > worst:
            worst, start, theta = largest, candidate, found.theta
    centres = group_anchors(theta, params["Delta"]).centres[:k]
    coarse = np.vstack([centres, np.zeros((k - len(centres), params["d"]))])
    spectra = local_spectra(data)

    def refine(models: FloatArray) -> FloatArray:
        return run_fed_regression(
            data=data,
            start=models,
            update="fedavg",
            step_size=float(stable_step(_STEP, spectra.largest.max())),
            n_rounds=params["rounds_2"],
            n_local_steps=_LOCAL_STEPS,
            spectra=spectra,
        ).models

    runs = (
        np.repeat(start[None], k, axis=0),
        coarse,
        refine(coarse),
        refine(theta_star),
        refine(random_models(theta_star, rng)),
    )
    errors = [bottleneck_distance(models, theta_star) / params["Delta"] for models in runs]
    covered = float(np.unique(sample.labels[anchors]).size == k)
    failed = [float(errors[i] > FACTOR * errors[3]) for i in (1, 2, 4)]
    return *errors, worst / params["Delta"], covered, *failed


def trial_cost(params: Params) -> float:
    """CPU seconds of a trial, from the numbers that it reads."""
    candidates = 5 + params["tries"] if params["start"] == "worst" else 1
    products = 4 * params["anchors"] * _HALF_STEPS * params["M"] * params["d"] * params["k"]
    rounds = 6 * params["rounds_2"] * params["k"] * params["d"] ** 2
    first_rounds = 100 * _rows(params) * params["d"] * params["k"]
    return float(candidates * products / 3e10 + (rounds + first_rounds) / 5e9) + 0.01


END_TO_END = add_experiment(
    name="sxy.end-to-end",
    design=308,
    columns=COLUMNS,
    simulate=each_trial(simulate_trial),
    parameters=END_TO_END_PARAMETERS,
    block_size=4,
    cost=trial_cost,
)
