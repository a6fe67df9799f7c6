"""The local minimisers of one-shot clustering: Algorithm 1 of IFCA's TIT paper (section 4.1).

Every client sends its local empirical risk minimiser, for any loss of `trials.models.losses`.  The
whole algorithm is `verify.estimators.OneShotClustering`.
"""

from __future__ import annotations

import numpy as np

from trials.checks import FloatArray, InvalidParameter
from trials.ifca.options import IFCA_LOSS
from trials.local_erm import Status, least_squares, logistic
from trials.models.clients import ClientData
from trials.models.losses import LogisticLoss, Loss, SquaredLoss, kernel_arguments
from trials.parameters import Record, validated


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
