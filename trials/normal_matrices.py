r"""Normal matrices of sets of clients, cached by membership and derived from one another.

The sum of the clients' gradients over a set S is a fixed affine map of the model,

.. math::

   -\sum_{i \in S} \nabla F_i(\theta) = b_S - G_S \theta, \qquad
   G_S = \sum_{i \in S} \frac{2}{n_i} X_i^T X_i, \qquad b_S = \sum_{i \in S} \frac{2}{n_i} X_i^T Y_i .

Summing over the data costs 4 N_S d flops each time (N_S the rows of S), the map 2 d^2 once it is
known, and finding it N_S d^2.  So a matrix is made when gradients of its set have cost about as much
as the matrix does (the rule of the rented skis: never much more than twice the best plan), and it
serves every run that has the same set, or nearly the same: the few clients by which sets differ
are added and subtracted one by one, for the gradients and for a new matrix alike.  Matrices of
unions of disjoint sets and of complements follow by adding and subtracting.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trials.experiment import FloatArray
from trials.ifca import ClientData, IntArray

BoolArray = NDArray[np.bool_]

MATRIX_BYTES = 512 * 2**20
"""What the cached matrices may hold together; at least four are kept."""

_CHUNK_ROWS = 4096
# A gradient summed over the data by a few runs is a memory-bound product; the same flops in the
# product that makes a matrix take about a third of the time.
_SLOWNESS = 3.0


class NormalMatrices:
    """The cache of one data set.

    `matrices[b]` and `vectors[b]` are G and b of the set `masks[b]`; `version` grows whenever a
    matrix is made or dropped, so that plans which refer to them know that they are stale.
    """

    def __init__(self, data: ClientData) -> None:
        d = data.dimension
        self.data = data
        self.sizes = np.diff(data.offsets).astype(np.float64)
        self.capacity = max(4, MATRIX_BYTES // (8 * d * d))
        self.masks = np.zeros((0, data.n_clients), dtype=np.bool_)
        self.matrices: list[FloatArray] = []
        self.vectors: list[FloatArray] = []
        self.used: list[int] = []
        self.spent: dict[bytes, float] = {}
        self.clock = 0
        self.version = 0
        self.n_built = 0

    def plan(self, members: BoolArray) -> tuple[IntArray, NDArray[np.int8]]:
        """For each set the cached matrix to start from (-1: none), and what it lacks (+1, -1).

        Parameters
        ----------
        members : (s, m) one set a row.

        Returns
        -------
        base : (s,) index into `matrices`; difference : (s, m) the set minus the base's.
        """
        d = self.data.dimension
        weights = members @ self.sizes
        best = 4.0 * d * weights * _SLOWNESS
        base = np.full(len(members), -1, dtype=np.int64)
        if self.matrices:
            self._add_unions(members, weights, best)
            common = (members * self.sizes) @ self.masks.T.astype(np.float64)
            apart = weights[:, None] + self.masks @ self.sizes - 2.0 * common
            costs = 2.0 * d * d + 4.0 * d * _SLOWNESS * apart
            nearest = costs.argmin(axis=1)
            cheaper = costs[np.arange(len(members)), nearest] < best
            base[cheaper] = nearest[cheaper]
            self.clock += 1
            for b in np.unique(base[cheaper]):
                self.used[b] = self.clock
        difference = members.astype(np.int8)
        held = base >= 0
        difference[held] -= self.masks[base[held]].astype(np.int8)
        return base, difference

    def rent(self, members: BoolArray, difference: NDArray[np.int8], n_left: int) -> None:
        """Note one more gradient of each set, of which `n_left` are to come; make what pays.

        `difference` is what was summed over the data, as `plan` returned it.
        """
        d = self.data.dimension
        rows = np.abs(difference) @ self.sizes
        due: dict[bytes, tuple[int, float]] = {}
        for s in np.flatnonzero(rows):
            key = np.packbits(members[s]).tobytes()
            cost = 4.0 * d * rows[s] * _SLOWNESS
            self.spent[key] = self.spent.get(key, 0.0) + cost
            due[key] = (int(s), due.get(key, (0, 0.0))[1] + cost)
        for key, (s, cost) in due.items():
            build = rows[s] * d * d
            if self.spent[key] >= build and n_left * cost >= build:
                self.make(members[s])
                del self.spent[key]

    def make(self, member: BoolArray) -> None:
        """Compute the matrix of one set from the nearest known one."""
        if len(self.masks) and (self.masks == member).all(axis=1).any():
            return
        base, difference = self.plan(member[None])
        d = self.data.dimension
        if base[0] >= 0:
            matrix, vector = self.matrices[base[0]].copy(), self.vectors[base[0]].copy()
        else:
            matrix, vector = np.zeros((d, d)), np.zeros(d)
        for sign in (1, -1):
            features, responses = self._scaled(np.flatnonzero(difference[0] == sign))
            for top in range(0, len(features), _CHUNK_ROWS):
                part = features[top : top + _CHUNK_ROWS]
                matrix += sign * (part.T @ part)  # NumPy takes the symmetric product
                vector += sign * (responses[top : top + _CHUNK_ROWS] @ part)
        self.n_built += 1
        self._keep(member, matrix, vector)

    def _scaled(self, clients: IntArray) -> tuple[FloatArray, FloatArray]:
        """Rows of the clients times the root of 2 / n_i."""
        offsets = self.data.offsets
        parts = [np.arange(offsets[i], offsets[i + 1]) for i in clients]
        rows = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
        roots = np.repeat(np.sqrt(2.0 / self.sizes[clients]), self.sizes[clients].astype(np.int64))
        return self.data.features[rows] * roots[:, None], self.data.responses[rows] * roots

    def _add_unions(self, members: BoolArray, weights: FloatArray, best: FloatArray) -> None:
        """Sums of disjoint sets and differences of nested ones, where a set is nearest to one."""
        d, q = self.data.dimension, len(self.matrices)
        known = {mask.tobytes() for mask in self.masks}
        for a in range(q):
            for b in range(q):
                first, second = self.masks[a], self.masks[b]
                if a < b and not (first & second).any():
                    mask, sign = first | second, 1
                elif a != b and not (second & ~first).any():
                    mask, sign = first & ~second, -1
                else:
                    continue
                if mask.tobytes() in known or len(self.matrices) >= self.capacity:
                    continue
                apart = weights + mask @ self.sizes - 2.0 * (members & mask) @ self.sizes
                exact = (apart == 0.0) & (weights > 0.0)
                if exact.any() and 2.0 * d * d < best[exact].max():
                    known.add(mask.tobytes())
                    self._keep(
                        mask,
                        self.matrices[a] + sign * self.matrices[b],
                        self.vectors[a] + sign * self.vectors[b],
                    )

    def _keep(self, mask: BoolArray, matrix: FloatArray, vector: FloatArray) -> None:
        """Store a matrix, in the place of the one that was used longest ago when all are taken."""
        self.version += 1
        self.clock += 1
        if len(self.matrices) < self.capacity:
            self.masks = np.concatenate([self.masks, mask[None]])
            self.matrices.append(matrix)
            self.vectors.append(vector)
            self.used.append(self.clock)
            return
        oldest = int(np.argmin(self.used))
        self.masks[oldest] = mask
        self.matrices[oldest], self.vectors[oldest] = matrix, vector
        self.used[oldest] = self.clock
