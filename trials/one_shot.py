r"""One-shot clustering for federated learning: Algorithm 1 of IFCA's TIT paper (2022, section 4.1).

1. Every client sends its local empirical risk minimiser (`trials.local_erm`).
2. The centre clusters them by k-means (`trials.kmeans`).
3. Any federated method runs within the clusters, whose members are fixed from then on
   (`trials.ifca_options`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trials.batches import integer_between
from trials.experiment import FloatArray
from trials.ifca import ClientData, IntArray
from trials.ifca_options import IfcaOptions, OptionsResult, run_ifca_options
from trials.kmeans import KMeansFit, kmeans_pp
from trials.local_erm import least_squares


@dataclass(frozen=True, kw_only=True)
class OneShotResult:
    """Each step's outcome.

    Attributes
    ----------
    erms : (m, d) local minimisers, those of least norm where n_i < d.
    clustering : `trials.kmeans.KMeansFit` of the one data set `erms`.
    labels : (m,) the clusters.
    within : the runs of step 3.
    floats_up : what step 1 sends, m d; `within` counts the rest.
    """

    erms: FloatArray
    clustering: KMeansFit
    labels: IntArray
    within: OptionsResult
    floats_up: int


def local_erms(data: ClientData) -> FloatArray:
    """(m, d) least-squares solutions of the clients, in one call for each client size."""
    sizes = np.diff(data.offsets)
    erms = np.empty((data.n_clients, data.dimension))
    for n in np.unique(sizes):
        clients = np.flatnonzero(sizes == n)
        rows = data.offsets[clients][:, None] + np.arange(n)
        erms[clients] = least_squares(data.features[rows], data.responses[rows]).theta
    return erms


def run_one_shot(
    *,
    data: ClientData,
    k: int,
    step_sizes: FloatArray,
    n_iterations: int,
    rng: np.random.Generator,
    options: IfcaOptions | None = None,
    starts: FloatArray | None = None,
    n_init: int = 1,
) -> OneShotResult:
    """Algorithm 1: cluster the local minimisers once, then learn within the clusters.

    Parameters
    ----------
    data : the clients.
    k : number of clusters, at most m.
    step_sizes : (R,) or (R, k) of the method within clusters; R runs share the clustering.
    n_iterations : its iterations; 0 keeps the starts.
    rng : the k-means++ seeds first, then subsets and mini-batches.
    options : the method within clusters, as in `trials.ifca_options`.
    starts : (R, k, d) or None, the centres of the clustering (the means of the minimisers, which
        the centre has; the paper does not say).
    n_init : restarts of k-means++.

    Returns
    -------
    OneShotResult

    Raises
    ------
    InvalidParameter : from the steps, naming the argument.

    Notes
    -----
    O(sum n_i d min(n_i, d)) for the minimisers and O(m k d) an iteration of k-means.
    """
    integer_between("k", k, 1, data.n_clients, "at most the number of clients m")
    erms = local_erms(data)
    clustering = kmeans_pp(erms[None], k, rng, n_init=n_init)
    labels = clustering.labels[0].copy()
    if starts is None:
        starts = np.repeat(clustering.centers, len(np.asarray(step_sizes)), axis=0)
        if options is not None and options.shared is not None:
            starts[:, :, options.shared] = erms[:, options.shared].mean(axis=0)
    within = run_ifca_options(
        data=data, starts=starts, step_sizes=step_sizes, n_iterations=n_iterations,
        options=options, known_labels=labels, rng=rng,
    )  # fmt: skip
    return OneShotResult(
        erms=erms, clustering=clustering, labels=labels, within=within, floats_up=erms.size
    )
