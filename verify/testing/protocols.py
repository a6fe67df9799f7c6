r"""The functions that can be verified, with their arguments and results.

Arrays are those of the package that the subject names (`verify.testing.arrays`).  Arguments are
given by position.  No argument may be changed.  Clients are a list of pairs ``(features,
responses)`` of shapes (n_i, d) and (n_i,).  The numbers n_i >= 1 differ from client to client.
Losses tie where two models have the same loss.  Then the first of them is taken, as `numpy.argmin`
does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

Array = Any
Client = tuple[Array, Array]


class IfcaStep(Protocol):
    r"""One step of IFCA with gradient averaging (Ghosh et al., Algorithm 1, option I).

    ``(models, clients, step_size) -> (models, labels)``

    With :math:`F_i(\theta)=\frac1{n_i}\lVert y_i-X_i\theta\rVert^2`, client i chooses the model j
    with the least loss :math:`F_i(\theta_j)`.  Every model moves to
    :math:`\theta_j-\frac{\gamma}{m}\sum_{i\,:\,\text{chose }j}\nabla F_i(\theta_j)`.  The sum is
    divided by the number m of all clients.  A model that no client chose stays where it is.

    ``models`` is (k, d), ``step_size`` is gamma > 0.  Returns the new models (k, d) and the labels
    (m,), which are the numbers of the chosen models.
    """

    def __call__(
        self, models: Array, clients: Sequence[Client], step_size: float
    ) -> tuple[Array, Array]: ...


class IfcaRun(Protocol):
    """IFCA for several steps on the same data.

    ``(models, clients, step_size, n_steps) -> (models, labels)``

    A step is that of ``ifca.step``, and ``n_steps`` >= 1 of them are taken.  Returns the models
    after the last step and the labels that the last step used.
    """

    def __call__(
        self, models: Array, clients: Sequence[Client], step_size: float, n_steps: int
    ) -> tuple[Array, Array]: ...


class FedAvgRound(Protocol):
    r"""One round of FedAvg with clusters (Su, Xu & Yang, Phase 2).

    ``(models, clients, step_size, n_local_steps) -> (models, labels)``

    With :math:`L_i(\theta)=\frac1{2n_i}\lVert y_i-X_i\theta\rVert^2`, client i chooses the model j
    with the least loss and takes s = ``n_local_steps`` gradient steps
    :math:`\theta\leftarrow\theta-\eta\nabla L_i(\theta)` from it.  All other models it leaves as
    they are.  Every model becomes the mean of the clients' versions of it with the weights
    :math:`n_i/\sum_in_i`.  With one model this is plain FedAvg.

    ``models`` is (k, d), ``step_size`` is eta > 0.  Returns the models (k, d) and labels (m,).
    """

    def __call__(
        self, models: Array, clients: Sequence[Client], step_size: float, n_local_steps: int
    ) -> tuple[Array, Array]: ...


class FedProxRound(Protocol):
    r"""One round of FedProx with clusters and exact local minimisers (Su, Xu & Yang, Phase 2).

    ``(models, clients, step_size) -> (models, labels)``

    As ``fedavg.round``, but the client's version of its model :math:`\theta_j` is the minimiser of
    :math:`L_i(\theta)+\frac1{2\eta}\lVert\theta-\theta_j\rVert^2`.
    """

    def __call__(
        self, models: Array, clients: Sequence[Client], step_size: float
    ) -> tuple[Array, Array]: ...


class Assignment(Protocol):
    """The nearest centre of every point.

    ``(points, centres) -> labels``

    ``points`` is (m, d) and ``centres`` is (k, d).  Returns (m,) labels, the number of the centre
    at the least Euclidean distance, the first one of equals.
    """

    def __call__(self, points: Array, centres: Array) -> Array: ...


class KMeans(Protocol):
    """Lloyd's iteration from given centres until the labels repeat.

    ``(points, centres) -> (centres, labels)``

    ``points`` is (m, d) and ``centres`` is (k, d) with k <= m.  Returns the final centres and
    labels: every label is that of a nearest centre, and the centre of a cluster is the mean of its
    points. The clustering is at least as good as that of the given centres.  A cluster that becomes
    empty may keep its centre or get another point.
    """

    def __call__(self, points: Array, centres: Array) -> tuple[Array, Array]: ...


class ConvexClustering(Protocol):
    r"""Convex clustering (Armacki et al., (12)).

    ``(points, penalty) -> minimiser``

    Returns the (m, d) minimiser of :math:`\frac12\sum_i\lVert
    a_i-u_i\rVert^2+\lambda\sum_{i<j}\lVert u_i-u_j\rVert` for the points (m, d), which are not all
    equal, and the ``penalty`` lambda >= 0.  The objective may lie above the optimum by the declared
    accuracy times :math:`\frac12\sum_i\lVert a_i-\bar a\rVert^2`.
    """

    def __call__(self, points: Array, penalty: float) -> Array: ...


class OneShot(Protocol):
    """One-shot clustered learning with k-means++ (Armacki et al., Algorithms 1 and 3).

    ``(clients, k, seed) -> (models, labels)``

    Every client computes its least squares estimate.  Lloyd's iteration clusters the estimates,
    from one seeding by k-means++: the first centre is a uniformly chosen estimate, and every
    further one is an estimate that is chosen with a probability proportional to its squared
    distance to the nearest centre so far.  A model is the mean of the estimates in its cluster.
    All randomness comes from the integer ``seed``, and different seeds give independent results.

    Every client has full column rank, and at least k estimates differ.  Returns the models (k, d)
    and the labels (m,).
    """

    def __call__(self, clients: Sequence[Client], k: int, seed: int) -> tuple[Array, Array]: ...


class OrthogonalIteration(Protocol):
    r"""Orthogonal iteration for a matrix of pairs (Su, Xu & Yang, Algorithm 3).

    ``(first, second, start, n_steps) -> basis``

    ``first`` and ``second`` hold P vectors a and b of length d, one a row.  With
    :math:`Y=\frac1P\sum_pa_pb_p^\top`, each of the ``n_steps`` >= 0 steps replaces the basis Q by
    an orthonormal basis of the range of :math:`YY^\top Q`.  ``start`` is (d, k) with orthonormal
    columns. Returns (d, k) orthonormal columns.  Only their span counts.
    """

    def __call__(self, first: Array, second: Array, start: Array, n_steps: int) -> Array: ...
