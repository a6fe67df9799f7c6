r"""The exact law of projected SGD on a quadratic function of one variable with fair sign noise.

:math:`f(\theta)=\frac\mu2\theta^2` on :math:`|\theta|\le R=\sigma/(q\mu)`, stochastic gradient
:math:`\mu\theta+\sigma s` with a fair sign s, step :math:`1/(\mu t)`:

.. math:: t\,\theta^{t+1}=\Pi_{tR}\bigl((t-1)\theta^t-\tfrac\sigma\mu s_t\bigr).

In units of R the number :math:`y_t=(t-1)\theta^t/R` is a walk on the integers that starts at zero,
steps by q or -q and is clipped to :math:`|y_{t+1}|\le t`.  The start :math:`\theta^1` does not
matter.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from trials.checks import FloatArray, InvalidParameter
from trials.parameters import Array, Integer, validated

MAX_STEPS = 1 << 14


@lru_cache(maxsize=64)
def _walks(q: int, times: tuple[int, ...]) -> tuple[FloatArray, ...]:
    """The law of y_t at each of the ascending times, (2t - 1,) on -(t-1)..t-1."""
    found = []
    law = np.ones(1)
    for t in range(1, times[-1] + 1):
        if t in times:
            law.setflags(write=False)  # the same arrays are given to every caller
            found.append(law)
        wide = np.zeros(law.size + 2 * q)  # y_{t+1} before clipping, from -(t-1)-q on
        half = law / 2
        wide[: law.size] = half
        wide[2 * q :] += half
        beyond = q - 1  # places outside -t..t at either end
        clipped = wide[beyond : wide.size - beyond]
        clipped[0] += wide[:beyond].sum()
        clipped[-1] += wide[wide.size - beyond :].sum()
        law = clipped
    return tuple(found)


@validated(q=Integer(1, MAX_STEPS), times=Array(("t",), low=2, high=MAX_STEPS, whole=True))
def positions(q: int, times: ArrayLike) -> list[tuple[FloatArray, FloatArray]]:
    """Outcomes of theta^t / R and their probabilities, at each of the ascending times t >= 2.

    Parameters
    ----------
    q : noise over curvature, in units of R.
    times : ascending, from 2 to 2**14.

    Examples
    --------
    >>> (values, weights), = positions(1, (3,))
    >>> values.tolist(), weights.tolist()
    ([-1.0, -0.5, 0.0, 0.5, 1.0], [0.25, 0.0, 0.5, 0.0, 0.25])
    """
    steps = tuple(int(t) for t in np.asarray(times))
    if any(later <= earlier for earlier, later in pairwise(steps)):
        raise InvalidParameter(f"times={steps} must ascend")
    return [
        (np.arange(-(t - 1), t) / (t - 1), law)
        for t, law in zip(steps, _walks(q, steps), strict=True)
    ]
