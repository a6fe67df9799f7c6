r"""IFCA with model averaging on squared losses, from the users' Gram matrices.

A user's loss is :math:`\frac12\theta^\top G_i\theta-b_i^\top\theta` up to a constant, so that tau
gradient steps are one affine map,
:math:`\theta\mapsto A_i\theta+c_i`, :math:`A_i=(I-\gamma G_i)^\tau`.
A round costs m K d^2 multiplications for the labels, whatever the number of samples.  While no
label changes, the sums of the maps of the round before serve again.  `trials.ifca.options` runs the
same algorithm on the samples.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trials.checks import FloatArray, InvalidParameter
from trials.kernel import kernel
from trials.parameters import Array, Integer, Real, validated


@kernel
def _rounds(
    grams: FloatArray,
    moments: FloatArray,
    maps: FloatArray,
    shifts: FloatArray,
    optima: FloatArray,
    models: FloatArray,
    goal: float,
    least: int,
    errors: FloatArray,
) -> int:
    """Iterate. ``errors`` (T + 1,) receives the mean normalised squared error of the users' models.

    Stops once at least ``least`` rounds were made and the goal was reached.  Returns how many
    errors are set.

    ``grams``, ``maps`` (m, d, d), ``moments``, ``shifts``, ``optima`` (m, d); ``models`` (K, d) is
    overwritten.
    """
    m, d = moments.shape
    k = models.shape[0]
    labels, own = np.full(m, -1, np.int64), np.empty(m, np.int64)
    products = np.empty(d)
    sums, offsets, images = np.empty((k, d, d)), np.empty((k, d)), np.empty(d)
    counts = np.empty(k, np.int64)
    reached = False
    for t in range(errors.size):
        total = 0.0
        for i in range(m):
            best, smallest = 0, np.inf
            for j in range(k if k > 1 else 0):
                products[:] = 0.0
                for b in range(d):
                    for a in range(d):
                        products[a] += grams[i, b, a] * models[j, b]
                loss = 0.0
                for a in range(d):
                    loss += models[j, a] * (0.5 * products[a] - moments[i, a])
                if loss < smallest:
                    best, smallest = j, loss
            own[i] = best
            distance, length = 0.0, 0.0
            for a in range(d):
                distance += (models[best, a] - optima[i, a]) ** 2
                length += optima[i, a] ** 2
            total += distance / length
        errors[t] = total / m
        reached = reached or errors[t] <= goal
        if reached and t >= least:
            return t + 1
        if (own != labels).any():
            sums[:], offsets[:], counts[:] = 0.0, 0.0, 0
            for i in range(m):
                j = own[i]
                labels[i] = j
                counts[j] += 1
                for a in range(d):
                    offsets[j, a] += shifts[i, a]
                    for b in range(d):
                        sums[j, a, b] += maps[i, a, b]
        for j in range(k):
            if counts[j] > 0:
                for a in range(d):
                    images[a] = offsets[j, a]
                    for b in range(d):
                        images[a] += sums[j, a, b] * models[j, b]
                for a in range(d):
                    models[j, a] = images[a] / counts[j]
    return int(errors.size)


class LocalMaps(NamedTuple):
    """The affine maps of users' gradient steps: ``maps`` (m, d, d) A and ``shifts`` (m, d) c."""

    maps: FloatArray
    shifts: FloatArray

    @classmethod
    def of_steps(
        cls, grams: FloatArray, moments: FloatArray, step: float, local_steps: int
    ) -> LocalMaps:
        """The maps of ``local_steps`` >= 1 gradient steps, by repeated squaring.

        ``grams`` (m, d, d), ``moments`` (m, d) and ``step`` as in `quadratic_rounds`.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            one = done = cls(np.eye(moments.shape[1]) - step * grams, step * moments)
            for digit in f"{local_steps:b}"[1:]:
                done = done.then(done)
                if digit == "1":
                    done = done.then(one)
        return done

    def then(self, other: LocalMaps) -> LocalMaps:
        """These maps, and the other ones after them."""
        moved = (other.maps @ self.shifts[:, :, None])[:, :, 0]
        return LocalMaps(other.maps @ self.maps, moved + other.shifts)

    def run(
        self,
        grams: FloatArray,
        moments: FloatArray,
        optima: FloatArray,
        start: FloatArray,
        n_rounds: int,
        goal: float = 0.0,
        least: int = 0,
    ) -> FloatArray:
        """`quadratic_rounds` with these maps, which several starts may share, unchecked."""
        errors = np.empty(n_rounds + 1)
        n_set = _rounds(
            np.ascontiguousarray(grams),
            np.ascontiguousarray(moments),
            np.ascontiguousarray(self.maps),
            np.ascontiguousarray(self.shifts),
            np.ascontiguousarray(optima),
            np.array(start, dtype=np.float64),
            goal,
            least,
            errors,
        )
        errors[np.isnan(errors)] = np.inf
        return errors[:n_set]


@validated(
    grams=Array(("m", "d", "d")),
    moments=Array(("m", "d")),
    optima=Array(("m", "d")),
    start=Array(("k", "d")),
    step=Real(0.0, 1e6, open_low=True),
    local_steps=Integer(1, 10**4),
    n_rounds=Integer(0, 10**5),
    goal=Real(0.0),
    least=Integer(0),
)
def quadratic_rounds(
    grams: FloatArray,
    moments: FloatArray,
    optima: FloatArray,
    start: FloatArray,
    step: float,
    local_steps: int,
    n_rounds: int,
    goal: float = 0.0,
    least: int = 0,
) -> FloatArray:
    """Run IFCA with model averaging and return the users' mean normalised squared error.

    Parameters
    ----------
    grams : (m, d, d) Hessians of the users' losses.
    moments : (m, d) minus their gradients at zero.
    optima : (m, d) the optimum of each user's cluster.
    start : (K, d) models.
    step, local_steps : of the gradient steps in a round.
    n_rounds : T.
    goal, least : rounds end early once ``least`` of them were made and the error is at most
        ``goal``.

    Returns
    -------
    (T + 1,) or fewer errors, before each round and after the last one.  The user's model is that
    of the cluster which it would choose.  Models beyond the range of floats have infinite errors.

    Raises
    ------
    InvalidParameter : Shapes that do not fit, entries that are not finite, an optimum of length
        zero.

    Notes
    -----
    A model that no user chooses stays as it is.
    """
    if not (optima**2).sum(axis=1).min() > 0.0:
        raise InvalidParameter("optima must hold no zero vector: errors are relative to them")
    maps = LocalMaps.of_steps(grams, moments, step, local_steps)
    return maps.run(grams, moments, optima, start, n_rounds, goal, least)
