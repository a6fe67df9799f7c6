"""Records of the parts that the other records leave out: their values at one input.

`tests.records.verdicts` has those of `verify`.  Those of `trials` are the clusterings, the fits of
one client, the losses, and what trials are read with.  Gaps and radii that are rounding are left
out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from tests.records import verdicts
from tests.records.values import plain, told
from tests.records.verdicts import Calls
from trials import local_erm
from trials.clustering import convex, kmeans, selection, sparse
from trials.clustering.convex.problem import scale_points
from trials.clustering.convex.weighted import _guess, _Weighted
from trials.clustering.sparse import estimators
from trials.models import losses, network

KIND = "calls"
R = np.random.default_rng(11)
LABELS = np.arange(14) % 3
POINTS = np.round(R.standard_normal((14, 2)) + 6.0 * np.eye(3, 2)[LABELS], 3)
BATCH = np.stack([POINTS, POINTS[::-1] * 1.5])
PENALTIES = (0.0, 0.02, 0.1, 0.3, 1.5)
X, NOISE = R.standard_normal((3, 9, 2)), R.standard_normal((3, 9))
Y = X @ np.array([1.0, -0.5]) + 0.1 * NOISE
SIGNS = np.where(Y > 0.0, 1.0, -1.0)
ERRORS = np.abs(R.standard_normal((4, 11))) * 0.7 ** np.arange(11)
THETA = np.array([0.3, -0.2])


def names() -> list[str]:
    """Groups of calls."""
    return [*ENTRIES, *verdicts.ENTRIES]


def again(name: str, _recorded: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the calls of an entry, or their errors."""
    found = {}
    for label, call in (ENTRIES | verdicts.ENTRIES)[name]().items():
        try:
            found[label] = plain(call())
        except ValueError as error:
            found[label] = told(error)
    return found


# -- convex clustering -----------------------------------------------------------------------------


@cache
def weights(n_neighbours: int = 3, decay: float = 0.1) -> np.ndarray:
    """The weights of the points."""
    return sparse.neighbour_weights(POINTS, n_neighbours, decay=decay).toarray()


def solved(result: Any) -> Any:
    """A clustering without what is rounding."""
    return [result.labels, result.minimiser, result.primal, result.n_clusters, result.certified]


def changed(labels: np.ndarray) -> np.ndarray:
    """Labels with the last point alone."""
    return np.concatenate([labels[:-1], labels.max(keepdims=True) + 1])


def checked(penalty: float, given: np.ndarray | None) -> list[Any]:
    """The verifier's answers to a record, and to the same with another partition."""
    found = convex.convex_clustering(POINTS, penalty, weights=given)
    answers: list[Any] = []
    for labels in (found.labels, changed(found.labels)):
        parts = (POINTS, penalty, labels, found.certificate)
        check = (
            convex.check_certificate(*parts)  # type: ignore[arg-type]
            if given is None
            else convex.check_weighted_certificate(*parts, given)  # type: ignore[arg-type]
        )
        answers += [check.valid, check.reason]
    return answers


def guessed() -> Any:
    """A partition without a proof."""
    data = scale_points(POINTS)
    problem = _Weighted(data, 0.2, weights())
    means = np.stack([POINTS[k == LABELS].mean(axis=0) for k in range(3)])
    u = np.ascontiguousarray(((means[LABELS] - POINTS[0]) / data.scale).T)
    return _guess(problem, 0.2, LABELS, u, 0.05, "no proof")


def convexly() -> Calls:
    """Convex clustering with weights, verifiers and paths."""
    path = cache(lambda: convex.convex_clustering_path(POINTS))
    return {
        **{
            f"weights {k} {phi}": lambda k=k, phi=phi: weights(k, phi)
            for k, phi in ((1, 0.0), (3, 0.1), (13, 2.0), (14, 0.0))
        },
        **{
            f"weighted {p}": lambda p=p: solved(
                convex.convex_clustering(POINTS, p, weights=weights())
            )
            for p in PENALTIES
        },
        **{f"checked {p}": lambda p=p: checked(p, None) for p in PENALTIES},
        **{f"weights checked {p}": lambda p=p: checked(p, weights()) for p in PENALTIES},
        "guess": guessed,
        "linkage": lambda: path().linkage(),
        "resolved": lambda: path().resolved,
    }


def sparsely() -> Calls:
    """Convex clustering with sparse weights."""
    given = cache(lambda **more: sparse.neighbour_weights(POINTS, 3, decay=0.1, **more))

    def one(penalty: float) -> Any:
        found = sparse.sparse_convex_clustering(POINTS, penalty, given())
        check = sparse.check_sparse_certificate(
            POINTS, given(), penalty, found.labels, found.offsets, found.potentials
        )
        other = sparse.check_sparse_certificate(
            POINTS, given(), penalty, found.labels, found.offsets, 0.5 * found.potentials
        )
        return [*solved(found), found.proved, check.valid, check.proved, other.valid, other.reason]

    def along(**more: Any) -> Any:
        path = sparse.sparse_convex_clustering_path(POINTS, [0.02, 0.1, 0.4, 2.0], given(), **more)
        return [path.labels, path.n_clusters, path.primal, path.splits, path.linkage()]

    return {
        **{
            f"weights {more}": lambda more=more: given(**more).toarray()
            for more in ({}, {"relative": True}, {"connect": "tree"}, {"connect": "circulant"})
        },
        "fusing penalty": lambda: sparse.fusing_penalty(POINTS, given(connect="tree")),
        **{f"penalty {p}": lambda p=p: one(p) for p in PENALTIES},
        "path": along,
        "path without flows": lambda: along(flows=False),
        "estimator": lambda: (
            estimators.ConvexClustering(penalty=0.3, n_neighbors=3).fit(POINTS).cluster_centers_
        ),
        "path estimator": lambda: (
            estimators.ConvexClusterpath(3, penalties=12, n_neighbors=3).fit(POINTS).labels_
        ),
    }


# -- other clusterings, and fits -------------------------------------------------------------------


def chosen() -> Calls:
    """K-means, and the rules that choose a number of clusters or a penalty."""

    def rng() -> np.random.Generator:
        return np.random.default_rng(3)

    batch = np.stack([LABELS, LABELS])
    return {
        "seeds": lambda: kmeans.seed_kmeans_pp(BATCH, 4, rng()),
        "spectral": lambda: kmeans.spectral_kmeans(POINTS[None], 3, rng()).labels,
        "silhouette": lambda: selection.silhouette(BATCH, batch),
        "silhouette of three": lambda: selection.silhouette(POINTS[None, :3], [[0, 0, 1]]),
        "interval": lambda: selection.recovery_interval(BATCH, batch),
        "penalty": lambda: selection.interval_lambda(BATCH, batch, rng())[0],
        "grid": lambda: selection.clusterpath_grid(POINTS, selection.convex_partition),
        **{
            f"path {how}": lambda how=how: selection.clusterpath(
                POINTS, [0.1, 0.3, 0.6, 0.9], selection.convex_partition, reading=how
            )
            for how in ("verified", "as-printed")
        },
        "elbow": lambda: selection.elbow([[9.0, 4.0, 1.0, 0.9], [9.0, 8.0, 7.5, 7.0]], 0.2),
        "number": lambda: selection.choose_k(POINTS[None], 5, rng()),
    }


def fitted() -> Calls:
    """The fits of one client."""

    def descended(loss: Any, y: np.ndarray, **more: Any) -> Any:
        fit = local_erm.projected_sgd(
            X, y, np.random.default_rng(4), loss=loss, mu=0.5, n_steps=30, **more
        )
        return [fit.last, fit.average]

    return {
        "squares": lambda: local_erm.least_squares(X, Y),
        "ridge": lambda: local_erm.least_squares(X, Y, l2=0.4),
        "wide ridge": lambda: local_erm.least_squares(X[:, :1], Y[:, :1], l2=0.4).theta,
        "convexity": lambda: local_erm.strong_convexity(X, 0.3),
        "wide convexity": lambda: local_erm.strong_convexity(X[:, :1]),
        "logistic": lambda: local_erm.logistic(X, SIGNS, l2=0.2, intercept=True).theta,
        "descent": lambda: descended("squared", Y, radius=3.0),
        "descent in a small ball": lambda: descended("squared", Y, radius=0.2, l2=0.1),
        "logistic descent": lambda: descended("logistic", SIGNS, radius=3.0, l2=0.1),
    }


def modelled() -> Calls:
    """The losses of a population, and the network."""
    shape = {"theta_star": THETA, "covariance": np.array([[2.0, 0.3], [0.3, 0.5]])}
    normal = losses.Population(**shape, sigma=0.4)
    other = losses.Population(
        **shape, sigma=0.4, feature_kurtosis=1.8, noise_kurtosis=1.0, gaussian=False
    )
    signs = losses.Population(**shape, response="logistic")
    kinds = {
        "squared": (losses.SquaredLoss(l2=0.1, scale=0.5), (normal, other, signs), Y[0]),
        "logistic": (losses.LogisticLoss(l2=0.1), (signs, normal, other), SIGNS[0]),
    }
    found: Calls = {}
    for name, (loss, populations, y) in kinds.items():
        found |= {
            f"{name} values": lambda o=loss, y=y: o.values(X[0], y, THETA),
            f"{name} gradients": lambda o=loss, y=y: o.gradients(X[0], y, THETA),
        }
        for i, population in enumerate(populations):
            theta = np.array([1.0, 0.5])
            found |= {
                f"{name} {i} minimiser": lambda o=loss, p=population: o.minimiser(p),
                f"{name} {i} constants": lambda o=loss, p=population: o.constants(p, 1.5),
                f"{name} {i} variance": lambda o=loss, p=population, t=theta: [
                    o.value_variance(p, t), o.gradient_variance(p, t)
                ],
                f"{name} {i} other size": lambda o=loss, p=population: o.value_variance(
                    p, np.ones(3)
                ),
            }  # fmt: skip
    net = network.random_network(d=2, hidden=3, classes=2, rng=np.random.default_rng(6))
    data = (X[0], (Y[0] > 0.0).astype(np.int64))
    return found | {
        "network": lambda: [
            network.network_loss(net, data),
            network.network_gradient(net, data),
            network.accuracy(net, data),
        ]
    }


ENTRIES: dict[str, Callable[[], Calls]] = {
    "convex clustering": convexly,
    "sparse clustering": sparsely,
    "choices": chosen,
    "fits": fitted,
    "models": modelled,
}
