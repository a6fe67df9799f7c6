r"""CFL: clustered federated learning by recursive bipartition (Sattler, Mueller & Samek 2020).

"Clustered Federated Learning: Model-Agnostic Distributed Multitask Optimization Under Privacy
Constraints", Algorithm 2.  All clients begin as one cluster with one model.  In a round client i
sends its update :math:`\Delta_i`, and the model of its cluster moves by their mean.  A cluster C
is split when it is stationary for all but not for each,

.. math:: \Bigl\|\frac1{|C|}\sum_{i\in C}\Delta_i\Bigr\|<\epsilon_1,\qquad
          \max_{i\in C}\|\Delta_i\|>\epsilon_2,

into the two parts with the least largest cosine similarity across.

*Readings.*  (a) The paper weights clients by their rows (D_i / |D|), its authors' code and FL-bench
equally.  ``weights`` chooses.  (b) The split with the least largest similarity across is what
single linkage of the distances 1 - cos leaves as its last two groups.  FL-bench takes complete
linkage, which is not that optimum.  ``linkage`` chooses, and ``single`` is the paper's.
(c) epsilon_1 and epsilon_2 are norms of updates of one network (.4 and 1.6 in FL-bench).  Here they
are shares of the mean norm of the clients' updates in the first round, so that they do not depend
on units.  (d) The paper refuses a split whose similarity across exceeds
:math:`\sqrt{(1-\gamma_{\max})/2}`, with a bound gamma_max on the noise of an update over its norm.
``gamma_max=None`` leaves the test out, as FL-bench does.  (e) As in FL-bench the two parts of a
split move in the round of the split, each by its own mean.

*The authors' code* (felisat/clustered-federated-learning) has the same models to 4e-16 in 120
rounds with two splits: 12 clients, logistic loss on two classes, its step size kept constant and
without momentum, complete linkage.  One line was changed for it: a split returns places within its
cluster, which the notebook and FL-bench take for the numbers of clients.  Only the first split is
right so.  In the second one three of the twelve clients left all clusters, and three others were in
two.  By default that code has momentum .9, shrinks the step by 1 % a round, and trains on mini-
batches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from trials.checks import FloatArray, IntArray
from trials.methods.trees import last_groups
from trials.methods.updates import Observer, local_updates
from trials.models.clients import ClientData
from trials.models.losses import LogisticLoss, Loss, SquaredLoss
from trials.norms import last_axis_lengths
from trials.parameters import Function, Integer, Maybe, Options, Real, Record, validated


@dataclass(frozen=True, kw_only=True)
class CflResult:
    """The result of T rounds of CFL.

    Attributes
    ----------
    models : (k, d), k as found.
    labels : (m,) clusters, numbered by their first client.
    n_clusters : (T,) clusters after each round.
    splits : list of (round, first part, second part), the parts as client numbers.
    """

    models: FloatArray
    labels: IntArray
    n_clusters: IntArray
    splits: list[tuple[int, IntArray, IntArray]]


@validated(
    data=Record(ClientData),
    step_size=Real(0.0, open_low=True),
    n_rounds=Integer(1),
    local_steps=Integer(1),
    epsilon_1=Real(0.0),
    epsilon_2=Real(0.0),
    first_split=Integer(0),
    min_size=Integer(2),
    linkage=Options(("single", "complete")),
    gamma_max=Maybe(Real(0.0, 1.0)),
    weights=Options(("clients", "rows")),
    loss=Record(SquaredLoss, LogisticLoss),
    observe=Maybe(Function()),
)
def run_cfl(
    *,
    data: ClientData,
    step_size: float,
    n_rounds: int,
    local_steps: int = 1,
    epsilon_1: float = 0.1,
    epsilon_2: float = 0.4,
    first_split: int = 0,
    min_size: int = 3,
    linkage: str = "single",
    gamma_max: float | None = None,
    weights: str = "clients",
    loss: Loss = SquaredLoss(),  # noqa: B008
    observe: Observer | None = None,
) -> CflResult:
    """Run CFL from zero with all clients in every round.

    Parameters
    ----------
    data : the clients, of any sizes.
    step_size, local_steps : gradient steps of a client's update.
    n_rounds : T.
    epsilon_1, epsilon_2 : shares of the first round's mean norm of an update.  The defaults keep
        FL-bench's ratio of 1 to 4.
    first_split : rounds before the first split may happen (20 in FL-bench).
    min_size : clients of a cluster that may be split (FL-bench asks for more than 2).
    linkage, gamma_max, weights : the readings (b), (d) and (a) of the module.
    loss : of `trials.models.losses`.
    observe : called after each round with its models (k, d) and labels (m,).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((8, 50, 2))
    >>> y = x[:, :, 0] * np.where(np.arange(8) < 4, 1.0, -1.0)[:, None]
    >>> run_cfl(data=ClientData.equal(x, y), step_size=0.2, n_rounds=60).labels.tolist()
    [0, 0, 0, 0, 1, 1, 1, 1]
    """
    m, d = data.n_clients, data.dimension
    share = np.diff(data.offsets).astype(float) if weights == "rows" else np.ones(m)
    clusters, models = [np.arange(m)], np.zeros((1, d))
    counts, splits, unit = np.zeros(n_rounds, dtype=np.int64), [], 1.0
    for t in range(n_rounds):
        labels = _labels(clusters, m)
        updates = local_updates(data, models[labels], step_size, local_steps, loss) - models[labels]
        norms = last_axis_lengths(updates)
        # All thresholds are shares of the first updates, so that they do not depend on units.
        if t == 0:
            unit = float(norms.mean())
        parts: list[IntArray] = []
        moved: list[FloatArray] = []
        for own, model in zip(clusters, models, strict=True):
            # The mean stands still while single clients still pull: the sign of different optima.
            still = last_axis_lengths(_mean(updates[own], share[own])[None])[0] < epsilon_1 * unit
            found = [own]
            if (
                t >= first_split and len(own) >= min_size and still
                and norms[own].max() > epsilon_2 * unit
            ):  # fmt: skip
                found = _bipartition(own, updates[own], linkage, gamma_max)
                if len(found) == 2:
                    splits.append((t, found[0], found[1]))
            parts += found
            moved += [model + _mean(updates[part], share[part]) for part in found]
        clusters, models = parts, np.stack(moved)
        counts[t] = len(clusters)
        if observe is not None:
            observe(models, _labels(clusters, m))
    # Clusters are numbered by their first client, whatever the order of the splits.
    order = np.argsort([own[0] for own in clusters])
    clusters = [clusters[j] for j in order]
    return CflResult(
        models=models[order], labels=_labels(clusters, m), n_clusters=counts, splits=splits
    )


def _mean(updates: FloatArray, share: FloatArray) -> FloatArray:
    return np.asarray(share @ updates / share.sum())


def _labels(clusters: list[IntArray], m: int) -> IntArray:
    labels = np.empty(m, dtype=np.int64)
    for j, own in enumerate(clusters):
        labels[own] = j
    return labels


def _bipartition(
    own: IntArray, updates: FloatArray, method: str, gamma_max: float | None
) -> list[IntArray]:
    """The two parts of a cluster, that of its first client first, or the cluster itself."""
    length = last_axis_lengths(updates)[:, None]
    # A client whose update is zero has no direction, and cosine 0 with all others.
    directions = updates / np.where(length > 0.0, length, 1.0)
    # Rounding may leave a cosine beyond 1, and then a distance below 0, which SciPy refuses.
    cosines = np.clip(directions @ directions.T, -1.0, 1.0)
    distances = 1.0 - cosines
    np.fill_diagonal(distances, 0.0)
    tree = linkage(squareform(0.5 * (distances + distances.T), checks=False), method)
    first = last_groups(tree, 2) == 0
    across = float(cosines[np.ix_(first, ~first)].max())
    if gamma_max is not None and across > math.sqrt(0.5 * (1.0 - gamma_max)):
        return [own]
    return [own[first], own[~first]]
