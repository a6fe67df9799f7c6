r"""One-shot clustering for federated learning: Algorithm 1 of IFCA's TIT paper (2022, section 4.1).

1. Every client sends its local empirical risk minimiser (`trials.local_erm`), for any loss of
   `trials.models.losses`.
2. The centre clusters them by k-means (`trials.clustering.kmeans`).
3. Any federated method runs within the clusters, whose members are fixed from then on
   (`trials.ifca.options`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trials.checks import FloatArray, IntArray, InvalidParameter, integer_between
from trials.clustering.kmeans import KMeansFit, kmeans_pp
from trials.ifca.options import (
    IFCA_LOSS,
    IfcaOptions,
    OptionsResult,
    run_ifca_options,
    shared_coordinates,
)
from trials.local_erm import Status, least_squares, logistic
from trials.models.clients import ClientData
from trials.models.losses import LogisticLoss, Loss, SquaredLoss, kernel_arguments
from trials.parameters import Integer, Maybe, Record, Stream, validated


@dataclass(frozen=True, kw_only=True)
class OneShotResult:
    """Each step's outcome.

    Attributes
    ----------
    erms : (m, d) local minimisers (of least norm where a squared loss without penalty has many).
    clustering : `trials.clustering.kmeans.KMeansFit` of the one data set `erms`.
    labels : (m,) the clusters.
    within : the runs of step 3.
    floats_up : floats that step 1 sends, m d.  `within` counts the rest.
    """

    erms: FloatArray
    clustering: KMeansFit
    labels: IntArray
    within: OptionsResult
    floats_up: int


@validated(data=Record(ClientData), loss=Record(SquaredLoss, LogisticLoss))
def local_erms(data: ClientData, loss: Loss = IFCA_LOSS) -> FloatArray:
    """(m, d) minimisers of the clients' empirical losses F_i, in one call for each client size.

    Where n_i < d the squared loss without a penalty has many minimisers, and the one of least norm
    is taken.  Where a client's labels are separable the logistic loss without a penalty has none,
    and `InvalidParameter` names the client.  Labels are separable whenever n_i <= d for rows in
    general position.
    """
    kernel_arguments(loss, data.responses)  # refuses responses that the loss is not for
    sizes = np.diff(data.offsets)
    erms = np.empty((data.n_clients, data.dimension))
    for n in np.unique(sizes):
        clients = np.flatnonzero(sizes == n)
        rows = data.offsets[clients][:, None] + np.arange(n)
        features, responses = data.features[rows], data.responses[rows]
        if isinstance(loss, SquaredLoss):
            erms[clients] = least_squares(features, responses, l2=loss.l2 / loss.scale).theta
            continue
        fit = logistic(features, responses, l2=loss.l2)
        erms[clients] = fit.theta
        without = np.flatnonzero(fit.status != Status.CONVERGED)
        if without.size:
            ended = Status(fit.status[without[0]]).name
            raise InvalidParameter(
                f"loss={loss} must have a minimiser on every client, but the fit of client "
                f"{clients[without[0]]} ({n} rows) ended as {ended}: separable labels have none "
                "without a penalty"
            )
    return erms


@validated(
    data=Record(ClientData),
    n_iterations=Integer(0),
    rng=Stream(),
    options=Maybe(Record(IfcaOptions)),
    loss=Record(SquaredLoss, LogisticLoss),
    n_init=Integer(1),
)
def run_one_shot(
    *,
    data: ClientData,
    k: int,
    step_sizes: FloatArray,
    n_iterations: int,
    rng: np.random.Generator,
    options: IfcaOptions | None = None,
    loss: Loss = IFCA_LOSS,
    starts: FloatArray | None = None,
    n_init: int = 1,
) -> OneShotResult:
    """Algorithm 1: cluster the local minimisers once, then learn within the clusters.

    Parameters
    ----------
    data : the clients.  Their responses must be -1 or +1 for the logistic loss.
    k : number of clusters, at most m.
    step_sizes : (R,) or (R, k) of the method within clusters.  R runs share the clustering.
    n_iterations : its iterations.  0 keeps the starts.
    rng : the k-means++ seeds first, then subsets and mini-batches.
    options : the method within clusters, as in `trials.ifca.options`.
    loss : f, both of the local minimisers and within the clusters.
    starts : (R, k, d), or None for the centres of the clustering.  These are means of minimisers,
        which the centre has.  The paper does not state the start.
    n_init : restarts of k-means++.

    Raises
    ------
    InvalidParameter : from the steps, naming the argument, or for a client without a minimiser
        (`local_erms`).

    Notes
    -----
    O(sum n_i d min(n_i, d)) for the minimisers (for each Newton step, with the logistic loss) and
    O(m k d) an iteration of k-means.

    Examples
    --------
    >>> import numpy as np
    >>> from trials.models.clients import ClientData
    >>> rng = np.random.default_rng(0)
    >>> theta_star = np.array([[2.0, 0.0], [-2.0, 1.0]])
    >>> x = rng.standard_normal((20, 30, 2))
    >>> y = (x * theta_star[np.arange(20) % 2, None]).sum(axis=2)
    >>> data = ClientData.equal(x, y)
    >>> found = run_one_shot(data=data, k=2, step_sizes=[0.5], n_iterations=50, rng=rng)
    >>> bool((found.labels[::2] == found.labels[0]).all())
    True
    >>> found.floats_up
    40
    """
    integer_between("k", k, 1, data.n_clients, "at most the number of clients m")
    shared = options.shared if options is not None else None
    if shared is not None:
        shared = shared_coordinates(shared, data.dimension)
    erms = local_erms(data, loss)
    clustering = kmeans_pp(erms[None], k, rng, n_init=n_init)
    labels = clustering.labels[0].copy()
    if starts is None:
        starts = np.repeat(clustering.centers, len(np.atleast_1d(step_sizes)), axis=0)
        if shared is not None:
            starts[:, :, shared] = erms[:, shared].mean(axis=0)
    within = run_ifca_options(
        data=data, starts=starts, step_sizes=step_sizes, n_iterations=n_iterations,
        options=options, loss=loss, known_labels=labels, rng=rng,
    )  # fmt: skip
    return OneShotResult(
        erms=erms, clustering=clustering, labels=labels, within=within, floats_up=erms.size
    )
