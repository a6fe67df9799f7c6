r"""Moment descent with exact moments, or with errors as large as its proof allows.

An anchor's error :math:`u_t=\theta^*-\theta_t` has the residual :math:`v_t=\Sigma u_t`.  A round
moves by :math:`\tfrac{\alpha\hat\sigma_t}{2\beta^2}r_t`.  With exact moments the direction
:math:`r_t` is that of :math:`v_t` and :math:`\hat\sigma_t=\|v_t\|`.  Here the direction may lean
towards :math:`\Sigma v_t` or away from it, and :math:`\hat\sigma_t` may be longer or shorter.

Source: Su, Xu & Yang (2022), Phase 1 and appendix A.5.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from trials.checks import LARGEST_ENTRY, FloatArray, InvalidParameter
from trials.kernel import kernel
from trials.parameters import Array, Integer, Real, RealOrInfinity, validated


@kernel
def _descend(
    covariance: FloatArray,
    target: FloatArray,
    alpha: float,
    beta: float,
    threshold: float,
    n_rounds: int,
    lean: float,
    stretch: float,
    error: FloatArray,
) -> tuple[int, float]:
    """Overwrite ``error`` (d,) with the last one.  Returns the steps and the largest norm."""
    d = error.size
    largest = np.sqrt(np.sum((target - error) ** 2))
    along = np.sqrt(1.0 - lean * lean)
    for step in range(n_rounds):
        v = covariance @ error
        length = np.sqrt(np.sum(v * v))
        sigma_hat = stretch * length
        if sigma_hat <= threshold or length == 0.0:
            return step, largest
        if not sigma_hat < np.inf:  # NaN, too
            return step, np.inf
        v /= length
        image = covariance @ v
        side = image - np.sum(image * v) * v
        width = np.sqrt(np.sum(side * side))
        r = v.copy()
        if width > 1e-9 * beta:
            r = along * v + lean / width * side
        move = 0.5 * (alpha / beta) * (sigma_hat / beta)
        if not move <= LARGEST_ENTRY:
            return step, np.inf
        norm = 0.0
        for i in range(d):
            error[i] -= move * r[i]
            norm += (target[i] - error[i]) ** 2
        largest = max(largest, np.sqrt(norm))
    return n_rounds, largest


@validated(
    covariance=Array(("d", "d")),
    target=Array(("d",)),
    start=Array(("d",)),
    alpha=Real(0.0, open_low=True),
    beta=Real(0.0, open_low=True),
    threshold=RealOrInfinity(),
    n_rounds=Integer(0),
    lean=Real(-1.0, 1.0),
    stretch=Real(0.0, 1e50, open_low=True),
)
def population_descent(
    *,
    covariance: ArrayLike,
    target: ArrayLike,
    start: ArrayLike,
    alpha: float,
    beta: float,
    threshold: float,
    n_rounds: int,
    lean: float = 0.0,
    stretch: float = 1.0,
) -> tuple[FloatArray, int, float]:
    """The rounds of one anchor without sampling error.

    Parameters
    ----------
    covariance : (d, d) Sigma of the anchor's cluster.
    target, start : (d,) theta* and theta_0.
    alpha, beta : limits of the spectrum that the step assumes, 0 < alpha <= beta.
    threshold : the anchor rests for good when sigma_hat is at most this; -inf: never.
    n_rounds : T.
    lean : sine of the angle between the direction and the residual, in the plane of v and Sigma v;
        a negative one leans away from Sigma v.  It is 0 where the two are parallel.
    stretch : sigma_hat over the norm of the residual.

    Returns
    -------
    error : (d,) theta* - theta_T.
    n_steps : steps taken.
    largest : the largest norm of an estimate, the start included.  It is infinite where the rounds
        diverge until floats overflow, and the error is then the last finite one.

    Examples
    --------
    With the identity as covariance every step halves the error:

    >>> error, n_steps, largest = population_descent(
    ...     covariance=[[1.0]], target=[1.0], start=[0.0], alpha=1.0, beta=1.0,
    ...     threshold=0.2, n_rounds=9,
    ... )
    >>> float(error[0]), n_steps, largest
    (0.125, 3, 0.875)
    """
    if beta < alpha:
        raise InvalidParameter(f"beta={beta:g} must be >= alpha={alpha:g}")
    goal = np.asarray(target)
    error = goal - np.asarray(start)
    n_steps, largest = _descend(
        np.asarray(covariance), goal, alpha, beta, float(threshold), n_rounds, lean, stretch, error
    )
    return error, int(n_steps), float(largest)
