r"""Federated mixtures with unbalanced clients, covariate shift and non-Gaussian features.

The model of Su, Xu & Yang (2022), eq. (1): client i draws its cluster :math:`z_i` from p.  It holds
:math:`n_i` rows :math:`x=\Sigma_{z_i}^{1/2}w` with independent coordinates w of mean 0 and variance
1.  Its responses are :math:`y=\langle x,\theta_{z_i}^*\rangle+\sigma e`.  Logistic responses are y
= ±1 with :math:`P(y=1\mid x)=1/(1+e^{-\langle x,\theta_{z_i}^*\rangle})`.  Clients have different
numbers of rows.  The rows lie one below the other, and offsets mark the rows of each client
(`trials.models.clients.ClientData`).  So the cost depends on the total number of rows.

============= ============================================ =======================================
features      w                                            kurtosis E w^4
============= ============================================ =======================================
gaussian      N(0, 1)                                      3
rademacher    ±1                                           1
uniform       on [-sqrt 3, sqrt 3]                         9/5
sparse        ±1/sqrt q with probability q, else 0         1/q  (q = ``shape``, 0.1)
heavy         Student's t with nu degrees of freedom       infinite for nu <= 4  (nu = ``shape``, 3;
              over its deviation                           2 < nu: finite variance)
============= ============================================ =======================================

Noises e: the same laws and ``laplace`` (kurtosis 6).  Only the first three features are
sub-Gaussian with a constant that does not depend on the shape.  The theorems assume this of all
features.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trials.checks import (
    MAX_DRAWN,
    FloatArray,
    IntArray,
    InvalidParameter,
    check_drawn,
    finite_batch,
    integer_between,
    one_of,
    real_array,
    real_between,
    record_of,
    shown,
    whole_array,
)
from trials.models.clients import ClientData
from trials.models.losses import Population, Response
from trials.parameters import Flag, Integer, Options, Real, Stream, validated

FEATURE_LAWS = ("gaussian", "rademacher", "uniform", "sparse", "heavy")
NOISE_LAWS = (*FEATURE_LAWS, "laplace")
_MAX_FLOATS = 2**31  # 16 GiB of features: more is refused, not swapped


# -- client sizes --------------------------------------------------------------------------------


@validated(
    profile=Options(("balanced", "zipf", "lognormal")),
    n_clients=Integer(1, MAX_DRAWN),
    rng=Stream(),
    spread=Real(0.0, 50.0),
    smallest=Integer(1),
)
def client_sizes(
    profile: str,
    n_clients: int,
    mean: float,
    rng: np.random.Generator,
    *,
    spread: float = 1.0,
    smallest: int = 1,
) -> IntArray:
    """Whole client sizes n_i >= ``smallest`` whose sum is ``round(n_clients * mean)`` exactly.

    Parameters
    ----------
    profile : with ``balanced`` the sizes are equal up to one.  With ``zipf`` the size of the client
        of rank r is proportional to r^-spread, with ranks in random order.  With ``lognormal`` the
        size is proportional to exp(spread z), z normal.
    n_clients : M >= 1.
    mean : N / M >= smallest.
    rng : the stream (unused by ``balanced``).
    spread : exponent or deviation, >= 0.
    smallest : smallest allowed size, >= 1.  Smaller shares are raised to it, and the others are
        scaled down in return.

    Returns
    -------
    (M,) int64.  Remainders go to the largest fractional parts.

    Raises
    ------
    InvalidParameter : an argument outside its range, or a sum beyond 2^53.

    Examples
    --------
    >>> import numpy as np
    >>> client_sizes("balanced", 4, 2.5, np.random.default_rng(0)).tolist()
    [3, 3, 2, 2]
    """
    mean = real_between("mean", mean, smallest, 2.0**53)
    total = round(n_clients * mean)
    if total > 2**53:
        raise InvalidParameter(f"n_clients * mean = {total:.4g} must be <= 2^53, whole in float64")
    if profile == "balanced":
        shares = np.ones(n_clients)
    elif profile == "zipf":
        shares = rng.permutation(np.arange(1.0, n_clients + 1.0) ** -spread)
    else:
        shares = np.exp(spread * rng.standard_normal(n_clients))
    # the multiple of the shares that, raised to the floor, has the right sum: water filling
    order = np.sort(shares)[::-1]
    kept = np.arange(1, n_clients + 1)
    levels = (total - smallest * (n_clients - kept)) / np.cumsum(order)
    level = levels[np.flatnonzero(levels * order >= smallest * (1 - 1e-12)).max(initial=0)]
    ideal = np.maximum(shares * level, smallest)
    sizes: IntArray = np.maximum(np.floor(ideal + 1e-9), smallest).astype(np.int64)
    short = total - int(sizes.sum())
    ranked = np.argsort(sizes - ideal, kind="stable")
    if short < 0:  # near 2^53 the shares themselves are rounded, to whole numbers
        sizes[ranked[sizes[ranked] > smallest][short:]] -= 1
    sizes[ranked[: max(short, 0)]] += 1
    return sizes


def imbalance(sizes: ArrayLike) -> float:
    r"""The skewness of (10), :math:`\chi^2(n)=M\sum_i(n_i/N)^2-1` >= 0.  Equal n_i give 0."""
    counts = real_array("sizes", sizes)
    if counts.ndim != 1 or not counts.size or not (np.isfinite(counts) & (counts > 0)).all():
        raise InvalidParameter(f"sizes={shown(sizes)} must be (M,), M >= 1, finite and > 0")
    counts = counts / counts.max()
    shares = counts / counts.sum() * counts.size
    return float(((shares - 1.0) ** 2).mean())  # without the cancellation of the formula


# -- laws of one coordinate ----------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Law:
    """A law of mean 0 and variance 1.

    Attributes
    ----------
    name : one of `NOISE_LAWS`.
    shape : q of ``sparse`` in (0, 1], or nu > 2 of ``heavy``.  None stands for their defaults 0.1
        and 3.  It is None for the other laws.
    """

    name: str = "gaussian"
    shape: float | None = None

    def __post_init__(self) -> None:
        one_of("law", self.name, NOISE_LAWS)
        if self.name == "sparse":
            q = 0.1 if self.shape is None else self.shape
            object.__setattr__(self, "shape", real_between("shape", q, 0.0, 1.0, open_low=True))
        elif self.name == "heavy":
            nu = 3.0 if self.shape is None else self.shape
            object.__setattr__(self, "shape", real_between("shape", nu, 2.0, open_low=True))
        elif self.shape is not None:
            raise InvalidParameter(f"shape={self.shape} must be None for the {self.name} law")

    @property
    def kurtosis(self) -> float:
        """The fourth moment E w^4.  It is infinite for ``heavy`` with nu <= 4."""
        fixed = {"gaussian": 3.0, "rademacher": 1.0, "uniform": 1.8, "laplace": 6.0}
        if self.shape is None:
            return fixed[self.name]
        if self.name == "sparse":
            return 1.0 / self.shape
        return 3.0 * (self.shape - 2.0) / (self.shape - 4.0) if self.shape > 4.0 else math.inf

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        """Independent values of the given shape, such as (n, d)."""
        if self.name == "gaussian":
            return rng.standard_normal(shape)
        if self.name == "uniform":
            return rng.uniform(-math.sqrt(3.0), math.sqrt(3.0), shape)
        if self.name == "laplace":
            return rng.laplace(0.0, math.sqrt(0.5), shape)
        if self.name == "rademacher":
            return np.asarray(2.0 * rng.integers(0, 2, shape, dtype=np.int8) - 1.0)
        assert self.shape is not None
        if self.name == "heavy":
            return rng.standard_t(self.shape, shape) * math.sqrt(1.0 - 2.0 / self.shape)
        uniform = rng.random(shape)  # one draw decides whether and which sign
        signs = np.where(uniform < 0.5 * self.shape, 1.0, -1.0)
        return np.asarray(np.where(uniform < self.shape, signs / math.sqrt(self.shape), 0.0))


# -- cluster covariances -------------------------------------------------------------------------


@validated(
    k=Integer(1, MAX_DRAWN),
    d=Integer(1, MAX_DRAWN),
    alpha=Real(0.0, 1e150, open_low=True),
    beta=Real(0.0, 1e150, open_low=True),
    rng=Stream(),
    rotated=Flag(),
)
def covariance_roots(
    k: int, d: int, alpha: float, beta: float, rng: np.random.Generator, *, rotated: bool = True
) -> FloatArray:
    """Symmetric roots of k covariances with spectrum in [alpha, beta], both attained if d >= 2.

    The other eigenvalues are log-uniform.  With ``rotated`` each covariance has a random
    orthonormal frame of its own, which costs O(k d^3).  Otherwise all are diagonal, with the
    eigenvalues in random order.

    Returns
    -------
    (k, d, d).
    """
    check_drawn("entries k d^2", k * d * d)
    beta = real_between("beta", beta, alpha)
    logs = (
        rng.uniform(math.log(alpha), math.log(beta), (k, d)) if beta > alpha else np.zeros((k, d))
    )
    spectra = np.clip(np.exp(logs), alpha, beta)
    spectra[:, 0], spectra[:, -1] = alpha, beta
    spectra = rng.permuted(spectra, axis=1)
    if not rotated:
        return np.asarray(np.sqrt(spectra)[:, :, None] * np.eye(d))
    frames = np.linalg.qr(rng.standard_normal((k, d, d)))[0]
    roots = (frames * np.sqrt(spectra)[:, None, :]) @ frames.transpose(0, 2, 1)
    return np.asarray(0.5 * (roots + roots.transpose(0, 2, 1)))


# -- the model -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class FederatedSample:
    """Drawn clients with their true clusters, which a server does not see.

    Attributes
    ----------
    data : the clients.
    labels : (M,) true clusters z_i.
    """

    data: ClientData
    labels: IntArray


@dataclass(frozen=True, kw_only=True)
class FederatedModel:
    """A mixture of regressions with its laws, validated.

    Attributes
    ----------
    theta_star : (k, d) true parameters.
    fractions : (k,) p > 0, summing to 1 (`trials.models.mixture.fractions`).
    roots : (k, d, d) symmetric roots of the cluster covariances (`covariance_roots`).  None means
        that all are I.
    sigma : noise level >= 0 (linear responses).
    features, noise : laws of the coordinates and of the noise.
    response : ``linear`` or ``logistic``.

    Raises
    ------
    InvalidParameter : shapes, fractions that do not sum to 1, sigma < 0, an unknown law.

    Examples
    --------
    >>> import numpy as np
    >>> model = FederatedModel(
    ...     theta_star=np.eye(2), fractions=np.array([0.5, 0.5]), sigma=0.1,
    ...     features=Law(name="heavy"),
    ... )
    >>> sample = model.draw(np.array([3, 1, 5]), np.random.default_rng(0))
    >>> sample.data.n_clients, sample.data.features.shape
    (3, (9, 2))
    """

    theta_star: FloatArray
    fractions: FloatArray
    roots: FloatArray | None = None
    sigma: float = 0.0
    features: Law = Law()
    noise: Law = Law()
    response: Response = "linear"

    def __post_init__(self) -> None:
        centres = finite_batch("theta_star", self.theta_star, ("k", "d"))
        k, d = centres.shape
        weights = real_array("fractions", self.fractions)
        record_of("features", self.features, Law)
        record_of("noise", self.noise, Law)
        if weights.shape != (k,) or not (weights > 0).all() or abs(weights.sum() - 1.0) > 1e-9:
            raise InvalidParameter(
                f"fractions={shown(self.fractions)} must be ({k},), > 0 and sum to 1"
            )
        if self.features.name not in FEATURE_LAWS:
            one_of("features", self.features.name, FEATURE_LAWS)
        one_of("response", self.response, ("linear", "logistic"))
        roots = None
        if self.roots is not None:
            roots = finite_batch("roots", self.roots, ("k", "d", "d"))
            if roots.shape != (k, d, d):
                raise InvalidParameter(f"roots.shape={roots.shape} must be ({k}, {d}, {d})")
        object.__setattr__(self, "theta_star", centres)
        object.__setattr__(self, "fractions", weights / weights.sum())
        object.__setattr__(self, "roots", roots)
        object.__setattr__(self, "sigma", real_between("sigma", self.sigma, 0.0))

    def draw_labels(self, n_clients: int, rng: np.random.Generator) -> IntArray:
        """(M,) independent clusters from p."""
        n_clients = integer_between("n_clients", n_clients, 1)
        return rng.choice(len(self.fractions), n_clients, p=self.fractions).astype(np.int64)

    def draw(
        self, sizes: ArrayLike, rng: np.random.Generator, labels: ArrayLike | None = None
    ) -> FederatedSample:
        """Draw clients of the given ``sizes`` (M,).

        ``labels`` (M,) are drawn from p when omitted.

        O(N d), or O(N d^2) with covariances.  A client's rows are independent
        given its label.
        """
        counts = np.asarray(sizes)
        if counts.ndim != 1 or not counts.size or not np.issubdtype(counts.dtype, np.integer):
            raise InvalidParameter(f"sizes={shown(sizes)} must be (M,) integers, M >= 1")
        if counts.min() < 1:
            raise InvalidParameter(f"sizes has {counts.min()}: every client must have a row")
        k, d = self.theta_star.shape
        n_rows = int(counts.sum())
        if n_rows * d > _MAX_FLOATS:
            raise InvalidParameter(f"N d={n_rows * d} must be <= {_MAX_FLOATS} (16 GiB)")
        if labels is None:
            clusters = self.draw_labels(counts.size, rng)
        else:
            clusters = whole_array("labels", labels, 0, k - 1)
            if clusters.shape != counts.shape:
                raise InvalidParameter(f"labels.shape={clusters.shape} must be {counts.shape}")
        features = self.features.draw(rng, (n_rows, d))
        responses = np.empty(n_rows)
        owners = np.repeat(clusters, counts)
        for j in range(k):
            rows = np.flatnonzero(owners == j)
            if self.roots is not None:
                features[rows] = features[rows] @ self.roots[j]
            responses[rows] = features[rows] @ self.theta_star[j]
        if self.response == "logistic":
            up = rng.random(n_rows) < 1.0 / (1.0 + np.exp(-np.clip(responses, -700, 700)))
            responses = np.where(up, 1.0, -1.0)
        elif self.sigma > 0:
            responses += self.sigma * self.noise.draw(rng, (n_rows,))
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        data = ClientData(features=features, responses=responses, offsets=offsets)
        return FederatedSample(data=data, labels=clusters)

    def population(self, cluster: int) -> Population:
        """The law of one cluster's samples, for `trials.models.losses`."""
        k, d = self.theta_star.shape
        j = integer_between("cluster", cluster, 0, k - 1)
        root = np.eye(d) if self.roots is None else self.roots[j]
        return Population(
            theta_star=self.theta_star[j],
            covariance=root @ root.T,
            sigma=self.sigma,
            feature_kurtosis=self.features.kurtosis,
            noise_kurtosis=self.noise.kurtosis,
            gaussian=self.features.name == "gaussian",
            response=self.response,
        )


# -- polynomial features -------------------------------------------------------------------------
