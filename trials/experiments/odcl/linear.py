r"""The linear experiments of ODCL on data: Section 5, Appendices D.2 and D.3.

A user of cluster k draws n features with 5 of d components standard normal, the others zero, and
responses :math:`\langle x,u_k\rangle+\epsilon` with standard normal noise.  Components of the
optima are uniform on the intervals that the paper prints.  An error is the users' mean of
:math:`\|\tilde u_i-u_{(i)}\|^2/\|u_{(i)}\|^2`.

``odcl.linear`` (design 224): the one-shot methods on the same data.

* ``local``, ``naive``, ``averaging``, ``pooled``: local fits, their overall mean, the means of the
  true clusters (Oracle Averaging), the fits of the true clusters' data (Cluster Oracle).
* ``km``, ``km_ten``: ODCL-KM++ with one start as in Algorithm 3, and with the best of ten.
* ``cc``, ``cc_clusters``: ODCL-CC with the penalty of D.1, and its number of clusters.
* ``km_same``, ``km_ten_same``: 1 where that clustering is the true one, else 0.
* ``path``, ``path_clusters``: ODCL-CC with the clusterpath rule of Appendix C, step 2 (a) counting
  verified penalties; zeros where ``clusterpath`` is "no".
* ``printed_clusters``: the same number with step 2 (a) as printed.

``odcl.rounds`` (design 225): IFCA with model averaging against the one-shot error.

* ``rounds``: communication rounds until IFCA's error is at most ODCL's, T where it never is.
* ``matched``: 1 where it is at some round.
* ``one_shot``: ODCL's error.
* ``last``: IFCA's error over ODCL's at the match, or after T rounds.
* ``round_20``, ``round_70``, ``round_120``: IFCA's error after that many rounds.
* ``tenth``: a tenth of ODCL's error.

All are means over ``runs`` independent runs, as the paper averages ten.

``odcl.interval`` (design 231): the interval (13) of the true clusters of local fits.

* ``empty``: 1 where its lower end is not below its upper end, so that no penalty is certified.

``odcl.starts`` (design 227): users' mean normalised squared errors, data as in ``odcl.linear``.

* ``one_shot``: ODCL-KM++ with ten starts of K-means.
* ``near``: IFCA with model averaging after T rounds, from models at ``nearest`` to ``farthest``
  separations from the optima, zero with one cluster.
* ``random``: the same from standard normal models.
* ``warm``: the same from ODCL's models, so that ODCL's round is the first of T + 1.

All are means over ``runs`` independent runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trials.checks import FloatArray, IntArray, InvalidParameter
from trials.clustering.kmeans import kmeans_pp
from trials.clustering.selection import (
    clusterpath,
    clusterpath_grid,
    convex_partition,
    interval_lambda,
    recovery_interval,
)
from trials.experiments.odcl.one_shot import same_partition
from trials.ifca.quadratic_rounds import LocalMaps, quadratic_rounds
from trials.kernel import inner_kernel, kernel
from trials.local_erm import least_squares
from trials.local_erm.factors import cholesky, solve_upper
from trials.parameters import Integer, Options, Parameters, Real, fits_in_memory
from trials.run.cell import Params
from trials.run.experiment import Simulate, add_experiment, each_trial, on_faster_stream

IndexArray = NDArray[np.uint64]

#: The intervals of the optima's components: Section 5, Appendix D.2, and one cluster.
DESIGNS = {"ten": (1, 4, 7, 10, 13, -2, -5, -8, -11, -14), "four": (0, 1, -1, -2), "one": (1,)}
_LISTED = 120  # rounds after which an error is listed
_WELL_CONDITIONED = 1e8  # a condition number up to which equations are solved as they are
_FEW = 4  # rows for each dimension, below which a user's rows are kept


def whole_clusters(cell: Params) -> None:
    """The clusters share the users equally."""
    k = len(DESIGNS[cell["optima"]])
    if cell["m"] % k:
        raise InvalidParameter(f"m={cell['m']} must be a multiple of the {k} clusters")


def nonzero_fit(cell: Params) -> None:
    """d >= 5: five components of a feature vector are not zero."""
    if cell["d"] < 5:
        raise InvalidParameter(f"d={cell['d']} must be >= 5")


@inner_kernel
def _draw_place(rng: np.random.Generator, places: IndexArray, j: int) -> None:
    """Exchange the j-th of some places for a random one that stands no earlier.

    Places are unsigned, because kernels test whether a signed index is negative, at each use.
    """
    other = np.uint64(j + int(rng.random() * (places.size - j)))
    places[j], places[other] = places[other], places[j]


@kernel
def _fill_sparse(rng: np.random.Generator, features: FloatArray) -> None:
    """Put 5 standard normal numbers at random places of every row. ``features`` (rows, d) is zero.

    The places are the first five of a shuffled list, which stays shuffled from row to row.
    """
    rows, d = features.shape
    places = np.arange(d).astype(np.uint64)
    for i in range(rows):
        for j in range(5):
            _draw_place(rng, places, j)
            features[i, places[j]] = rng.standard_normal()


def sparse_features(rng: np.random.Generator, rows: int, d: int) -> FloatArray:
    """(rows, d) features with 5 components standard normal, at random places, and zeros."""
    features = np.zeros((rows, d))
    _fill_sparse(rng, features)
    return features


def draw(
    params: Params, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
    """Features (m, n, d), responses (m, n), optima (K, d) and the users' clusters (m,)."""
    m, n, d = params["m"], params["n"], params["d"]
    optima, truth = _draw_optima(params, rng)
    features = sparse_features(rng, m * n, d).reshape(m, n, d)
    responses = np.einsum("ind,id->in", features, optima[truth])
    return features, responses + rng.standard_normal((m, n)), optima, truth


@kernel
def _add_sparse(rng: np.random.Generator, n: int, grams: FloatArray) -> None:
    """Add n rows x of `_fill_sparse` for each user to x x^T (m, d, d), of which halves are read."""
    m, d = grams.shape[0], grams.shape[1]
    places, values = np.arange(d).astype(np.uint64), np.empty(5)
    for i in range(m):
        gram = grams[i]
        for _ in range(n):
            for j in range(5):
                _draw_place(rng, places, j)
                values[j] = rng.standard_normal()
            for j in range(5):
                row = gram[places[j]]
                for h in range(j + 1):
                    row[places[h]] += values[j] * values[h]
        for a in range(d):
            for b in range(a):
                total = gram[a, b] + gram[b, a]
                gram[a, b] = gram[b, a] = total


@kernel
def _divide_by_roots(grams: FloatArray, errors: FloatArray) -> bool:
    """``errors`` (m, d) become L^-T times them, where the ``grams`` (m, d, d) are L L^T.

    Returns False where one of these is not positive definite.
    """
    d = grams.shape[1]
    root = np.empty((d, d))
    for i in range(grams.shape[0]):
        for a in range(d):
            for b in range(d):
                root[a, b] = grams[i, a, b]
        if not cholesky(root):
            return False
        solve_upper(root, errors[i])
    return True


class Users(NamedTuple):
    """Drawn users, by what their losses and fits depend on.

    ``grams`` (m, d, d) and ``moments`` (m, d) are the means of x x^T and x y of each user, ``fits``
    (m, d) the local fits, ``optima`` (K, d), and ``truth`` (m,) the users' clusters.
    """

    grams: FloatArray
    moments: FloatArray
    fits: FloatArray
    optima: FloatArray
    truth: IntArray


def draw_users(params: Params, rng: np.random.Generator) -> Users:
    """Users of a cell.  Their rows are kept only where few of them leave a fit ill-conditioned.

    Given the features the noise of the responses, summed with them, is N(0, G) with their Gram
    matrix G.  So G is enough: with G = L L^T the fit is the optimum plus L^-T g, g standard normal.
    """
    n, d = params["n"], params["d"]
    if n < _FEW * d:
        features, responses, optima, truth = draw(params, rng)
        fits = least_squares(features, responses).theta
        return Users(*losses(features, responses), fits, optima, truth)
    optima, truth = _draw_optima(params, rng)
    grams = np.zeros((params["m"], d, d))
    _add_sparse(rng, n, grams)
    errors = rng.standard_normal((params["m"], d))
    if not _divide_by_roots(grams, errors):
        raise np.linalg.LinAlgError("a user's Gram matrix is not positive definite")
    fits = np.asarray(optima[truth] + errors)
    moments = (grams @ fits[:, :, None])[:, :, 0]
    return Users(grams / n, moments / n, fits, optima, truth)


def losses(features: FloatArray, responses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Hessians (m, d, d) of half the mean squared residual, and minus gradients (m, d) at zero."""
    scale, transposed = 1.0 / features.shape[1], features.transpose(0, 2, 1)
    moments = scale * np.matmul(transposed, responses[:, :, None])[:, :, 0]
    return scale * np.matmul(transposed, features), moments


def _draw_optima(params: Params, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
    low = np.array(DESIGNS[params["optima"]], dtype=np.float64)
    optima = low[:, None] + rng.random((low.size, params["d"]))
    return optima, np.repeat(np.arange(low.size), params["m"] // low.size)


def normalise_error(models: FloatArray, optima: FloatArray) -> float:
    """The users' mean normalised squared error of models (m, d)."""
    return float(np.mean(((models - optima) ** 2).sum(axis=1) / (optima**2).sum(axis=1)))


def group_means(fits: FloatArray, labels: IntArray) -> FloatArray:
    """(m, d) the mean fit of each user's group."""
    _, labels = np.unique(labels, return_inverse=True)
    counts = np.bincount(labels)
    sums = np.zeros((counts.size, fits.shape[1]))
    np.add.at(sums, labels, fits)
    return np.asarray((sums / counts[:, None])[labels])


def pooled_fits(grams: FloatArray, moments: FloatArray, truth: IntArray) -> FloatArray:
    """(m, d) the fit of the data of each user's true cluster, from the users' moments."""
    own = np.equal.outer(np.arange(int(truth.max()) + 1), truth).astype(np.float64)
    gram, sums = np.tensordot(own, grams, axes=1), own @ moments
    if np.linalg.cond(gram, "fro").max() < _WELL_CONDITIONED:
        found = np.linalg.solve(gram, sums[:, :, None])[:, :, 0]
    else:
        found = np.stack([np.linalg.lstsq(a, b)[0] for a, b in zip(gram, sums, strict=True)])
    return np.asarray(found[truth])


def _one(params: Params, rng: np.random.Generator) -> list[float]:
    grams, moments, fits, optima, truth = draw_users(params, rng)
    own, k = optima[truth], optima.shape[0]
    ten = kmeans_pp(fits[None], k, rng, n_init=10).labels[0]
    one = kmeans_pp(fits[None], k, rng).labels[0]
    penalty, _ = interval_lambda(fits[None], truth[None], rng)
    convex = convex_partition(fits, float(penalty[0]))
    path_error = path_clusters = printed_clusters = 0.0
    if params["clusterpath"] == "yes":
        grid = clusterpath_grid(fits, convex_partition)
        choice = clusterpath(fits, grid, convex_partition)
        path_error, path_clusters = normalise_error(group_means(fits, choice.labels), own), choice.k
        printed_clusters = clusterpath(fits, grid, convex_partition, reading="as-printed").k
    return [
        normalise_error(fits, own),
        normalise_error(np.broadcast_to(fits.mean(axis=0), fits.shape), own),
        normalise_error(group_means(fits, truth), own),
        normalise_error(pooled_fits(grams, moments, truth), own),
        normalise_error(group_means(fits, one), own),
        normalise_error(group_means(fits, ten), own),
        normalise_error(group_means(fits, convex), own),
        float(np.unique(convex).size),
        *same_partition(np.stack([one, ten]), truth, k).tolist(),
        path_error,
        float(path_clusters),
        float(printed_clusters),
    ]


DATA = Parameters(
    {
        "optima": Options(tuple(DESIGNS), default="ten", meaning="intervals of the optima"),
        "m": Integer(1, 10_000, default=100, meaning="users"),
        "n": Integer(1, 10**6, default=400, meaning="samples of a user"),
        "d": Integer(5, 10_000, default=20, meaning="dimension"),
    },
    (whole_clusters, nonzero_fit, fits_in_memory("features", "m", "n", "d")),
)


def several_clusters(cell: Params) -> None:
    """More than one cluster: the penalty of D.1 lies between two clusters' distances."""
    if cell["optima"] == "one":
        raise InvalidParameter("optima='one' must have more than one cluster")


LINEAR = add_experiment(
    name="odcl.linear",
    design=224,
    columns=(
        "local", "naive", "averaging", "pooled", "km", "km_ten", "cc", "cc_clusters",
        "km_same", "km_ten_same", "path", "path_clusters", "printed_clusters",
    ),
    simulate=on_faster_stream(each_trial(_one)),
    parameters=DATA.extended(
        {
            "clusterpath": Options(
                ("no", "yes"), default="no", meaning="whether the clusterpath rule is run"
            )
        },
        several_clusters,
    ),
    block_size=8,
    cost=lambda cell: 5e-7 * cell["m"] * cell["n"] + 0.01,
)  # fmt: skip


def _interval(params: Params, rng: np.random.Generator) -> list[float]:
    users = draw_users(params, rng)
    interval = recovery_interval(users.fits[None], users.truth[None])
    return [float(interval.lower[0] >= interval.upper[0])]


INTERVAL = add_experiment(
    name="odcl.interval",
    design=231,
    columns=("empty",),
    simulate=on_faster_stream(each_trial(_interval)),
    parameters=DATA.extended({}, several_clusters),
    block_size=8,
    cost=lambda cell: 5e-7 * cell["m"] * cell["n"] + 0.002,
)


def near_start(params: Params, optima: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Models (K, d) ``nearest`` to ``farthest`` separations away from the optima, or zero."""
    if params["optima"] == "one":
        return np.zeros_like(optima)
    gaps = np.linalg.norm(optima[:, None] - optima[None], axis=-1)
    separation = float(gaps[gaps > 0].min())
    directions = rng.standard_normal(optima.shape)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    share = rng.uniform(params["nearest"], params["farthest"], (optima.shape[0], 1))
    return np.asarray(optima + share * separation * directions)


def _match(params: Params, rng: np.random.Generator) -> list[float]:
    grams, moments, fits, optima, truth = draw_users(params, rng)
    own, k = optima[truth], optima.shape[0]
    if params["method"] == "km" or k == 1:
        labels = kmeans_pp(fits[None], k, rng, n_init=10).labels[0]
    else:
        penalty, _ = interval_lambda(fits[None], truth[None], rng)
        labels = convex_partition(fits, float(penalty[0]))
    one_shot = normalise_error(group_means(fits, labels), own)
    grams, moments = params["gradient"] * grams, params["gradient"] * moments
    errors = quadratic_rounds(
        grams, moments, own, near_start(params, optima, rng), params["step"], params["local_steps"],
        max(params["T"], _LISTED), goal=one_shot, least=_LISTED,
    )  # fmt: skip
    matched = np.flatnonzero(errors[: params["T"] + 1] <= one_shot)
    end = int(matched[0]) if matched.size else params["T"]
    listed = errors[[20, 70, _LISTED]]
    last = float(errors[end] / one_shot)
    return [float(end), float(matched.size > 0), one_shot, last, *listed.tolist(), one_shot / 10]


def mean_of_runs(one: Callable[[Params, np.random.Generator], list[float]]) -> Simulate:
    """The simulation of means over the cell's ``runs`` independent runs."""

    def trial(params: Params, rng: np.random.Generator) -> FloatArray:
        return np.asarray(np.mean([one(params, rng) for _ in range(params["runs"])], axis=0))

    return each_trial(trial)


def start_is_between(cell: Params) -> None:
    """nearest <= farthest."""
    if cell["nearest"] > cell["farthest"]:
        raise InvalidParameter(
            f"nearest={cell['nearest']:g} must be <= farthest={cell['farthest']:g}"
        )


#: The data with the settings of IFCA and of its start near the optima.
IFCA = DATA.extended(
    {
        "gradient": Real(
            0.0,
            10.0,
            open_low=True,
            default=1.0,
            meaning="2 for squared residuals, 1 for half of them",
        ),
        "step": Real(0.0, 10.0, open_low=True, default=0.01, meaning="step size"),
        "local_steps": Integer(1, 1000, default=10, meaning="local steps of a round"),
        "nearest": Real(0.0, 10.0, default=1 / 6, meaning="least start, in separations"),
        "farthest": Real(0.0, 10.0, default=1 / 4, meaning="farthest start"),
    },
    start_is_between,
)

ROUNDS = add_experiment(
    name="odcl.rounds",
    design=225,
    columns=(
        "rounds", "matched", "one_shot", "last", "round_20", "round_70", "round_120", "tenth",

    ),
    simulate=on_faster_stream(mean_of_runs(_match)),
    parameters=IFCA.extended(
        {
            "method": Options(("km", "cc"), default="km", meaning="the one-shot method"),
            "T": Integer(1, 10**5, default=1000, meaning="rounds"),
            "runs": Integer(1, 1000, default=1, meaning="runs that a trial averages"),
        }
    ),
    block_size=4,
    cost=lambda cell: cell["runs"] * (5e-7 * cell["m"] * cell["n"] + 2e-4 * cell["T"]),
)  # fmt: skip


# -- IFCA from several starts ----------------------------------------------------------------------


def _several_starts(params: Params, rng: np.random.Generator) -> list[float]:
    grams, moments, fits, optima, truth = draw_users(params, rng)
    own, k = optima[truth], optima.shape[0]
    found = kmeans_pp(fits[None], k, rng, n_init=10)
    grams, moments = params["gradient"] * grams, params["gradient"] * moments
    starts = (
        near_start(params, optima, rng),
        rng.standard_normal(optima.shape),
        found.centers[0].copy(),
    )
    maps = LocalMaps.of_steps(grams, moments, params["step"], params["local_steps"])
    after = [maps.run(grams, moments, own, start, params["T"])[-1] for start in starts]
    return [normalise_error(group_means(fits, found.labels[0]), own), *map(float, after)]


STARTS = add_experiment(
    name="odcl.starts",
    design=227,
    columns=("one_shot", "near", "random", "warm"),
    simulate=on_faster_stream(mean_of_runs(_several_starts)),
    parameters=IFCA.extended(
        {
            "T": Integer(1, 10**5, default=200, meaning="rounds"),
            "runs": Integer(1, 1000, default=1, meaning="runs that a trial averages"),
        }
    ),
    block_size=8,
    cost=lambda cell: cell["runs"] * (5e-7 * cell["m"] * cell["n"] + 5e-4 * cell["T"]),
)
