r"""The operator norm of a moment matrix minus its expectation.

The matrices are :math:`\frac1P\sum_pw_pa_pb_p^\top-\sum_jp_jv_jv_j^\top`.  Golub and Kahan's
bidiagonalisation needs two products with a vector a step.  The moment matrix is formed only where
there are no more dimensions than pairs.
"""

from __future__ import annotations

import numpy as np

from trials.checks import FloatArray
from trials.parameters import Array, Integer, Stream, validated

#: Products of three entries, squared, stay within the range of floats.
_LARGEST = 1e40


@validated(
    first=Array(("P", "d"), low=-_LARGEST, high=_LARGEST),
    second=Array(("P", "d"), low=-_LARGEST, high=_LARGEST),
    weights=Array(("P",), low=-_LARGEST, high=_LARGEST),
    images=Array(("k", "d"), low=-_LARGEST, high=_LARGEST),
    shares=Array(("k",), low=0.0, high=_LARGEST),
    rng=Stream(),
    n_steps=Integer(1),
)
def deviation_norm(
    first: FloatArray,
    second: FloatArray,
    weights: FloatArray,
    images: FloatArray,
    shares: FloatArray,
    rng: np.random.Generator,
    n_steps: int = 30,
) -> float:
    """The largest singular value of the moment matrix minus the expected one.

    Parameters
    ----------
    first, second : (P, d) the vectors a and b.
    weights : (P,) w.
    images, shares : (k, d) v and (k,) p of the expectation.
    rng : for the random start.
    n_steps : steps at most; d of them are exact.

    Returns
    -------
    A lower limit.  After 30 steps it is exact to a per mille for the spectra of sample moments.

    Raises
    ------
    InvalidParameter : arrays that do not fit together.

    Examples
    --------
    >>> found = deviation_norm(
    ...     np.eye(2), np.eye(2), np.array([4.0, 2.0]), np.array([[1.0, 0.0]]), np.array([0.5]),
    ...     np.random.default_rng(0),
    ... )  # diag(2, 1) - diag(1/2, 0)
    >>> round(found, 12)
    1.5
    """
    n_pairs, d = first.shape
    # One product of the data costs less than two readings of them a step.
    formed = (first * (weights / n_pairs)[:, None]).T @ second if d <= n_pairs else None

    def apply(x: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
        if formed is not None:
            moment = formed @ x if a is first else x @ formed
        else:
            moment = a.T @ (weights * (b @ x)) / n_pairs
        return np.asarray(moment - images.T @ (shares * (images @ x)))

    steps = min(n_steps, d)
    left, right = np.zeros((steps, d)), np.zeros((steps, d))
    matrix = np.zeros((steps, steps))
    start = rng.standard_normal(d)
    current: FloatArray = np.asarray(start / np.linalg.norm(start))
    for i in range(steps):
        right[i] = current
        image = apply(current, first, second)
        if i:
            image -= matrix[i - 1, i] * left[i - 1]
        image -= left[:i].T @ (left[:i] @ image)  # rounding turns the basis
        matrix[i, i] = np.linalg.norm(image)
        if matrix[i, i] == 0.0:
            break
        left[i] = image / matrix[i, i]
        if i + 1 == steps:
            break
        back = apply(left[i], second, first) - matrix[i, i] * current
        back -= right[: i + 1].T @ (right[: i + 1] @ back)
        matrix[i, i + 1] = np.linalg.norm(back)
        if matrix[i, i + 1] <= 1e-14 * matrix[0, 0]:
            break
        current = back / matrix[i, i + 1]
    return float(np.linalg.norm(matrix, 2))
