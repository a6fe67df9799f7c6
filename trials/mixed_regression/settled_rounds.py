r"""Rounds of Phase 2 once few labels change, without a reading of all data.

While the labels stay the same, the sums of (11) are linear in the models,

.. math:: \sum_{i\in I_j}X_i^\top P_i(y_i-X_i\theta_j)=g_j-H_j(\theta_j-c_j),\qquad
   H_j=\sum_{i\in I_j}X_i^\top P_iX_i,

where g_j is the sum at the model c_j of an earlier round.  A round then takes k d^2 flops for any
number of clients.  A client that changes its label leaves one sum and enters another.

**Labels.**  The residual norm of client i at a model changes by at most ``|X_i|`` times the way of
the model.  So a client keeps its label while the two models that move most have together moved by
less than its margin over ``|X_i|`` (Hamerly's bound for k-means).  Rounding errors are taken off
the margin.  Only the other clients compute their losses again.

**Rounding.**  A subtraction loses digits where a large client leaves a sum of small ones.  Bounds
of the sums' rounding errors are kept, and the sums are formed again before the loss matters.
"""

from __future__ import annotations

import numpy as np

from trials.checks import FloatArray, IntArray
from trials.mixed_regression.fed_regression_kernels import SpectraArrays
from trials.mixed_regression.settled_kernels import (
    ClusterSums,
    Proofs,
    add_all,
    add_client,
    evaluate,
    relabel,
    way,
)
from trials.models.clients import ClientArrays

_ULP = float(np.finfo(np.float64).eps)

_CHANGING = 8
"""Sums are used while at most one client of this many changes its label in a round."""

_MOST_BUILDS = 3

_LOSS = 64.0
"""Largest rounding error of a sum, in units of the rounding error of its own clients' sum."""

_FEW_FLOATS = 2**26


class SettledRounds:
    """The sums of one run, formed once few labels change and where they save time.

    Parameters
    ----------
    data : the rows.
    spectra : the decomposed Gram matrices.
    factors : P's eigenvalues, in the order of ``spectra.values``.
    largest : (M,) ``|X_i|^2 / n_i``.
    shape : (k, d) of the models.
    n_rounds : rounds of the run.

    Attributes
    ----------
    n_builds, n_evaluated : how often the sums were formed, and how many clients computed their
        losses since.
    """

    def __init__(
        self,
        data: ClientArrays,
        spectra: SpectraArrays,
        factors: FloatArray,
        largest: FloatArray,
        shape: tuple[int, int],
        n_rounds: int,
    ) -> None:
        self.data, self.spectra, self.factors = data, spectra, factors
        self.k, self.d = shape
        self.sizes = np.diff(data.offsets)
        self.orders = np.minimum(self.sizes, self.d)
        self.lengths = np.sqrt(largest * self.sizes)
        self.rounds_left, self.n_builds, self.n_evaluated = n_rounds, 0, 0
        self.ready = False
        self.walked = 0.0
        self.last: FloatArray = np.empty(shape)
        self.changed: IntArray = np.empty(len(self.sizes), dtype=np.int64)
        self.before: IntArray = np.empty(len(self.sizes), dtype=np.int64)

    def descent(self, models: FloatArray, labels: IntArray) -> FloatArray | None:
        """The sums (k, d) of (11) with the labels (8), or None where they are not ready.

        `labels` holds those of the round before and is updated.
        """
        self.rounds_left -= 1
        if not self.ready:
            return None
        self.walked += way(models, self.last) * (1.0 + 1e-9)
        self.last = models
        n_changed = self._relabel(models, labels)
        if n_changed * _CHANGING > labels.size:
            self.ready = False
        elif n_changed:
            self._move(self.changed[:n_changed], self.before[:n_changed], labels)
        if not self.ready:
            return None
        descent = np.empty_like(models)
        evaluate(self.sums, models, descent)
        return descent

    def note(
        self, models: FloatArray, labels: IntArray, descent: FloatArray, n_changed: int
    ) -> None:
        """Note a round's (k, d) models and (M,) labels, and form the sums where this saves time."""
        if n_changed * _CHANGING > labels.size or not self._saves_time():
            return
        k, d = self.k, self.d
        self.sums = ClusterSums(np.zeros((k, d, d)), descent.copy(), models.copy())
        add_all(self.data, self.spectra, self.factors, labels, self.sums.matrices)
        responses = np.sqrt(np.add.reduceat(self.data.responses**2, self.data.offsets[:-1]))
        reach = responses + self.lengths * float(np.linalg.norm(models, axis=1).max())
        self.weights = np.stack([self.lengths**2, self.lengths * reach], axis=1)
        self.net = np.zeros((k, 2))
        np.add.at(self.net, labels, self.weights)
        self.gross = self.net.copy()
        self.walked, self.last = 0.0, models
        # n + d + 2 roundings of two norms, now and after a way that at most doubles the reach
        roundings = 16.0 * _ULP * (self.sizes + self.d + 2)
        free = np.full(labels.size, -np.inf)
        self.proofs = Proofs(free, self.lengths, responses, roundings)
        # The sums are those of the given labels.  Where rounding decides, this kernel may find
        # another label.  It does so again in the next round, which moves the client.
        n_other = self._relabel(models, labels)
        labels[self.changed[:n_other]] = self.before[:n_other]
        self.ready, self.n_builds = True, self.n_builds + 1

    def _saves_time(self) -> bool:
        """Whether the rounds to come cost more than forming the sums, in multiplications."""
        if self.n_builds == _MOST_BUILDS or self.k * self.d**2 > _FEW_FLOATS:
            return False
        rows, own = self.sizes * self.d, self.orders
        round_cost = float((rows * (self.k + 1) + 2 * own**2).sum())
        turned = np.where(self.sizes <= self.d, own * rows, 0)
        build_cost = float((turned + own * self.d**2 + rows * self.k).sum())
        return self.rounds_left * (round_cost - self.k * self.d**2) > 2.0 * build_cost

    def _relabel(self, models: FloatArray, labels: IntArray) -> int:
        n_changed, n_evaluated = relabel(
            self.data, models, self.walked, self.proofs, labels, self.changed, self.before
        )
        self.n_evaluated += n_evaluated
        return int(n_changed)

    def _move(self, changed: IntArray, before: IntArray, labels: IntArray) -> None:
        """Move clients (c,) from their old sums to their new ones."""
        for i, old in zip(changed, before, strict=True):
            for j, sign in ((old, -1.0), (labels[i], 1.0)):
                self.net[j] += sign * self.weights[i]
                self.gross[j] += self.weights[i]
                add_client(self.data, self.spectra, self.factors, i, j, sign, self.sums)
        if (self.gross > _LOSS * self.net).any():
            self.ready = False
