r"""Mixed linear regression on grouped rows: alternating minimisation and EM, spectral start.

All rows of client i have one label :math:`z_i`: :math:`y_i=X_i\theta_{z_i}+\sigma e_i`.

*Spectral start*, after Yi, Caramanis & Sanghavi (2014) and Chaganty & Liang (2013): the span of the
models holds the leading k eigenvectors of a moment of the data, and in that span there are few
directions to search.  Their rows come without a client, so they need moments of order four
(:math:`\sum y^2xx^\top`, ``moment="second"``) or three.  A client's rows share their model.  Two of
them therefore give a moment of order two without a term of the noise,

.. math:: M=\frac1m\sum_i\frac1{n_i(n_i-1)}\sum_{s\ne t}y_{is}x_{is}(y_{it}x_{it})^\top,\qquad
          \mathbb EM=\sum_jp_j\Sigma\theta_j\theta_j^\top\Sigma,

``moment="pairs"``, the default.  Features of another covariance are made white first.  Each
client's vector :math:`X_i^\top y_i/n_i` is projected on the span, and k-means++ clusters these.
This takes the place of the grid of Yi et al. (k = 2) and of the tensor's power method.

*Alternating minimisation* (Yi et al., Algorithm 1): labels by the least loss, then least squares.
*EM*: weights :math:`w_{ij}\propto p_j\exp(-\|y_i-X_i\theta_j\|^2/2\sigma^2)`, then weighted least
squares, :math:`p_j` and :math:`\sigma^2`.  Yi et al. draw fresh rows in each round for their proof.
As in practice all rows serve in every round.

Both need of a client only :math:`X_i^\top X_i`, :math:`X_i^\top y_i` and :math:`|y_i|^2`, so sizes
may differ and nothing is approximated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from trials.checks import MAX_DRAWN, FloatArray, IntArray, InvalidParameter, finite_batch, same_axis
from trials.clustering.kmeans import kmeans_pp
from trials.models.clients import ClientData
from trials.parameters import Flag, Integer, Options, Record, Stream, validated

#: Weights of EM below this are multiplied up, because floats near 1e-308 have few digits.
_SMALL_WEIGHT = 1e-150


@dataclass(frozen=True, kw_only=True)
class MixtureResult:
    """The result of alternating minimisation or EM.

    Attributes
    ----------
    models : (k, d).
    labels : (m,) the model with the least residual of each client, whatever the shares.
    weights : (m, k) of the last E step, 0 and 1 with hard labels.
    shares : (k,) p_j.
    sigma : standard deviation of the noise.
    losses : (T + 1,) mean of (y - x theta)^2 / 2 over all rows, under the hard labels, at the start
        and after each round.
    log_likelihoods : (T,) before each M step of EM, and (0,) with hard labels.
    """

    models: FloatArray
    labels: IntArray
    weights: FloatArray
    shares: FloatArray
    sigma: float
    losses: FloatArray
    log_likelihoods: FloatArray


class _Statistics:
    """Sufficient statistics of every client."""

    def __init__(self, data: ClientData) -> None:
        (m, d), ends = (data.n_clients, data.dimension), data.offsets
        if m * d * d > MAX_DRAWN * 20:
            raise InvalidParameter(f"m d^2={m * d * d} must be <= {20 * MAX_DRAWN} (1.6 GB)")
        self.sizes = np.diff(ends).astype(float)
        self.grams, self.rights = np.empty((m, d, d)), np.empty((m, d))
        for i in range(m):
            own = data.features[ends[i] : ends[i + 1]]
            self.grams[i] = own.T @ own
            self.rights[i] = own.T @ data.responses[ends[i] : ends[i + 1]]
        self.scale = float((data.responses**2).mean())
        # Residuals at theta are those of y - X pooled at theta - pooled, whose parts are small.
        # Those of y, which may be far from zero, would cancel.
        gram, right = self.grams.sum(axis=0), self.rights.sum(axis=0)
        self.pooled = np.linalg.lstsq(gram, right, rcond=None)[0]
        left = data.responses - data.features @ self.pooled
        self.left_squares = np.add.reduceat(left**2, ends[:-1])
        self.left_rights = np.add.reduceat(data.features * left[:, None], ends[:-1])

    def residuals(self, models: FloatArray) -> FloatArray:
        """|y_i - X_i theta_j|^2, (m, k), not below zero."""
        # Two planned products go through BLAS.  One loop over the four indices would not.
        gaps = models - self.pooled
        curved = np.einsum("jd,ide,je->ij", gaps, self.grams, gaps, optimize=True)
        losses = self.left_squares[:, None] - 2.0 * self.left_rights @ gaps.T + curved
        # The three parts cancel where a model fits exactly, and rounding may leave less than zero.
        return np.asarray(np.maximum(losses, 0.0))

    def solve(self, weights: FloatArray, models: FloatArray) -> FloatArray:
        """Weighted least squares (k, d), of least norm.  A model without weight stays."""
        solved = models.copy()
        for j in range(len(models)):
            own, largest = weights[:, j], float(weights[:, j].max())
            if largest > 0.0:
                if largest < _SMALL_WEIGHT:  # only ratios count, and the products have few digits
                    own = np.ldexp(own, -np.frexp(largest)[1])
                gram = np.tensordot(own, self.grams, axes=1)
                # Of least norm, because a model of few clients may have fewer rows than d.
                solved[j] = np.linalg.lstsq(gram, own @ self.rights, rcond=None)[0]
        return solved


@validated(
    data=Record(ClientData), k=Integer(1), rng=Stream(), moment=Options(("pairs", "second")),
    whiten=Flag(), n_init=Integer(1),
)  # fmt: skip
def spectral_start(
    data: ClientData,
    k: int,
    rng: np.random.Generator,
    *,
    moment: str = "pairs",
    whiten: bool = True,
    n_init: int = 10,
) -> FloatArray:
    """Models (k, d) by the spectral start of the module.

    Parameters
    ----------
    data : clients of any sizes.  One with one row has no pair and counts in k-means only.
    k : clusters, at most m.
    rng : seeds of k-means++.
    moment : ``pairs`` or ``second``, which has no use of clients.
    whiten : whether the features are made white by their pooled covariance.
    n_init : starts of k-means++.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((40, 20, 3))
    >>> y = x[:, :, 0] * np.where(np.arange(40) < 20, 2.0, -2.0)[:, None]
    >>> sorted(spectral_start(ClientData.equal(x, y), 2, rng)[:, 0].round().tolist())
    [-2.0, 2.0]
    """
    d, m = data.dimension, data.n_clients
    if k > m:
        raise InvalidParameter(f"k={k} must be <= {m}, the number of clients")
    x, y, sizes = data.features, data.responses, np.diff(data.offsets)
    root = np.eye(d)
    if whiten:
        values, vectors = np.linalg.eigh(x.T @ x / len(y))
        # Directions without variance would be divided by a rounding error.
        kept = values > 1e-12 * values[-1]
        root = (vectors[:, kept] / np.sqrt(values[kept])) @ vectors[:, kept].T
    products = (x @ root) * y[:, None]
    sums = np.add.reduceat(products, data.offsets[:-1], axis=0)
    if moment == "pairs":
        pairs = 1.0 / np.maximum(sizes * (sizes - 1.0), 1.0)
        row = np.repeat(np.where(sizes > 1, pairs, 0.0), sizes)
        matrix = (sums * np.where(sizes > 1, pairs, 0.0)[:, None]).T @ sums
        # The sum over pairs of different rows is the square of the sum less the squares.  So each
        # row's noise enters it once, and its mean is zero.
        matrix -= (products * row[:, None]).T @ products
    else:
        matrix = products.T @ products
    values, vectors = np.linalg.eigh(matrix)
    # By value, not by size: the clusters lie along positive eigenvalues, the pairs' matrix is
    # indefinite.
    basis = vectors[:, np.argsort(-values)[: min(k, d)]]
    vectors_of_clients = (sums / sizes[:, None]) @ basis
    centres = kmeans_pp(vectors_of_clients[None], k, rng, n_init=n_init).centers[0]
    return np.asarray(centres @ basis.T @ root)


@validated(
    data=Record(ClientData), n_rounds=Integer(0), algorithm=Options(("am", "em")), stop=Flag()
)
def run_grouped_mixture(
    *,
    data: ClientData,
    start: FloatArray,
    n_rounds: int,
    algorithm: str = "am",
    stop: bool = True,
) -> MixtureResult:
    """Alternating minimisation (``am``) or EM (``em``) from the models ``start`` (k, d).

    Parameters
    ----------
    data : the clients, of any sizes.
    n_rounds : at most.  Alternating minimisation ends when no label changes, where ``stop``.
    stop : whether it does.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((40, 20, 3))
    >>> y = x[:, :, 0] * np.where(np.arange(40) < 20, 2.0, -2.0)[:, None]
    >>> data = ClientData.equal(x, y)
    >>> found = run_grouped_mixture(data=data, start=spectral_start(data, 2, rng), n_rounds=20)
    >>> np.abs(found.models).round(6)[:, 0].tolist()
    [2.0, 2.0]
    """
    statistics = _Statistics(data)
    models = finite_batch("start", start, ("k", "d"))
    same_axis("start's d", models.shape[1], "the features' d", data.dimension)
    m, k, n = data.n_clients, len(models), float(len(data.responses))
    residuals = statistics.residuals(models)
    sigma_sq = float(residuals.min(axis=1).sum() / n)
    shares, weights = np.full(k, 1.0 / k), np.zeros((m, k))
    losses, likelihoods = [0.5 * sigma_sq], []
    for _ in range(n_rounds):
        before = weights
        if algorithm == "am":
            weights = np.eye(k)[residuals.argmin(axis=1)]
            if stop and np.array_equal(before, weights):
                break
        else:
            # Without noise EM's variance goes to zero, and the residuals over it to 0 / 0.
            floor = np.finfo(float).tiny + 1e-30 * statistics.scale
            noise = max(sigma_sq, floor)
            # A cluster without clients has the log share -inf, and so it stays empty.
            with np.errstate(divide="ignore"):
                logs = np.log(shares) - 0.5 * residuals / noise
            total = logsumexp(logs, axis=1, keepdims=True)
            weights = np.exp(logs - total)
            likelihoods.append(float(total.sum() - 0.5 * n * np.log(2.0 * np.pi * noise)))
        shares = weights.mean(axis=0)
        models = statistics.solve(weights, models)
        residuals = statistics.residuals(models)
        sigma_sq = float((weights * residuals).sum() / n)
        losses.append(float(0.5 * residuals.min(axis=1).sum() / n))
    return MixtureResult(
        models=models, labels=np.asarray(residuals.argmin(axis=1), dtype=np.int64),
        weights=weights, shares=shares, sigma=float(np.sqrt(sigma_sq)), losses=np.asarray(losses),
        log_likelihoods=np.asarray(likelihoods),
    )  # fmt: skip
