"""One-shot clustering of local models (ODCL), as an estimator."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from trials.checks import (
    WHOLE_IN_FLOAT,
    FloatArray,
    IntArray,
    InvalidParameter,
    integer_between,
    one_of,
    shown,
    whole_array,
)
from trials.clustering.convex import convex_clustering, convex_clustering_path
from trials.clustering.gradient import gradient_clustering
from trials.clustering.kmeans import kmeans_pp, seed_kmeans_pp, spectral_kmeans
from trials.clustering.selection import MAX_PENALTIES
from trials.clustering.sparse import (
    fusing_penalty,
    neighbour_weights,
    sparse_convex_clustering,
    sparse_convex_clustering_path,
)
from trials.ifca.options import IfcaOptions, run_ifca_options
from trials.models.clients import ClientData
from trials.models.run_status import RunStatus
from verify.estimators.base import FederatedEstimator, Outcome
from verify.estimators.baselines import cluster_means
from verify.estimators.losses import is_compiled, largest_norm, mean_loss, minimisers, step_of

CLUSTERERS = ("k-means++", "spectral", "convex", "sparse-convex", "gradient")


class OneShotClustering(FederatedEstimator):
    """ODCL: local models, one clustering of them, and their means (Armacki et al., 2024).

    Parameters
    ----------
    n_clusters : k.  Convex clusterers take it when no penalty is given, and then they return the
        first partition of their path with at most k clusters.
    clusterer : "k-means++", "spectral" (Awasthi & Sheffet), "convex" (uniform weights),
        "sparse-convex" (weights of nearest neighbours), "gradient", or a clusterer of scikit-learn,
        which is cloned.  A client that it leaves out, with the label -1, keeps its own model.
    penalty : of the convex clusterers, or None.
    options : mapping of further options of the clusterer's kernel, such as ``{"n_init": 10}``, and
        of a path without a penalty ``tolerance`` and, if sparse, ``n_penalties``.
    n_neighbors : of "sparse-convex".
    n_rounds, step_size : rounds of gradient steps within the clusters that follow, as in Algorithm
        1 of IFCA's TIT paper.  0 keeps the means, which is ODCL.
    loss, l2, fit_intercept, random_state : as in `IFCA`.

    Notes
    -----
    Each client sends its own exact minimiser, whatever its size, and clients count equally.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, of = rng.standard_normal((200, 2)), np.repeat(np.arange(10), 20)
    >>> y = np.where(of < 5, x[:, 0], -x[:, 0])
    >>> fit = OneShotClustering(clusterer="convex").fit(x, y, clients=of)
    >>> fit.labels_.tolist(), fit.floats_up_
    ([0, 0, 0, 0, 0, 1, 1, 1, 1, 1], 20)
    """

    def __init__(
        self, n_clusters: int = 2, *, clusterer: Any = "k-means++", penalty: float | None = None,
        options: Mapping[str, Any] | None = None, n_neighbors: int = 10, n_rounds: int = 0,
        step_size: float | str = "auto", loss: Any = "squared", l2: float | None = None,
        fit_intercept: bool = False, random_state: Any = None,
    ) -> None:  # fmt: skip
        self.n_clusters = n_clusters
        self.clusterer = clusterer
        self.penalty = penalty
        self.options = options
        self.n_neighbors = n_neighbors
        self.n_rounds = n_rounds
        self.step_size = step_size
        self.loss = loss
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _solve(self, data: ClientData, loss: Any, rng: np.random.Generator) -> Outcome:
        k = self._clusters(data, self.n_clusters)
        erms = minimisers(data, loss, self._names())
        found = np.asarray(self._partition(erms, k, rng))
        labels = np.unique(found, return_inverse=True)[1].astype(np.int64)
        models = cluster_means(erms, labels, int(labels.max()) + 1)
        losses, sent = [mean_loss(data, models, labels, loss)], erms.size
        n_rounds = integer_between("n_rounds", self.n_rounds, 0)
        if n_rounds:
            models, curve = self._within(data, loss, models, labels, n_rounds)
            losses += curve
        return Outcome(
            models=models, labels=labels, n_rounds=1 + n_rounds, floats_up=sent * (1 + n_rounds),
            floats_down=sent * (1 + n_rounds), history={"loss": losses},
        )  # fmt: skip

    def _within(
        self, data: ClientData, loss: Any, models: FloatArray, labels: IntArray, n_rounds: int
    ) -> tuple[FloatArray, list[float]]:
        """Model averaging within the clusters, and the loss after each round."""
        if not is_compiled(loss):
            raise InvalidParameter("n_rounds must be 0 with a loss of one's own")
        step, curve = step_of(self.step_size, data, loss), []

        def observe(t: int, _: IntArray, now: FloatArray, own: IntArray) -> None:
            if t:
                curve.append(mean_loss(data, now[0], own[0], loss))

        found = run_ifca_options(
            data=data, starts=models[None], step_sizes=np.array([step]), n_iterations=n_rounds,
            options=IfcaOptions(averaging="model"), loss=loss, known_labels=labels, observe=observe,
            divergence_bound=largest_norm(data),
        )  # fmt: skip
        if found.status[0] == RunStatus.DIVERGED:
            raise InvalidParameter(f"step_size={step:g} must be smaller: the rounds diverged")
        return found.models[0], [*curve, mean_loss(data, found.models[0], labels, loss)]

    def _partition(self, points: FloatArray, k: int, rng: np.random.Generator) -> Any:
        """Labels (m,) of the local models (m, d)."""
        if hasattr(self.clusterer, "fit_predict"):
            from sklearn.base import clone

            if self.options:
                raise InvalidParameter("options must be None: a clusterer of one's own has its own")
            found = clone(self.clusterer).fit_predict(points)
            labels = whole_array("the labels of clusterer", found, -WHOLE_IN_FLOAT)
            if labels.shape != (len(points),):
                raise InvalidParameter(
                    f"the labels of clusterer have shape {labels.shape}, and must be "
                    f"({len(points)},): one a client"
                )
            return with_strangers_alone(labels)
        name = one_of("clusterer", self.clusterer, CLUSTERERS)
        if name == "k-means++":
            more = self._options(name, kmeans_pp)
            return kmeans_pp(points[None], k, rng, **more).labels[0]
        if name == "spectral":
            more = self._options(name, spectral_kmeans)
            return spectral_kmeans(points[None], k, rng, **more).labels[0]
        if name == "gradient":
            more = self._options(name, gradient_clustering)
            starts = points[seed_kmeans_pp(points[None], k, rng)[0]]
            return gradient_clustering(points[None], starts[None], **more).labels[0]
        if name == "convex":
            if self.penalty is None:
                return _cut_convex(points, k, **self._options(name, _cut_convex))
            more = self._options(name, convex_clustering)
            return convex_clustering(points, self.penalty, **more).labels
        weights = _weights(points, integer_between("n_neighbors", self.n_neighbors, 1))
        if self.penalty is None:
            return _cut_sparse(points, weights, k, **self._options(name, _cut_sparse))
        more = self._options(name, sparse_convex_clustering)
        return sparse_convex_clustering(points, self.penalty, weights, **more).labels

    def _options(self, name: str, kernel: Callable[..., Any]) -> dict[str, Any]:
        """The options, which must be arguments by name of the clusterer's kernel."""
        if self.options is None:
            return {}
        if not isinstance(self.options, Mapping):
            raise InvalidParameter(f"options={shown(self.options)} must be a mapping from names")
        known = [
            part.name for part in inspect.signature(kernel).parameters.values()
            if part.kind is part.KEYWORD_ONLY
        ]  # fmt: skip
        for option in self.options:
            if option not in known:
                raise InvalidParameter(
                    f"options has {shown(option)}, and clusterer={name!r} takes {', '.join(known)}"
                )
        return dict(self.options)


def with_strangers_alone(labels: Any) -> IntArray:
    """Labels (m,) in which each -1, by which a clusterer names no cluster, is a cluster of its own.

    >>> with_strangers_alone([0, -1, 1, -1]).tolist()
    [0, 2, 1, 3]
    """
    found = np.array(labels, dtype=np.int64)
    alone = np.flatnonzero(found == -1)
    found[alone] = found.max() + 1 + np.arange(len(alone))
    return found


def _cut_convex(points: FloatArray, k: int, *, tolerance: float = 1e-8) -> IntArray:
    """The first partition of the exact path with at most k clusters.

    It is taken in the middle of its interval of penalties, or beyond the last breakpoint for k = 1.
    """
    if k == 1 or len(points) == 1:
        return np.zeros(len(points), dtype=np.int64)
    path = convex_clustering_path(points, tolerance=tolerance)
    breaks = np.unique(np.append(0.0, path.breakpoints))
    for low, high in zip(breaks, np.append(breaks[1:], 2.0 * breaks[-1] + 1.0), strict=True):
        middle = 0.5 * (low + high)
        if path.n_clusters(middle) <= k:
            return np.asarray(path.labels(middle))
    return np.zeros(len(points), dtype=np.int64)


def _weights(points: FloatArray, neighbours: int) -> Any:
    if len(points) == 1:
        return np.zeros((1, 1))
    neighbours = min(neighbours, len(points) - 1)
    return neighbour_weights(points, neighbours, decay=2.0, relative=True, connect="tree")


def _cut_sparse(
    points: FloatArray, weights: Any, k: int, *, n_penalties: int = 100, tolerance: float = 1e-6
) -> IntArray:
    """The first partition with at most k clusters on a geometric grid of penalties."""
    n_penalties = integer_between("n_penalties", n_penalties, 2, MAX_PENALTIES)
    top = fusing_penalty(points, weights)
    if k == 1 or not top > 0.0:
        return np.zeros(len(points), dtype=np.int64)
    path = sparse_convex_clustering_path(
        points, np.geomspace(1e-4 * top, top, n_penalties), weights, tolerance=tolerance
    )
    return np.asarray(path.labels[path.index_of(k)])
