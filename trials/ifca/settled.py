r"""IFCA's runs whose labels are proved for all later steps: their last models in a few products.

While the labels stay the same, each model of a run descends a quadratic of its own.  The distance
that it can still move is bounded by its descent and the eigenvalues of its normal matrix
(`trials.ifca.gradient_polynomials.largest_move`).  A label can change only if two models of a run
together move by more than a known radius.  Where the bounds exclude this, the rest of the run is
linear, for any length.  Such a run is set aside.  All runs that were set aside are completed
together at the end, each with its own number of steps, step size and matrices.

Eigenvalues are computed for few matrices.  Those of a sum lie between the sums of their bounds
(Weyl), so neither a union of known clusters nor one with another client needs its own.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trials.checks import BoolArray, FloatArray, IntArray
from trials.ifca.gradient_polynomials import largest_move, step_polynomial, take_many_steps
from trials.ifca.normal_matrices import NormalMatrices
from trials.norms import row_lengths

_LEAST_STEPS = 64  # fewer are taken one by one
# A product that reads a matrix takes as long for one model as for some twenty.  Eigenvalues are
# computed at half the flop rate of products.  They save time if the dimension is at most this many
# times the iterations.
_ROWS_READ = 8.0
_MARGIN = 1.0 + 1e-6  # rounding of norms and their sums
_TINY = float(np.finfo(np.float64).tiny)
_LEAST_EIGENVALUE = 1e-290  # of a matrix, at most: where smaller, entries may have underflowed


class ClusterSets(NamedTuple):
    """The clients of clusters, one a row, and how `NormalMatrices.plan` writes them."""

    members: BoolArray
    terms: NDArray[np.int8]
    rest: NDArray[np.int8]

    def rows(self, part: slice) -> ClusterSets:
        """Some of the clusters."""
        return ClusterSets(self.members[part], self.terms[part], self.rest[part])


@dataclass(frozen=True, kw_only=True)
class _Model:
    """A model set aside: run, cluster, descent, and the matrices and polynomial of its steps."""

    run: int
    cluster: int
    descent: FloatArray
    terms: list[tuple[float, FloatArray]]
    interval: tuple[float, float]
    polynomial: FloatArray


class SettledRuns:
    """The runs that are set aside.

    Parameters
    ----------
    matrices : the cache that the runs' gradients come from.
    scales : (R, k) step sizes over the number of clients.
    divergence_bound : norm that no model may exceed on its way.
    """

    def __init__(
        self, matrices: NormalMatrices, scales: FloatArray, divergence_bound: float
    ) -> None:
        self.matrices, self.scales, self.divergence_bound = matrices, scales, divergence_bound
        self.aside: list[_Model] = []
        self.held: dict[int, FloatArray] = {}  # by id, so that the cache may drop them

    def take(
        self,
        going: IntArray,
        models: FloatArray,
        descents: FloatArray,
        sets: ClusterSets,
        moved: FloatArray,
        radius: FloatArray,
        n_left: int,
    ) -> BoolArray:
        """Set aside the runs that can be completed in one go, and return their mask.

        Parameters
        ----------
        going : (r,) numbers of the runs.
        models, descents : (r k, d), before the first of the `n_left` steps.
        sets : the clusters that made the descents, r k of them.
        moved : (r, k) distances of the models from the place where all labels were proved.
        radius : (r,) no label changes while any two models of the run have together moved by less
            than this from that place.
        """
        (n_runs, k), d = moved.shape, models.shape[1]
        settled = np.zeros(n_runs, dtype=np.bool_)
        if n_left < _LEAST_STEPS or d > _ROWS_READ * n_left:
            return settled
        lengths = np.empty((n_runs, k))
        row_lengths(descents, lengths.reshape(-1))
        next_step = self.scales[going] * lengths
        for pos in np.flatnonzero(two_largest(moved + next_step) < radius):
            part = slice(pos * k, (pos + 1) * k)
            run, here = int(going[pos]), sets.rows(part)
            intervals = self._prove(
                run, models[part], here, moved[pos], lengths[pos], radius[pos], n_left
            )
            settled[pos] = intervals is not None and self._set_aside(
                run, descents[part], here, intervals, n_left
            )
        return settled

    def _prove(
        self,
        run: int,
        models: FloatArray,
        sets: ClusterSets,
        moved: FloatArray,
        lengths: FloatArray,
        radius: float,
        n_left: int,
    ) -> dict[int, tuple[float, float]] | None:
        """Eigenvalue bounds by cluster of those that move, if they prove a run's labels (m,)."""
        ways, intervals = moved.copy(), {}
        for j in np.flatnonzero(lengths):
            most = 2.0 / self.scales[run, j]
            low, high = intervals[int(j)] = self._interval(sets.terms[j], sets.rest[j], most)
            if not low < high <= most or high < _LEAST_EIGENVALUE:
                return None
            ways[j] += lengths[j] * largest_move((low, high), self.scales[run, j], n_left)
            if not (np.linalg.norm(models[j]) + ways[j]) * _MARGIN <= self.divergence_bound:
                return None
        if not two_largest(ways) * _MARGIN < radius or not self._knows(sets, intervals):
            return None
        return intervals

    def _interval(
        self, signs: NDArray[np.int8], rest: NDArray[np.int8], most: float
    ) -> tuple[float, float]:
        """Bounds of the eigenvalues of a sum, or a guess while it is not one of known matrices."""
        low = high = 0.0
        for b in np.flatnonzero(signs):
            bounds = self.matrices.interval(int(b), most)
            low, high = low + signs[b] * bounds[0], high + signs[b] * bounds[1]
        if (signs < 0).any() or rest.any():
            return max(low, 0.0), max(high, 2.0 * low, _TINY)
        return low, high

    def _knows(self, sets: ClusterSets, clusters: Collection[int]) -> bool:
        """Whether the normal matrices of all sets are sums of known matrices.

        A matrix that is missing is made, for the next iteration.
        """
        unknown = [j for j in clusters if sets.rest[j].any() or (sets.terms[j] < 0).any()]
        if len(self.matrices.matrices) + len(unknown) <= self.matrices.capacity:
            for j in unknown:
                self.matrices.make(sets.members[j])
        return not unknown

    def _set_aside(
        self,
        run: int,
        descents: FloatArray,
        sets: ClusterSets,
        intervals: dict[int, tuple[float, float]],
        n_left: int,
    ) -> bool:
        """Keep the numbers from which the run's last models follow.

        Nothing is kept if that would save too little.
        """
        models, held = [], dict(self.held)
        for j, interval in intervals.items():
            polynomial = step_polynomial(interval, self.scales[run, j], n_left, n_left // 2)
            if polynomial is None:
                return False
            known = np.flatnonzero(sets.terms[j])
            terms = [(float(sets.terms[j, b]), self.matrices.matrices[b]) for b in known]
            held |= {id(matrix): matrix for _, matrix in terms}
            model = _Model(
                run=run, cluster=j, descent=descents[j].copy(), terms=terms,
                interval=interval, polynomial=polynomial,
            )  # fmt: skip
            models.append(model)
        if len(held) > self.matrices.capacity:
            return False
        self.held = held
        self.aside += models
        return True

    def finish(self, models: FloatArray) -> None:
        """Bring those of `models` (R, k, d) that were set aside to their last step, in place."""
        if not self.aside:
            return
        aside = sorted(self.aside, key=lambda model: -len(model.polynomial))
        rows: dict[int, list[int]] = {}
        signs: dict[int, list[float]] = {}
        for row, model in enumerate(aside):
            for sign, matrix in model.terms:
                rows.setdefault(id(matrix), []).append(row)
                signs.setdefault(id(matrix), []).append(sign)
        terms = [
            (self.held[key], np.array(own), np.array(signs[key])[:, None])
            for key, own in rows.items()
        ]

        def product(x: FloatArray) -> FloatArray:
            y = np.zeros_like(x)
            for matrix, own, sign in terms:
                n_first = np.searchsorted(own, len(x))
                if n_first:
                    y[own[:n_first]] += sign[:n_first] * (x[own[:n_first]] @ matrix)
            return y

        moves = take_many_steps(
            product,
            np.stack([model.descent for model in aside]),
            np.array([model.interval for model in aside]),
            [model.polynomial for model in aside],
        )
        for model, move in zip(aside, moves, strict=True):
            models[model.run, model.cluster] += move


def two_largest(lengths: FloatArray) -> FloatArray:
    """Sum of the two largest of the last axis (r, k), or the only one, (r,)."""
    return np.asarray(np.sort(lengths, axis=-1)[..., -2:].sum(axis=-1))
