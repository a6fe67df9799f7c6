r"""Rounds of Phase 2 with hard labels, on each client's Gram matrix in the place of its rows.

Where the responses are :math:`y_i=X_i\theta^*_{z_i}+\zeta_i`, a round reads the rows only through
:math:`W_i=X_i^\top X_i` and :math:`b_i=X_i^\top\zeta_i`.  With the error
:math:`u=\theta-\theta^*_{z_i}` of a model,

.. math:: \lVert y_i-X_i\theta\rVert^2=u^\top W_iu-2b_i^\top u+\lVert\zeta_i\rVert^2,\qquad
   X_i^\top P_i(y_i-X_i\theta)=f(W_i/n_i)(b_i-W_iu),

with P's function f (`trials.mixed_regression.fed_regression`), because
:math:`X^\top f(XX^\top)=f(X^\top X)X^\top`.  So n_i costs nothing once the two are known.  The
optima must be known, as they are in simulations.  `run_fed_regression` needs the rows alone.

The trials of a block have the same optima and labels.  They stand one after the other, so that one
call prepares all of them: arrays of clients have the leading axis T, or none for a single trial.
Clients stand side by side in memory, entry by entry, so that the losses of all are one loop over
neighbours.  While no label changes the sums of the round before serve again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from trials.checks import FloatArray, IntArray
from trials.kernel import inner_kernel, kernel
from trials.mixed_regression.fed_regression_kernels import filter_values
from trials.mixed_regression.small_spectra import LARGEST_ORDER, small_spectra
from trials.models.clients import KnownClusters
from trials.models.run_status import DIVERGENCE_BOUND

_FUSED = {"contract"}


@dataclass(frozen=True, kw_only=True)
class GramClients(KnownClusters):
    """Clients whose optima are known, those of one cluster one after the other.

    Attributes
    ----------
    grams : (..., M, d, d) W_i.
    pulls : (..., M, d) b_i.
    sizes : (..., M) rows of each client.
    labels : (M,) true clusters, in increasing order.
    """

    grams: FloatArray
    pulls: FloatArray

    def trial(self, t: int) -> GramClients:
        """The clients of one of T trials."""
        return replace(self, grams=self.grams[t], pulls=self.pulls[t], sizes=self.sizes[t])

    @property
    def bounds(self) -> IntArray:
        """(k + 1,) where the clients of each cluster begin."""
        return np.searchsorted(self.labels, np.arange(len(self.theta_star) + 1))

    @property
    def cluster_rows(self) -> FloatArray:
        """(..., k) rows N_j of the clusters, each of which has a client."""
        return np.add.reduceat(self.sizes, self.bounds[:-1], axis=-1).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class GramSpectra:
    """The matrices W_i / n_i, decomposed when their spectra are first read.  O(M d^3) a trial.

    Attributes
    ----------
    scaled : (..., M, d, d) the matrices.
    """

    scaled: FloatArray

    @cached_property
    def _decomposed(self) -> tuple[FloatArray, FloatArray]:
        d = self.scaled.shape[-1]
        if d > LARGEST_ORDER:
            found, columns = np.linalg.eigh(self.scaled)
            return np.maximum(found, 0.0), np.ascontiguousarray(columns.swapaxes(-1, -2))
        matrices = self.scaled.reshape(-1, d, d)
        m = len(matrices)
        starts = np.arange(m + 1)[:, None] * np.array([d, d * d])
        values, vectors = np.empty((m, d)), np.empty((m, d, d))
        small_spectra(matrices, np.arange(m), starts, values.reshape(-1), vectors.reshape(-1))
        return values.reshape(self.scaled.shape[:-1]), vectors.reshape(self.scaled.shape)

    def decompose(self) -> None:
        """Decompose the matrices now, so that `largest` needs no search."""
        self._decomposed  # noqa: B018

    @property
    def values(self) -> FloatArray:
        """(..., M, d) eigenvalues >= 0, in increasing order."""
        return self._decomposed[0]

    @property
    def vectors(self) -> FloatArray:
        """(..., M, d, d) eigenvectors, one a row."""
        return self._decomposed[1]

    @cached_property
    def largest(self) -> FloatArray:
        """The largest curvature of a client of each trial, (...)."""
        if "_decomposed" in vars(self):
            return np.asarray(self.values[..., -1].max(axis=-1))
        m, d, _ = self.scaled.shape[-3:]
        trials = self.scaled.reshape(-1, m, d, d)
        return _largest_of_trials(trials).reshape(self.scaled.shape[:-3])


def _largest_of_trials(matrices: FloatArray) -> FloatArray:
    r"""The largest eigenvalue of any of the M matrices of each trial (T, M, d, d), (T,).

    Few of them are decomposed: :math:`\lVert W^p\rVert_F^{1/p}`, for p = 1, 2, 4, is a limit of
    the largest eigenvalue.  A matrix whose limit is below an eigenvalue of another of its trial
    cannot have the largest one.
    """
    n_trials, m, d, _ = matrices.shape
    units = np.abs(matrices).max(axis=(1, 2, 3))
    units[units == 0.0] = 1.0
    left = (matrices / units[:, None, None, None]).reshape(-1, d, d)
    owner = np.repeat(np.arange(n_trials), m)  # stays in increasing order
    powers, best = left, np.zeros(n_trials)
    for p in (1, 2, 4):
        limits = np.einsum("mab,mab->m", powers, powers) ** (0.5 / p)
        highest = np.zeros(n_trials)
        np.maximum.at(highest, owner, limits)
        first = np.flatnonzero(limits == highest[owner])
        np.maximum.at(best, owner[first], np.linalg.eigvalsh(left[first])[:, -1])
        able = limits > best[owner]
        left, powers, owner = left[able], powers[able], owner[able]
        if not len(left):
            return np.asarray(units * best)
        powers = powers @ powers
    np.maximum.at(best, owner, np.linalg.eigvalsh(left)[:, -1])
    return np.asarray(units * best)


def gram_spectra(clients: GramClients) -> GramSpectra:
    """The spectra of every client's matrix."""
    return GramSpectra(scaled=clients.grams / clients.sizes[..., None, None])


@dataclass(frozen=True, kw_only=True)
class ClientSteps:
    """What a client's s local steps, or its proximal step, add to a model of error u.

    Attributes
    ----------
    maps : (..., M, d, d) A_i = f(W_i / n_i) W_i.
    shifts : (..., M, d) c_i = f(W_i / n_i) b_i.  The client's term of (11) is c_i - A_i u.
    covariances : (..., M, d, d) those of c_i for noise of variance one.
    """

    maps: FloatArray
    shifts: FloatArray
    covariances: FloatArray


def client_steps(
    clients: GramClients, spectra: GramSpectra, eta: float | FloatArray, s: int
) -> ClientSteps:
    """The clients' terms for a step size, and s local steps of FedAvg or s = 0 for FedProx.

    ``eta`` is one number, or (...,) those of the trials.  One local step has f = 1 and needs no
    spectra.
    """
    if s == 1:
        return ClientSteps(maps=clients.grams, shifts=clients.pulls, covariances=clients.grams)
    factors = np.empty_like(spectra.values)
    reached = np.asarray(eta)[..., None, None] * spectra.values
    filter_values(reached.reshape(-1), 1.0, s, factors.reshape(-1))
    rows, frames = spectra.values * clients.sizes[..., None], spectra.vectors
    turned = frames.swapaxes(-1, -2)
    inside = factors * (frames @ clients.pulls[..., None])[..., 0]
    return ClientSteps(
        maps=(turned * (factors * rows)[..., None, :]) @ frames,
        shifts=(turned @ inside[..., None])[..., 0],
        covariances=(turned * (factors**2 * rows)[..., None, :]) @ frames,
    )


# -- kernels ---------------------------------------------------------------------------------------


@kernel(fastmath=_FUSED)
def _pack(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    """The upper triangles of (M, d, d), and -2 times (M, d), one below the other: (p, M)."""
    m, d = vectors.shape
    packed = np.empty((d * (d + 1) // 2 + d, m))
    row = 0
    for a in range(d):
        for b in range(a, d):
            for i in range(m):
                packed[row, i] = matrices[i, a, b] if a == b else 2.0 * matrices[i, a, b]
            row += 1
    for a in range(d):
        for i in range(m):
            packed[row, i] = -2.0 * vectors[i, a]
        row += 1
    return packed


@kernel(fastmath=_FUSED)
def _relabel(
    packed: FloatArray,
    bounds: IntArray,
    models: FloatArray,
    optima: FloatArray,
    losses: FloatArray,
    labels: IntArray,
) -> int:
    """Write the labels (8), ties to the first model, and count those that change."""
    k, d = models.shape
    losses[:] = 0.0
    error = np.empty(d)
    for z in range(k):
        for j in range(k):
            for a in range(d):
                error[a] = models[j, a] - optima[z, a]
            row = 0
            for a in range(d):
                for b in range(a, d):
                    weight = error[a] * error[b]
                    for i in range(bounds[z], bounds[z + 1]):
                        losses[j, i] += weight * packed[row, i]
                    row += 1
            for a in range(d):
                for i in range(bounds[z], bounds[z + 1]):
                    losses[j, i] += error[a] * packed[row, i]
                row += 1
    n_changed = 0
    for i in range(labels.shape[0]):
        best = 0
        for j in range(1, k):
            if losses[j, i] < losses[best, i]:
                best = j
        n_changed += best != labels[i]
        labels[i] = best
    return n_changed


@inner_kernel(fastmath=_FUSED)
def _add_up(
    maps: FloatArray,
    shifts: FloatArray,
    bounds: IntArray,
    labels: IntArray,
    matrices: FloatArray,
    sums: FloatArray,
) -> None:
    """Sum the clients' terms by label and true cluster: (k, k, d, d) and, by label, (k, d)."""
    k, d = sums.shape
    matrices[:], sums[:] = 0.0, 0.0
    for z in range(k):
        for i in range(bounds[z], bounds[z + 1]):
            j = labels[i]
            for a in range(d):
                sums[j, a] += shifts[i, a]
                for b in range(d):
                    matrices[j, z, a, b] += maps[i, a, b]


@kernel(fastmath=_FUSED)
def _descend(
    packed: FloatArray,
    maps: FloatArray,
    shifts: FloatArray,
    bounds: IntArray,
    optima: FloatArray,
    unit: float,
    bound: float,
    path: FloatArray,
    labels: IntArray,
) -> int:
    """Fill path (T + 1, k, d) from its start, and return the number of rounds applied."""
    k, d = optima.shape
    losses = np.empty((k, labels.shape[0]))
    matrices, sums = np.empty((k, k, d, d)), np.empty((k, d))
    for t in range(path.shape[0] - 1):
        if _relabel(packed, bounds, path[t], optima, losses, labels) > 0:
            _add_up(maps, shifts, bounds, labels, matrices, sums)
        for j in range(k):
            length = 0.0
            for a in range(d):
                step = sums[j, a]
                for z in range(k):
                    for b in range(d):
                        step -= matrices[j, z, a, b] * (path[t, j, b] - optima[z, b])
                path[t + 1, j, a] = path[t, j, a] + unit * step
                length += path[t + 1, j, a] ** 2
            if not length <= bound * bound:
                for later in range(t + 1, len(path)):
                    for z in range(k):
                        for a in range(d):
                            path[later, z, a] = path[t, z, a]
                return t
    return len(path) - 1


# -- the functions of the package ------------------------------------------------------------------


def gram_labels(clients: GramClients, models: FloatArray) -> IntArray:
    """The labels (8) of the models (k, d) of one trial, (M,)."""
    labels = np.full(len(clients.labels), -1, dtype=np.int64)
    losses = np.empty((len(models), len(labels)))
    packed = _pack(clients.grams, clients.pulls)
    _relabel(packed, clients.bounds, models, clients.theta_star, losses, labels)
    return labels


def gram_rounds(
    clients: GramClients,
    steps: ClientSteps,
    start: FloatArray,
    eta: float | FloatArray,
    n_rounds: int,
) -> FloatArray:
    """The models before each of R rounds and after the last, (..., R + 1, k, d).

    A step to models of a norm above `DIVERGENCE_BOUND` is not taken and ends the run, whose last
    models are repeated.  O(M k d^2) a round, for any sizes of the clients.

    Parameters
    ----------
    clients : of one trial, or of T trials.
    steps : `client_steps` with the same step size eta.
    start : (..., k, d) models, each trial's own or (k, d) the same of all.
    eta : one number, or (...,) those of the trials.
    """
    k, d = clients.theta_star.shape
    m = len(clients.labels)
    n_trials = clients.pulls.size // (m * d)
    paths = np.empty((n_trials, n_rounds + 1, k, d))
    paths[:, 0] = start
    rates = np.broadcast_to(eta, (n_trials,)) / clients.sizes.reshape(n_trials, m).sum(axis=1)
    grams, maps = (x.reshape(n_trials, m, d, d) for x in (clients.grams, steps.maps))
    pulls, shifts = (x.reshape(n_trials, m, d) for x in (clients.pulls, steps.shifts))
    bounds, labels = clients.bounds, np.full(m, -1, dtype=np.int64)
    for t in range(n_trials):
        labels[:] = -1
        _descend(
            _pack(grams[t], pulls[t]), maps[t], shifts[t], bounds, clients.theta_star,
            float(rates[t]), DIVERGENCE_BOUND, paths[t], labels,
        )  # fmt: skip
    return paths.reshape(*clients.grams.shape[:-3], n_rounds + 1, k, d)
