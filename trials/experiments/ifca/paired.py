r"""IFCA against other methods on the same data: the sentences of Section IV about its algorithms.

A trial draws k optima in random directions at distance Delta or more, m clients with n samples, and
a start whose models err by ``closeness * Delta`` in random directions.  Errors are mean distances
from the optima, clusters matched (`trials.models.matching.model_distance`).  ``truth`` is the error
of gradient descent that knows the clusters, from the same start.

``ifca.one-shot`` (design 122): Algorithm 1, with gradient descent in its clusters.  The clustering
is k-means++ with ten starts, or the truth with ``planted`` clients of each cluster put into the
next one.  IFCA starts from the same models, the means of the local fits in those clusters.

* ``one_shot_wrong``, ``ifca_wrong``: share of the clients outside their cluster at the end.
* ``one_shot``, ``ifca``, ``truth``: errors after T iterations, ``truth`` from the optima.

``ifca.resampling`` (design 123): each client has 2 T n' samples.

* ``reused``: error of IFCA that uses all of them in every iteration.
* ``split``: error with n' samples to identify and n' others to descend in each iteration.
* ``truth``: error with known clusters and all samples in every iteration.

``ifca.economies`` (design 124): IFCA's runs that send less.

* ``plain``: error of IFCA.  ``stable``: error where clients get one model after ``stable_after``
  iterations without a change.  ``settled``: the iteration from which they do, T if none.
* ``late_changes``: changes of identity in the plain run from that iteration on.
* ``subset``: error with a random half of the clients and twice the iterations.
* ``shared``: error with the first ``n_shared`` coordinates, on which all optima agree, shared.
* ``stable_floats``, ``shared_floats``: floats sent, over those of the plain run.

``ifca.communication`` (design 306): four runs on the same data and from the same start.

* ``plain``: k models for every client in every iteration.
* ``stable``: one model for a client after ``stable_after`` iterations without a change.
* ``subset``: a random half of the clients.
* ``shared``: the first ``n_shared`` coordinates, on which all optima agree, are shared.

The plain run takes T iterations.  Its floats at `CHECKPOINTS` equal parts of them are the budgets
of all four runs.  ``plain_1``, ..., ``shared_8`` are the errors of the runs that have sent as much
as possible within each budget, and ``floats_1``, ..., the budgets, over the last one.  A run that
diverges sends no more, and its error is then that of its last bounded models.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from trials.checks import FloatArray, IntArray, InvalidParameter
from trials.clustering.kmeans import kmeans_pp
from trials.experiments.ifca.drawn_clients import clients_fit, draw_clients
from trials.ifca.one_shot import local_erms
from trials.ifca.options import (
    IfcaOptions,
    OptionsResult,
    run_ifca_options,
    run_oracle,
    run_resampled_ifca_options,
)
from trials.models import mixture as mx
from trials.models.clients import ClientData
from trials.models.matching import model_distance, overlaps
from trials.models.run_status import RunStatus
from trials.parameters import Integer, Parameters, Real, at_least
from trials.run.cell import Params
from trials.run.experiment import add_experiment, each_trial


def whole_clusters(cell: Params) -> None:
    """The clusters share the clients equally."""
    if cell["m"] % cell["k"]:
        raise InvalidParameter(f"m={cell['m']} must be a multiple of k={cell['k']}")


def directions_differ(cell: Params) -> None:
    """d >= 2: random directions differ by more than their sign."""
    if cell["d"] < 2:
        raise InvalidParameter(f"d={cell['d']} must be >= 2")


DATA = Parameters(
    {
        "k": Integer(1, 64, default=2, meaning="clusters of equal size"),
        "m": Integer(2, 10_000, default=20, meaning="clients"),
        "n": Integer(1, 10**6, default=40, meaning="samples of a client"),
        "d": Integer(2, 10_000, default=10, meaning="dimension"),
        "Delta": Real(0.0, 1e6, open_low=True, default=2.0, meaning="smallest separation"),
        "sigma": Real(0.0, 1e6, default=1.0, meaning="noise level"),
        "closeness": Real(
            0.0, 10.0, default=0.25, meaning="error of the start's models in separations"
        ),
        "gamma": Real(0.0, 1e3, open_low=True, default=0.5, meaning="step size, times 2p"),
        "T": Integer(1, 10**5, default=60, meaning="iterations"),
    },
    (whole_clusters, directions_differ, clients_fit),
)


def _optima(params: Params, rng: np.random.Generator) -> FloatArray:
    vectors = mx.gaussian_vectors(rng, (params["k"],), params["d"])
    if params["k"] == 1:
        return mx.random_centres(vectors, norm=params["Delta"])
    return mx.random_centres(vectors, Delta=params["Delta"])


def _start(params: Params, theta_star: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Models at ``closeness * Delta`` from their optima, (k, d)."""
    directions = mx.normalise(rng.standard_normal(theta_star.shape))
    return np.asarray(theta_star + params["closeness"] * params["Delta"] * directions)


def step_size(params: Params) -> FloatArray:
    """gamma / (2 p), (1,): such a step moves a mean model by the share gamma to its optimum."""
    return np.array([params["gamma"] * params["k"] / 2.0])


def equal_sizes(params: Params) -> IntArray:
    return np.full(params["k"], params["m"] // params["k"], dtype=np.int64)


def _owner(params: Params) -> IntArray:
    return np.repeat(np.arange(params["k"]), params["m"] // params["k"])


def error(found: OptionsResult, theta_star: FloatArray) -> float:
    return float(model_distance(found.models, theta_star)[0])


def wrong_share(labels: IntArray, owner: IntArray, k: int) -> float:
    """Share of the clients (m,) outside their own cluster, clusters named at best."""
    return float(1.0 - np.trace(overlaps(labels, owner, k)) / owner.size)


def _one_shot(params: Params, rng: np.random.Generator) -> list[float]:
    theta_star, owner, k = _optima(params, rng), _owner(params), params["k"]
    data = draw_clients(theta_star, equal_sizes(params), params["n"], params["sigma"], rng)
    fits = local_erms(data)
    labels = kmeans_pp(fits[None], k, rng, n_init=10).labels[0]
    if params["planted"] > 0:
        moved = rng.permuted(np.tile(np.arange(params["m"] // k), (k, 1)), axis=1).ravel()
        labels = np.where(moved < params["planted"], (owner + 1) % k, owner)
    centres = np.zeros_like(theta_star)
    np.add.at(centres, labels, fits)
    centres /= np.bincount(labels, minlength=k)[:, None]
    run: dict[str, Any] = {
        "data": data,
        "starts": centres[None],
        "step_sizes": step_size(params),
        "n_iterations": params["T"],
    }
    within = run_ifca_options(**run, known_labels=labels)
    ifca = run_ifca_options(**run)
    known = run_oracle(owner=owner, **{**run, "starts": theta_star[None]})
    return [
        wrong_share(labels, owner, k),
        wrong_share(ifca.labels[0], owner, k),
        error(within, theta_star),
        error(ifca, theta_star),
        error(known, theta_star),
    ]


def _rows(data: ClientData, first: int, n_rows: int) -> ClientData:
    """Rows first, first + 1, ... of every client of equal size."""
    shape = (data.n_clients, -1)
    features = data.features.reshape(*shape, data.dimension)[:, first : first + n_rows]
    return ClientData.equal(features, data.responses.reshape(shape)[:, first : first + n_rows])


def _resampling(params: Params, rng: np.random.Generator) -> list[float]:
    n_rounds, batch = params["T"], params["n"]
    theta_star, sizes = _optima(params, rng), equal_sizes(params)
    start = _start(params, theta_star, rng)[None]
    whole = 2 * n_rounds * batch
    data = draw_clients(theta_star, sizes, whole, params["sigma"], rng)
    run: dict[str, Any] = {
        "starts": start,
        "step_sizes": step_size(params),
        "n_iterations": n_rounds,
    }

    def split(t: int) -> tuple[ClientData, ClientData]:
        return _rows(data, 2 * t * batch, batch), _rows(data, (2 * t + 1) * batch, batch)

    found = (
        run_ifca_options(data=data, **run),
        run_resampled_ifca_options(draw=split, **run),
        run_oracle(data=data, owner=_owner(params), **run),
    )
    return [error(one, theta_star) for one in found]


def partly_shared(params: Params, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Optima that agree on their first ``n_shared`` coordinates, and a start that does, (k, d)."""
    d, n_shared = params["d"], params["n_shared"]
    common = np.broadcast_to(rng.standard_normal(n_shared), (params["k"], n_shared))
    separate = _optima({**params, "d": d - n_shared}, rng)
    theta_star = np.concatenate([common, separate], axis=1)
    start = _start(params, theta_star, rng)
    start[:, :n_shared] = start[:, :n_shared].mean(axis=0)
    return theta_star, start


def _economies(params: Params, rng: np.random.Generator) -> list[float]:
    n_rounds, d, n_shared = params["T"], params["d"], params["n_shared"]
    theta_star, start = partly_shared(params, rng)
    data = draw_clients(theta_star, equal_sizes(params), params["n"], params["sigma"], rng)
    run: dict[str, Any] = {"data": data, "starts": start[None], "step_sizes": step_size(params)}
    plain = run_ifca_options(**run, n_iterations=n_rounds)
    stable = run_ifca_options(
        **run, n_iterations=n_rounds, options=IfcaOptions(stable_after=params["stable_after"])
    )
    half = max(params["m"] // 2, 1)
    subset = run_ifca_options(
        **run, n_iterations=2 * n_rounds, options=IfcaOptions(n_participants=half), rng=rng
    )
    shared = run_ifca_options(
        **run, n_iterations=n_rounds, options=IfcaOptions(shared=np.arange(d) < n_shared)
    )
    settled = int(stable.settled_at[0])
    floats = plain.down.sum() + plain.up.sum()
    return [
        error(plain, theta_star),
        error(stable, theta_star),
        float(settled),
        float(plain.label_changes[settled:].sum()),
        error(subset, theta_star),
        error(shared, theta_star),
        float((stable.down.sum() + stable.up.sum()) / floats),
        float((shared.down.sum() + shared.up.sum()) / floats),
    ]


def seconds(n_runs: int) -> Callable[[Params], float]:
    """CPU seconds of a trial with so many runs of T iterations."""
    return lambda cell: float(
        0.004
        + n_runs * cell["T"] * (1.5e-4 + 2e-10 * cell["k"] * cell["m"] * cell["n"] * cell["d"])
    )


def some_stay(cell: Params) -> None:
    """Fewer clients are put into another cluster than the cluster has."""
    if cell["planted"] >= cell["m"] // cell["k"]:
        raise InvalidParameter(
            f"planted={cell['planted']} must be below m/k={cell['m'] // cell['k']}"
        )


def separate_coordinates(cell: Params) -> None:
    """At least two coordinates are not shared."""
    if cell["n_shared"] > cell["d"] - 2:
        raise InvalidParameter(f"n_shared={cell['n_shared']} must be <= d-2={cell['d'] - 2}")


ONE_SHOT = add_experiment(
    name="ifca.one-shot",
    design=122,
    columns=("one_shot_wrong", "ifca_wrong", "one_shot", "ifca", "truth"),
    simulate=each_trial(_one_shot),
    parameters=DATA.extended(
        {
            "planted": Integer(
                0, 10_000, default=0,
                meaning="clients of each cluster put into the next one; 0: k-means",
            )
        },
        at_least("n", "d", "n >= d: the local fits of a client are unique."), some_stay,
    ),
    block_size=8,
    cost=seconds(3),
)  # fmt: skip

RESAMPLING = add_experiment(
    name="ifca.resampling",
    design=123,
    columns=("reused", "split", "truth"),
    simulate=each_trial(_resampling),
    parameters=DATA,
    block_size=8,
    cost=lambda cell: seconds(3)({**cell, "n": 2 * cell["n"] * cell["T"]}),
)

ECONOMIES = add_experiment(
    name="ifca.economies",
    design=124,
    columns=(
        "plain", "stable", "settled", "late_changes", "subset", "shared", "stable_floats",
        "shared_floats",
    ),
    simulate=each_trial(_economies),
    parameters=DATA.extended(
        {
            "stable_after": Integer(
                1, 10**5, default=5, meaning="iterations without a change of identity"
            ),
            "n_shared": Integer(0, 10_000, default=0, meaning="shared coordinates"),
        },
        separate_coordinates,
    ),
    block_size=8,
    cost=seconds(5),
)  # fmt: skip


# -- errors against the floats sent ----------------------------------------------------------------


CHECKPOINTS = 8
RUNS = ("plain", "stable", "subset", "shared")


def _count_floats(found: OptionsResult) -> FloatArray:
    """Floats after each iteration, (T,), in both directions, constant after a divergence."""
    return np.asarray(np.cumsum(found.down[:, 0] + found.up[:, 0]), dtype=np.float64)


def _communication(params: Params, rng: np.random.Generator) -> list[float]:
    n_rounds, d, n_shared = params["T"], params["d"], params["n_shared"]
    theta_star, start = partly_shared(params, rng)
    data = draw_clients(theta_star, equal_sizes(params), params["n"], params["sigma"], rng)
    run: dict[str, Any] = {
        "data": data,
        "starts": start[None],
        "step_sizes": step_size(params),
    }
    options = {
        "plain": IfcaOptions(),
        "stable": IfcaOptions(stable_after=params["stable_after"]),
        "subset": IfcaOptions(n_participants=max(params["m"] // 2, 1)),
        "shared": IfcaOptions(shared=np.arange(d) < n_shared),
    }
    seed = int(rng.integers(2**63))  # a longer run draws the same subsets first

    def after(name: str, n_iterations: int) -> OptionsResult:
        return run_ifca_options(
            **run, n_iterations=n_iterations, options=options[name], rng=np.random.default_rng(seed)
        )

    ends = np.array([math.ceil(n_rounds * i / CHECKPOINTS) for i in range(1, CHECKPOINTS + 1)])
    found = {name: after(name, n_rounds) for name in RUNS}
    budgets = _count_floats(found["plain"])[ends - 1]
    errors: list[float] = []
    for name, run_so_far in found.items():
        while (sent := _count_floats(run_so_far))[-1] < budgets[-1]:
            if run_so_far.status[0] == RunStatus.DIVERGED:  # it sends nothing any more
                break
            run_so_far = after(name, 2 * len(sent))
        affordable = np.searchsorted(sent, budgets, side="right").tolist()
        errors += [error(after(name, n), theta_star) for n in affordable]
    return [*errors, *(budgets / budgets[-1]).tolist()]


COMMUNICATION = add_experiment(
    name="ifca.communication",
    design=306,
    columns=tuple(f"{n}_{i}" for n in (*RUNS, "floats") for i in range(1, CHECKPOINTS + 1)),
    simulate=each_trial(_communication),
    parameters=ECONOMIES.parameters,
    block_size=8,
    cost=seconds(len(RUNS) * (CHECKPOINTS + 2)),
)
