r"""Normal matrices of sets of clients, cached by membership and derived from one another.

The sum of the clients' gradients over a set S is a fixed affine map of the model,

.. math::

   -\sum_{i \in S} \nabla F_i(\theta) = b_S - G_S \theta, \qquad
   G_S = \sum_{i \in S} \frac{2}{n_i} X_i^T X_i, \qquad
   b_S = \sum_{i \in S} \frac{2}{n_i} X_i^T Y_i .

Let N_S be the number of rows of S.  A sum over the data costs 4 N_S d flops each time.  The affine
map costs 2 d^2 flops once it is known, and N_S d^2 flops to find.  A matrix is therefore made when
the time that it would have saved so far is about the time that it takes.  By this rule (known from
the ski rental problem) the total is never much more than twice that of the best plan.

Every run that has the same set, or nearly the same, uses the matrix.  The few clients by which two
sets differ are added and subtracted one by one, for the gradients and for a new matrix alike.  A
union of disjoint sets, or a complement, needs no matrix of its own.  Any set is written as a signed
sum of known sets and a remainder, so that few matrices are enough for many sets, each in one
product.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk

from trials.checks import BoolArray, FloatArray, IntArray
from trials.models.clients import ClientData

MATRIX_BYTES = 512 * 2**20
"""Largest memory of all cached matrices, of which at least four are kept in any case."""

_CHUNK_ROWS = 1024
_MIRROR = 128
_MOST_TERMS = 6
# A gradient summed over the data by a few runs is a memory-bound product.  The same flops in the
# product that makes a matrix take about a third of the time.
_SLOWNESS = 3.0
# Largest rounding error of a signed sum, relative to that of the clients' own sum.  Where clients
# differ by orders of magnitude, a subtraction may cancel all correct digits.
_LOSS = 64.0
_FINITE = 1e300
_LEAST_PART = 0.25  # of a set that gets a matrix before the budget pays for all of it
_ULP = float(np.finfo(np.float64).eps)


class NormalMatrices:
    """The cache of one data set.

    Parameters
    ----------
    data : the clients.
    norms : (m,) upper bounds of the operator norms of their features.

    Notes
    -----
    `matrices[b]` and `vectors[b]` are G and b of the set `masks[b]`.  The rounding errors of both
    are proportional to `spreads[b]`.  `version` grows whenever a matrix is made or dropped, so that
    an older plan can be recognised.  No matrix is kept of data whose squares might overflow.
    """

    def __init__(self, data: ClientData, norms: FloatArray) -> None:
        d = data.dimension
        self.data = data
        self.sizes = np.diff(data.offsets).astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            responses = np.sqrt(np.add.reduceat(data.responses**2, data.offsets[:-1]))
            self.largest = norms * (norms * (2.0 / self.sizes))  # eigenvalue of a client, at most
            pulls = norms * (responses * (2.0 / self.sizes))
            self.weights = np.stack([self.largest, pulls], axis=1)  # of a client in G and b
            finite = (self.weights.sum(axis=0) < _FINITE).all()
        self.capacity = max(4, MATRIX_BYTES // (8 * d * d)) if finite else 0
        self.masks: BoolArray = np.zeros((0, data.n_clients), dtype=np.bool_)
        self.spreads: FloatArray = np.zeros((0, 2))
        self.matrices: list[FloatArray] = []
        self.vectors: list[FloatArray] = []
        self.intervals: list[tuple[float, float] | None] = []
        self.exact: list[bool] = []
        self.used: list[int] = []
        self.price = 2.0 * d / (4.0 * _SLOWNESS)  # of a product, in rows summed over the data
        self.waited = 0.0
        self.previous: BoolArray | None = None
        self.clock = 0
        self.version = 0
        self.n_built = 0
        self.row_price = 0.47 * d  # of a row in a matrix, in products of a row with a model
        self.copy_price, self.eigenvalue_price = 0.25 * d**2, 2.0 * d**2
        self.work = 0.0
        self.latest: int = 0
        self.part: int | None = None  # the matrix that grows

    def plan(
        self, members: BoolArray, loss: float = _LOSS
    ) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """Write each set as a signed sum of cached sets, as far as that saves time, and a
        remainder.

        The choice is greedy: the cached set whose addition or subtraction saves most is taken next.

        Parameters
        ----------
        members : (s, m) one set a row.
        loss : bound on the rounding errors of each cached matrix, relative to those of the clients'
            sum.

        Returns
        -------
        terms : (s, q) signs of the cached matrices, and rest : (s, m) the remainder, mostly in {-1,
        0, 1}, such that ``members = terms @ masks + rest``.
        """
        q = len(self.matrices)
        rest = members.astype(np.int8)
        terms = np.zeros((len(members), q), dtype=np.int8)
        if not q:
            return terms, rest
        masks = self.masks.astype(np.int8)
        weighted = self.masks * self.sizes
        lost = ~self._precise(members, loss)
        open_rows = np.arange(len(members))
        for _ in range(_MOST_TERMS):
            here = rest[open_rows]
            # what |rest| loses on each set when it is subtracted once (or, second, added once)
            gains = np.stack([_gain(here) @ weighted.T, _gain(-here) @ weighted.T], axis=2)
            gains[lost[open_rows]] = -np.inf
            flat = gains.reshape(len(open_rows), -1)
            best = flat.argmax(axis=1)
            pays = flat[np.arange(len(open_rows)), best] > self.price
            open_rows, best = open_rows[pays], best[pays]
            if not open_rows.size:
                break
            term, sign = best // 2, np.where(best % 2 == 0, 1, -1).astype(np.int8)
            terms[open_rows, term] += sign
            rest[open_rows] -= sign[:, None] * masks[term]
        self.clock += 1
        for b in np.flatnonzero(terms.any(axis=0)):
            self.used[b] = self.clock
        return terms, rest

    def precise(self, members: BoolArray, terms: NDArray[np.int8]) -> BoolArray:
        """Whether the `terms` of a plan may still be used after the sets have become `members`.

        Returns (s,) answers.  The remainder that belongs to the terms makes the sum right in any
        case, but rounding errors of the matrices may be too large for sets that have lost clients.
        """
        return np.asarray((self._precise(members, _LOSS) | (terms == 0)).all(axis=1))

    def _precise(self, members: BoolArray, loss: float) -> BoolArray:
        """(s, q) whether each cached matrix is precise enough for each set, as in `plan`."""
        most = loss * np.asarray(members @ self.weights)
        return np.asarray((self.spreads <= most[:, None]).all(axis=2))

    def note_gradients(
        self,
        members: BoolArray,
        rest: NDArray[np.int8],
        n_left: int,
        budget: float = np.inf,
    ) -> None:
        """Note one more gradient of each set (s, m), and make the matrices that will save time.

        `n_left` is the number of gradients of each set that are still to come.  `plan` returned
        `rest`, the part that was summed over the data.  Every set is a candidate for a matrix.  Its
        cost of waiting grows in each iteration by the time that its matrix would have saved.  The
        saving yet to come is estimated from the share of it that the sets of the last iteration
        would have had: many runs that hold a set twice in a row are likely to keep it.

        No more than the `budget` is spent, in products of a row with a model.  Where it falls short
        of a set, a part of the set gets a matrix, which grows in later iterations.
        """
        previous, self.previous = self.previous, members.copy()
        if previous is None or previous.shape != members.shape:
            previous = np.zeros_like(members)
        noted = False
        while self.capacity and rest.any():
            rows = np.abs(rest) @ self.sizes
            summed = np.flatnonzero(rows)
            _, first = np.unique(np.packbits(members[summed], axis=1), axis=0, return_index=True)
            candidates = summed[first]
            saves = self._saved_rows(rows[summed], members[summed], members[candidates])
            best = int(saves.sum(axis=0).argmax())
            candidate, saves = candidates[best], saves[:, best]
            total = float(saves.sum())
            saved = total * 4.0 * self.data.dimension * _SLOWNESS
            self.waited += 0.0 if noted else saved
            noted = True
            before = self._saved_rows(rows[summed], previous[summed], members[[candidate]])[:, 0]
            kept = float(np.minimum(saves, before).sum()) / max(total, 1e-300)
            n_sets = np.count_nonzero(saves)
            lasting = 1.0 / (1.0 - kept * n_sets / (n_sets + 1.0))  # Laplace's rule of succession
            cost = rows[candidate] * self.data.dimension**2
            if n_left * saved < cost or max(self.waited, lasting * saved) < cost:
                return
            member, share = self._affordable(members[candidate], rest[candidate], budget)
            if not share:
                return
            full = len(self.matrices) == self.capacity
            spent = self.work
            made = self.make(member)
            budget -= self.work - spent
            self.waited *= 1.0 - share
            if share < 1.0:
                self.part = self.latest
            # At most once an iteration where a dropped one may be needed again.
            if full or not made or share < 1.0:
                return
            _, rest = self.plan(members)

    def _affordable(
        self, member: BoolArray, rest: NDArray[np.int8], budget: float
    ) -> tuple[BoolArray, float]:
        """The part of a set (m,) whose matrix the budget pays for, and its share of the work.

        The share is 0 where the budget is too small to begin.
        """
        lacking = np.flatnonzero(rest)
        sizes = self.sizes[lacking] * np.abs(rest[lacking])
        rows = np.cumsum(sizes)
        n_paid = int(
            np.searchsorted(rows, (budget - self.copy_price) / self.row_price, side="right")
        )
        if n_paid == len(lacking):
            return member, 1.0
        if not n_paid or rows[n_paid - 1] < max(_LEAST_PART * rows[-1], 2.0 * self.price):
            return member, 0.0
        part, unpaid = member.copy(), lacking[n_paid:]
        part[unpaid] = member[unpaid] - rest[unpaid] > 0  # as the known terms have them
        return part, float(rows[n_paid - 1] / rows[-1])

    def _saved_rows(
        self, rows: FloatArray, members: BoolArray, candidates: BoolArray
    ) -> FloatArray:
        """(s, c) numbers of rows that each candidate matrix would save each set.

        The rows are counted among the `rows` that are summed over the data.
        """
        weighted = members * self.sizes
        apart = weighted.sum(axis=1)[:, None] + candidates @ self.sizes
        apart -= 2.0 * (weighted @ candidates.T)
        return np.asarray(np.maximum(rows[:, None] - apart - self.price, 0.0))

    def make(self, member: BoolArray) -> bool:
        """The matrix (d, d) of one set from the known ones and from the rows that they lack.

        Returns false if it is known.
        """
        if len(self.masks) and (self.masks == member).all(axis=1).any():
            return False
        # terms and remainder so precise that the sum is as well: 2 * _MOST_TERMS + 1 such parts
        terms, rest = self.plan(member[None], _LOSS / (2 * _MOST_TERMS + 1))
        spread = np.abs(terms[0]) @ self.spreads + np.abs(rest[0]) @ self.weights
        d = self.data.dimension
        matrix, vector = np.zeros((d, d), order="F"), np.zeros(d)
        for b in np.flatnonzero(terms[0]):
            matrix += terms[0, b] * self.matrices[b].T
            vector += terms[0, b] * self.vectors[b]
        for times in np.unique(rest[0][rest[0] != 0]):
            for features, responses in self._scale_rows(np.flatnonzero(rest[0] == times)):
                matrix = dsyrk(times, features.T, beta=1.0, c=matrix, lower=True, overwrite_c=True)
                vector += times * (responses @ features)
        for top in range(0, d, _MIRROR):  # only the lower triangle is right as yet
            part = matrix[top : top + _MIRROR]
            matrix[:top, top : top + _MIRROR] = part[:, :top].T
            square = part[:, top : top + _MIRROR]
            square[:] = np.tril(square) + np.tril(square, -1).T
        self.n_built += 1
        self.work += self.copy_price
        self.work += self.row_price * float(np.abs(rest[0]) @ self.sizes)
        self._keep(member, matrix.T, vector, spread, self._estimate(terms[0], rest[0], spread[0]))
        return True

    def interval(self, b: int, most: float = np.inf) -> tuple[float, float]:
        """Bounds of the eigenvalues of matrix `b`, rounding allowed for.

        Bounds that follow from another matrix are used where the upper one is at most `most`.
        Otherwise they are computed once, with 4/3 d^3 flops.
        """
        known = self.intervals[b]
        if known is None or (known[1] > most and not self.exact[b]):
            eigenvalues = np.linalg.eigvalsh(self.matrices[b])
            self.work += self.eigenvalue_price
            doubt = 8.0 * len(eigenvalues) * _ULP * eigenvalues[-1]
            low, high = max(eigenvalues[0] - doubt, 0.0), eigenvalues[-1] + doubt
            known = self.intervals[b] = float(low), float(high)
            self.exact[b] = True
        return known

    def _estimate(
        self, terms: NDArray[np.int8], rest: NDArray[np.int8], spread: float
    ) -> tuple[float, float] | None:
        """Bounds for a signed sum of known matrices and of clients (Weyl's inequalities)."""
        high = 8.0 * self.data.dimension * _ULP * spread
        low = -high
        for b in np.flatnonzero(terms):
            known = self.intervals[b]
            if known is None:
                return None
            low += terms[b] * known[0 if terms[b] > 0 else 1]
            high += terms[b] * known[1 if terms[b] > 0 else 0]
        low += float(self.largest[rest < 0] @ rest[rest < 0])
        high += float(self.largest[rest > 0] @ rest[rest > 0])
        return max(low, 0.0), high

    def _scale_rows(self, clients: IntArray) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Rows of the clients times the root of 2 / n_i, some at a time in the same memory."""
        offsets, features, responses = self.data.offsets, self.data.features, self.data.responses
        parts = [
            (i, top, min(top + _CHUNK_ROWS, offsets[i + 1]))
            for i in clients
            for top in range(offsets[i], offsets[i + 1], _CHUNK_ROWS)
        ]
        rows, values = np.empty((_CHUNK_ROWS, self.data.dimension)), np.empty(_CHUNK_ROWS)
        filled = 0
        for i, top, end in parts:
            if filled + end - top > _CHUNK_ROWS:
                yield rows[:filled], values[:filled]
                filled = 0
            here, root = slice(filled, filled + end - top), np.sqrt(2.0 / self.sizes[i])
            np.multiply(features[top:end], root, out=rows[here])
            np.multiply(responses[top:end], root, out=values[here])
            filled = here.stop
        if filled:
            yield rows[:filled], values[:filled]

    def _keep(
        self,
        mask: BoolArray,
        matrix: FloatArray,
        vector: FloatArray,
        spread: FloatArray,
        interval: tuple[float, float] | None,
    ) -> None:
        """Store a matrix (d, d): in the place of a part that has grown to it, or of the one used
        longest ago when all are taken.
        """
        self.version += 1
        self.clock += 1
        grows = self.part is not None and not (self.masks[self.part] & ~mask).any()
        if len(self.matrices) < self.capacity and not grows:
            self.masks = np.concatenate([self.masks, mask[None]])
            self.spreads = np.concatenate([self.spreads, spread[None]])
            self.matrices.append(matrix)
            self.vectors.append(vector)
            self.intervals.append(interval)
            self.exact.append(False)
            self.used.append(self.clock)
            self.latest = len(self.matrices) - 1
            return
        slot = self.part if grows and self.part is not None else int(np.argmin(self.used))
        if slot == self.part:
            self.part = None
        self.masks[slot], self.spreads[slot] = mask, spread
        self.matrices[slot], self.vectors[slot] = matrix, vector
        self.intervals[slot], self.exact[slot] = interval, False
        self.used[slot] = self.clock
        self.latest = slot


def _gain(rest: NDArray[np.int8]) -> FloatArray:
    """|rest| - |rest - 1|, (m,): the saving on each client when a set is subtracted."""
    return np.where(rest > 0, 1.0, -1.0)
