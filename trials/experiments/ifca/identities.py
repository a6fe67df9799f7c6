r"""Identities that IFCA finds from random starts, and the separation of the paper's random optima.

``ifca.identities`` (design 125): several starts run on the same data, with k models and with
``extra`` models more.  The optima are the 0/1 vectors of Section VI-A at norm R, and so are the
starts.  A run has *found* the clusters when its last identities are the true partition.

* ``found``: starts that have found the clusters.
* ``rounds``: iterations after which the identities of a run stayed right, the fewest of the starts
  that found the clusters, else T.
* ``success``: 1 where some start ends within 0.6 sigma of the optima.
* ``used``: models with clients at the end of the first start with extra models.
* ``pure``: 1 where in that run no model has clients of two clusters.
* ``exact_error``, ``extra_error``: mean distance of the clients' models from their optima, over the
  clients and the starts, with k models and with more.

``ifca.separation`` (design 126): the optima of one trial.

* ``separation``: their smallest distance.
"""

from __future__ import annotations

from typing import Any, get_args

import numpy as np

from trials.checks import FloatArray, IntArray
from trials.experiments.ifca.data_run import SUCCESS, Scaling
from trials.experiments.ifca.drawn_clients import clients_fit, draw_clients
from trials.experiments.ifca.paired import whole_clusters, wrong_share
from trials.ifca.linear import run_ifca
from trials.models import mixture as mx
from trials.models.matching import model_distance
from trials.parameters import Integer, Options, Parameters, Real
from trials.run.cell import Params
from trials.run.experiment import add_experiment, each_trial


def centres_are_distinct(cell: Params) -> None:
    """d >= log2(k + extra + 1): there are as many distinct 0/1 vectors."""
    mx.check_bernoulli(cell["k"] + cell["extra"], cell["d"])


def distinct_vectors(cell: Params) -> None:
    """d >= log2(k + 1): there are k distinct 0/1 vectors."""
    mx.check_bernoulli(cell["k"], cell["d"])


def clients_errors(models: FloatArray, labels: IntArray, own: FloatArray) -> FloatArray:
    """(R, m) distances of the models (R, K, d) that clients chose from their optima (m, d)."""
    chosen = np.take_along_axis(models, labels[:, :, None], axis=1)
    return np.asarray(np.linalg.norm(chosen - own, axis=2))


def _identities(params: Params, rng: np.random.Generator) -> list[float]:
    k, d, n_starts, n_rounds = (params[name] for name in ("k", "d", "n_starts", "T"))
    theta_star = mx.random_centres(mx.bernoulli_vectors(rng, k, d), norm=params["norm"])
    size = params["m"] // k
    owner = np.repeat(np.arange(k), size)
    data = draw_clients(theta_star, np.full(k, size), params["n"], params["sigma"], rng)
    more = k + params["extra"]
    starts = np.stack(
        [
            mx.random_start("bernoulli-rescaled", more, d, rng, params["norm"])
            for _ in range(n_starts)
        ]
    )
    run: dict[str, Any] = {"data": data, "n_iterations": n_rounds}
    steps = np.full(n_starts, params["gamma"] * k / 2.0)
    exact = run_ifca(starts=starts[:, :k], step_sizes=steps, **run)
    wrong = np.array([wrong_share(labels, owner, k) for labels in exact.labels])
    changed = np.where(exact.label_changes > 0, np.arange(1, n_rounds + 1)[:, None], 0).max(axis=0)
    found = wrong == 0.0
    distances = model_distance(exact.models, theta_star)
    extra = run_ifca(starts=starts, step_sizes=steps, **run) if params["extra"] else exact
    table = np.zeros((more, k))
    np.add.at(table, (extra.labels[0], owner), 1.0)
    own = theta_star[owner]
    return [
        float(found.sum()),
        float(changed[found].min()) if found.any() else float(n_rounds),
        float((distances <= SUCCESS * params["sigma"]).any()),
        float((table.sum(axis=1) > 0).sum()),
        float(((table > 0).sum(axis=1) <= 1).all()),
        float(clients_errors(exact.models, exact.labels, own).mean()),
        float(clients_errors(extra.models, extra.labels, own).mean()),
    ]


def _seconds(cell: Params) -> float:
    """CPU seconds of a trial: two passes over the data for all models of all starts."""
    models = cell["n_starts"] * (2 * cell["k"] + cell["extra"])
    rows = cell["m"] * cell["n"]
    return float(0.004 + cell["T"] * (4e-11 * models * rows * cell["d"] + 5e-5))


IDENTITIES = add_experiment(
    name="ifca.identities",
    design=125,
    columns=(
        "found", "rounds", "success", "used", "pure", "exact_error", "extra_error",
    ),
    simulate=each_trial(_identities),
    parameters=Parameters(
        {
            "k": Integer(2, 64, default=2, meaning="clusters of equal size"),
            "extra": Integer(0, 64, default=0, meaning="models beyond the clusters"),
            "m": Integer(2, 10_000, default=40, meaning="clients"),
            "n": Integer(1, 10**6, default=40, meaning="samples of a client"),
            "d": Integer(2, 10_000, default=20, meaning="dimension"),
            "norm": Real(0.0, 1e6, open_low=True, default=1.0, meaning="the paper's R"),
            "sigma": Real(0.0, 1e6, open_low=True, default=0.1, meaning="noise level"),
            "n_starts": Integer(1, 10**4, default=10, meaning="starts"),
            "gamma": Real(0.0, 1e3, open_low=True, default=0.5, meaning="step size, times 2p"),
            "T": Integer(1, 10**5, default=100, meaning="iterations"),
        },
        (whole_clusters, centres_are_distinct, clients_fit),
    ),
    block_size=4,
    cost=_seconds,
)  # fmt: skip


def _simulate_separation(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    k, d = params["k"], params["d"]
    if 2**k <= d:
        found = separations_of_counts(draw_counts(rng, k, d, n_trials), params["scaling"])
        return np.asarray(params["norm"] * found[:, None])
    out = np.empty((n_trials, 1))
    for trial in range(n_trials):
        vectors = mx.bernoulli_vectors(rng, k, d)
        if params["scaling"] == "norm":
            vectors = mx.normalise(vectors)
        out[trial] = params["norm"] * float(mx.separation(vectors))
    return out


def draw_counts(rng: np.random.Generator, k: int, d: int, n_trials: int) -> FloatArray:
    """How often each pattern of k digits is a coordinate of k random 0/1 vectors, (n_trials, 2^k).

    Pattern number q has vector i's digit in bit i.  The d coordinates are independent and each
    pattern is as likely as another, so the counts are multinomial.  Trials with a zero vector or
    two equal ones are drawn again, as `trials.models.mixture.bernoulli_vectors` does.
    """
    counts = np.empty((n_trials, 2**k))
    todo = np.arange(n_trials)
    while todo.size:
        counts[todo] = rng.multinomial(d, np.full(2**k, 0.5**k), todo.size)
        todo = todo[_squared_gaps(_inner_products(counts[todo])).min(axis=1) == 0.0]
    return counts


def _inner_products(counts: FloatArray) -> FloatArray:
    """Inner products (n, k + 1, k + 1) of zero and the k vectors with these counts of patterns."""
    k = counts.shape[1].bit_length() - 1
    digits = np.arange(2**k)[:, None] >> np.arange(k) & 1
    vectors = np.hstack([np.zeros((2**k, 1)), digits])
    pairs = vectors[:, :, None] * vectors[:, None, :]
    return np.asarray((counts @ pairs.reshape(2**k, -1)).reshape(-1, k + 1, k + 1))


def _squared_gaps(inner: FloatArray) -> FloatArray:
    """The squared distances (n, k (k - 1)/2) of vectors with inner products (n, k, k)."""
    i, j = np.triu_indices(inner.shape[1], 1)
    return np.asarray(inner[:, i, i] + inner[:, j, j] - 2.0 * inner[:, i, j])


def separations_of_counts(counts: FloatArray, scaling: str) -> FloatArray:
    """The separation (n,) of the vectors that `draw_counts` describes, at norm 1 or as they are.

    ``|a/|a| - b/|b||^2 = (|a - b|^2 - (|a| - |b|)^2) / (|a| |b|)`` loses no digits where the
    vectors are close.
    """
    inner = _inner_products(counts)[:, 1:, 1:]
    gaps = _squared_gaps(inner)
    if scaling == "coordinate":
        return np.asarray(np.sqrt(gaps.min(axis=1)))
    i, j = np.triu_indices(inner.shape[1], 1)
    first, second = inner[:, i, i], inner[:, j, j]
    lengths = np.sqrt(first), np.sqrt(second)
    between = (first - second) / (lengths[0] + lengths[1])
    return np.asarray(np.sqrt((gaps - between**2) / (lengths[0] * lengths[1])).min(axis=1))


def _separation_seconds(cell: Params) -> float:
    """CPU seconds of a trial: counts of patterns where they are fewer than coordinates."""
    k, d = cell["k"], cell["d"]
    return float(2e-7 * k**2 * 2**k if 2**k <= d else 3e-5 + 1e-8 * k**2 * d)


SEPARATION = add_experiment(
    name="ifca.separation",
    design=126,
    columns=("separation",),
    simulate=_simulate_separation,
    parameters=Parameters(
        {
            "k": Integer(2, 256, default=2, meaning="clusters"),
            "d": Integer(2, 10**6, default=1000, meaning="dimension"),
            "norm": Real(0.0, 1e9, open_low=True, default=1.0, meaning="the paper's R"),
            "scaling": Options(
                get_args(Scaling),
                default="norm",
                meaning="norm: the 0/1 vectors have norm R, as printed; coordinate: they are "
                "R times 0/1, as in the authors' published code",
            ),
        },
        (distinct_vectors,),
    ),
    block_size=64,
    cost=_separation_seconds,
)
