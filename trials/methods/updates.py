"""What a client sends in a round: its model after some local steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trials.checks import FloatArray, IntArray, InvalidParameter
from trials.ifca.linear import LARGEST_BOUND
from trials.ifca.options import IfcaOptions, run_ifca_options
from trials.models.clients import ClientData
from trials.models.losses import Loss
from trials.models.run_status import RunStatus

#: Is told the models (k, d) and the labels (m,) after a round.
Observer = Callable[[FloatArray, IntArray], None]


def local_updates(
    data: ClientData, starts: FloatArray, step_size: float, local_steps: int, loss: Loss
) -> FloatArray:
    """Every client's model (m, d) after gradient steps on its mean loss from its own start (m, d).

    One call of the kernel of `trials.ifca.options`, in which each client is a cluster.

    Raises
    ------
    InvalidParameter : a model that diverges, which one of norm 1e12 in the data's unit has.
    """
    found = run_ifca_options(
        data=data, starts=starts[None], step_sizes=np.array([step_size]), n_iterations=1,
        options=IfcaOptions(averaging="model", local_steps=local_steps), loss=loss,
        known_labels=np.arange(data.n_clients),
        divergence_bound=min(data.divergence_bound, LARGEST_BOUND),
    )  # fmt: skip
    if found.status[0] == RunStatus.DIVERGED:
        raise InvalidParameter(f"step_size={step_size:g} must be smaller: a local update diverged")
    return np.asarray(found.models[0])


def means(points: FloatArray, labels: IntArray, k: int, empty: FloatArray) -> FloatArray:
    """Means (k, d) of the points (m, d) of each cluster, and its row of ``empty`` where none is."""
    sums, counts = np.zeros((k, points.shape[1])), np.bincount(labels, minlength=k)
    np.add.at(sums, labels, points)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(counts[:, None] > 0, sums / counts[:, None], empty))
