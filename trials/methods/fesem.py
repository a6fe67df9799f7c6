r"""FeSEM: multi-centre federated learning by stochastic EM (Xie, Long, Shen, Zhou, Wang & Jiang).

"Multi-Center Federated Learning" (2020), Algorithm 1.  In a round

.. math:: z_i=\arg\min_j\|W_i-\tilde W_j\|,\qquad \tilde W_j=\mathrm{mean}_{i:z_i=j}W_i,\qquad
          W_i\leftarrow\mathrm{LocalUpdate}_i(\tilde W_{z_i}).

*Readings.*  (a) The paper's M step is the plain mean of a cluster's clients.  ``weights="rows"``
weights them by their rows.  (b) A centre without clients stays where it is.  (c) The paper leaves
the first centres open.  ``seeds`` may be given, and are else the means that k-means++ finds among
the clients' models after a first local update from zero.  All models would otherwise be equal at
first, and the first label would decide for all.  FlexCFL's code draws random centres, which for
linear models are all far from every client, so one of them gets all.  (d) The models of the end are
the means of the last updates.

*FlexCFL's code* (morningD/FlexCFL) chooses the same clusters: with its E step in this order all
models of 25 rounds agree to 4e-16 (15 clients, 5 local steps, given seeds).  It takes the means
after the local updates of a round and not before them.  So its E step compares a client's model
with means that hold this model.  From the same seeds 24 of 25 rounds had the same labels, and the
last models were 1e-8 apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trials.checks import FloatArray, IntArray, InvalidParameter, finite_batch
from trials.clustering.kmeans import kmeans_pp
from trials.clustering.units import divide_by_units, own_units
from trials.methods.updates import Observer, local_updates
from trials.models.clients import ClientData
from trials.models.losses import LogisticLoss, Loss, SquaredLoss
from trials.parameters import Function, Integer, Maybe, Options, Real, Record, Stream, validated


@dataclass(frozen=True, kw_only=True)
class FesemResult:
    """The result of T rounds.

    Attributes
    ----------
    models : (k, d) centres.
    labels : (m,) nearest centre of each client.
    label_changes : (T,) clients whose label differs from the round before (first: m).
    local : (m, d) the clients' own models.
    """

    models: FloatArray
    labels: IntArray
    label_changes: IntArray
    local: FloatArray


@validated(
    data=Record(ClientData),
    k=Integer(1),
    step_size=Real(0.0, open_low=True),
    n_rounds=Integer(0),
    local_steps=Integer(1),
    n_init=Integer(1),
    weights=Options(("clients", "rows")),
    loss=Record(SquaredLoss, LogisticLoss),
    observe=Maybe(Function()),
    rng=Stream(),
)
def run_fesem(
    *,
    data: ClientData,
    k: int,
    step_size: float,
    n_rounds: int,
    rng: np.random.Generator,
    local_steps: int = 10,
    seeds: ArrayLike | None = None,
    n_init: int = 10,
    weights: str = "clients",
    loss: Loss = SquaredLoss(),  # noqa: B008
    observe: Observer | None = None,
) -> FesemResult:
    """Run FeSEM with all clients in every round.

    Parameters
    ----------
    data : the clients, of any sizes.
    k : centres, at most m.
    step_size, local_steps : gradient steps of a client's update.
    n_rounds : T.
    rng : draws the seeds of k-means++.
    seeds : (k, d) first centres, or None.
    n_init : starts of k-means++.
    weights : ``clients`` or ``rows``.
    loss : of `trials.models.losses`.
    observe : called after each round with its models (k, d) and labels (m,).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((6, 50, 2))
    >>> y = x[:, :, 0] * np.where(np.arange(6) < 3, 1.0, -1.0)[:, None]
    >>> found = run_fesem(
    ...     data=ClientData.equal(x, y), k=2, step_size=0.2, n_rounds=30, rng=rng
    ... )
    >>> sorted(found.models.round(3).tolist())
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    m, d = data.n_clients, data.dimension
    if k > m:
        raise InvalidParameter(f"k={k} must be <= {m}, the number of clients")
    local = local_updates(data, np.zeros((m, d)), step_size, local_steps, loss)
    if seeds is None:
        models = kmeans_pp(local[None], k, rng, n_init=n_init).centers[0].copy()
    else:
        models = finite_batch("seeds", seeds, ("k", "d")).copy()
        if models.shape != (k, d):
            raise InvalidParameter(f"seeds.shape={models.shape} must be ({k}, {d})")
    share = np.diff(data.offsets).astype(float) if weights == "rows" else np.ones(m)
    labels, changes = np.full(m, -1, dtype=np.int64), np.zeros(n_rounds, dtype=np.int64)
    for t in range(n_rounds):
        before, labels = labels, _nearest(local, models)
        changes[t] = (labels != before).sum()
        models = _centres(local, labels, share, models)
        if observe is not None:
            observe(models, labels)
        local = local_updates(data, models[labels], step_size, local_steps, loss)
    # The last local models have no labels yet: the result's labels and models belong together.
    labels = _nearest(local, models)
    return FesemResult(
        models=_centres(local, labels, share, models), labels=labels, label_changes=changes,
        local=local,
    )  # fmt: skip


def _nearest(local: FloatArray, models: FloatArray) -> IntArray:
    # Differences before squares: the expanded form loses what separates close models.  The first
    # of equal distances is taken.
    unit = own_units(local[None], models[None])  # squares of smaller differences would be zero
    here, there = (divide_by_units(points[None], unit)[0] for points in (local, models))
    distances = ((here[:, None] - there) ** 2).sum(axis=2)
    return np.asarray(distances.argmin(axis=1), dtype=np.int64)


def _centres(
    local: FloatArray, labels: IntArray, share: FloatArray, models: FloatArray
) -> FloatArray:
    """Means of the clusters' models.  An empty one stays."""
    moved = models.copy()
    for j in np.unique(labels):
        own = labels == j
        moved[j] = share[own] @ local[own] / share[own].sum()
    return moved
