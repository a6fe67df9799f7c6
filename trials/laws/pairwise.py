r"""The exact law of one client's preference between two models.

A client of true cluster :math:`a` holds ``n`` fresh samples :math:`x\sim N(0,I_d)`,
:math:`y=\langle x,\theta_a^*\rangle+\epsilon`, :math:`\epsilon\sim N(0,\sigma^2)`, and compares the
squared losses of the models :math:`\theta_a` and :math:`\theta_b`.  Put
:math:`u_1=\theta_a-\theta_a^*`, :math:`u_2=\theta_b-\theta_a^*`.

*F law.*  The ``n`` residual pairs are i.i.d. :math:`N(0,S)` with

.. math:: S=\begin{pmatrix}A&c\\c&B\end{pmatrix},\qquad A=|u_1|^2+\sigma^2,\quad
          B=|u_2|^2+\sigma^2,\quad c=\langle u_1,u_2\rangle+\sigma^2 .

Write :math:`S=MM^\top` with :math:`M^\top\mathrm{diag}(1,-1)M=\mathrm{diag}(l_+,-l_-)`.  Then the
difference of the two sums of squares is :math:`l_+\chi^2_n-l_-\chi'^2_n` with independent
chi-squares.  The client prefers :math:`b` with probability :math:`P(F_{n,n}\ge l_-/l_+)`.  Here
:math:`l_+-l_-=A-B` and :math:`l_+l_-=AB-c^2`.

*Student law.*  :math:`\tfrac{\sqrt n}{2}(F^{1/2}-F^{-1/2})\sim t_n` when :math:`F\sim F_{n,n}`
(Cacoullos 1965), and :math:`l_-/l_+=(\sqrt{1+x^2}+x)^2` for

.. math:: x=\frac{B-A}{2\sqrt{AB-c^2}}
           =\frac{\text{signed distance of }\theta_a^*\text{ from the bisecting hyperplane of }
                  \theta_a,\theta_b}
                 {\sqrt{\sigma^2+h^2}},

:math:`h` the distance of :math:`\theta_a^*` from the line through :math:`\theta_a,\theta_b`,
because :math:`AB-c^2=|u_1-u_2|^2(\sigma^2+h^2)`.  Hence

.. math:: P(\text{prefers } b)=P(t_n\ge\sqrt n\,x)
           =\tfrac12 I_{1/(1+x^2)}(\tfrac n2,\tfrac12)\quad(x\ge0),

with Chernoff exponent :math:`\tfrac n2\log(1+x^2)`.  All the code works with the *margin*
:math:`x`.  It is computed from the vectors without cancellation, and the law depends on it alone.

Ties.  With :math:`\theta_a=\theta_b`, or noiseless and :math:`u_2=-u_1`, the two losses are equal
with certainty.  The margin is then NaN (0/0) and the tie goes to the smaller index, as in an
argmin.  Callers without indices pass the probability ``ties``.  Without noise and with
:math:`\theta_a^*` on the line through both models the preference is certain and the margin
infinite.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from trials.checks import FloatArray, IntArray, InvalidParameter, real_array, require_finite, shown
from trials.kernel import inner_kernel, kernel
from trials.parameters import Array, Real, validated

_LOG_2 = math.log(2.0)
_MAX_TERMS = 100_000
_EPS = 2.2e-16
#: Samples from which on the continued fraction loses digits: 1e-16 a sample of the logarithm.
_MANY = 1e7
#: Squared argument from which on erfc is taken from its asymptotic series.
_FAR = 300.0
_SAMPLES = Array((...,), low=1.0, high=1e18)


@inner_kernel
def _log_beta_half(a: float) -> float:
    """log B(a, 1/2), without the cancellation of two large log-gammas when ``a`` is large."""
    if a < 40.0:
        return math.lgamma(a) + math.lgamma(0.5) - math.lgamma(a + 0.5)
    # log Gamma(a + 1/2) - log Gamma(a), asymptotic.  The next term is below 1e-17 at a = 40
    b = 1.0 / a
    series = b * (-1.0 / 8 + b * b * (1.0 / 192 + b * b * (-1.0 / 640 + b * b * 17.0 / 14336)))
    return 0.5 * math.log(math.pi) - 0.5 * math.log(a) - series


@inner_kernel
def _beta_fraction(a: float, b: float, y: float) -> float:
    """The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method."""
    tiny = 1e-300
    c = 1.0
    d = 1.0 - (a + b) * y / (a + 1.0)
    d = 1.0 / (d if abs(d) > tiny else tiny)
    h = d
    for i in range(1, _MAX_TERMS):
        for odd in range(2):
            if odd == 0:
                e = i * (b - i) * y / ((a + 2 * i - 1) * (a + 2 * i))
            else:
                e = -(a + i) * (a + b + i) * y / ((a + 2 * i) * (a + 2 * i + 1))
            d = 1.0 + e * d
            d = 1.0 / (d if abs(d) > tiny else tiny)
            c = 1.0 + e / c
            c = c if abs(c) > tiny else tiny
            h *= d * c
        if abs(d * c - 1.0) < _EPS:
            break
    return h


@inner_kernel
def _log_tail_of_many(x: float, n: float) -> float:
    r"""`log_tail` at 0 < x < infinity for at least `_MANY` samples.

    With :math:`a=n/2`, :math:`\xi=\log(1+x^2)`, :math:`s=a\xi` and
    :math:`g(t)=(1-e^{-t})/t`, DLMF 8.18.9 is

    .. math:: I_y(a,\tfrac12)=\frac{\Gamma(a+\frac12)}{\Gamma(a)\sqrt a}
              \operatorname{erfc}(\sqrt s)\Bigl(g^{-1/2}(\xi)+\frac{(g^{-1/2})'(\xi)}a
              \Bigl(\tfrac12-s+\frac{\sqrt{s/\pi}\,e^{-s}}{\operatorname{erfc}\sqrt s}\Bigr)
              \Bigr)

    up to a relative :math:`O(a^{-2})`, uniformly in x.
    """
    a = 0.5 * n
    xi = math.log1p(x * x) if x < 1e8 else 2.0 * math.log(x)
    s = a * xi
    if s < _FAR:
        upper = math.erfc(math.sqrt(s))
        log_erfc = math.log(upper)
        ratio = math.sqrt(s / math.pi) * math.exp(-s) / upper
    else:
        series, term = 1.0, 1.0
        for i in range(1, 9):
            term *= (0.5 - i) / s
            series += term
        log_erfc = math.log(series) - s - 0.5 * math.log(math.pi * s)
        ratio = s / series
    if xi < 0.01:  # the closed forms cancel
        g = 1.0 - xi * (0.5 - xi * (1.0 / 6 - xi * (1.0 / 24 - xi / 120)))
        slope = -0.5 + xi * (1.0 / 3 - xi * (1.0 / 8 - xi * (1.0 / 30 - xi / 144)))
    else:
        g = -math.expm1(-xi) / xi
        slope = (math.exp(-xi) - g) / xi
    root = 1.0 / math.sqrt(g)
    correction = root * (1.0 - 0.5 * slope / g * (0.5 - s + ratio) / a)
    return -_LOG_2 - 0.125 / a + log_erfc + math.log(correction)


@kernel
def log_tail(x: float, n: float) -> float:
    r"""log P(t_n >= sqrt(n) x), accurate in the whole upper tail.

    Above the bulk the continued fraction of :math:`I_y(n/2,1/2)` multiplies a prefactor kept as a
    logarithm.  So the result is right far below the smallest float.  In the bulk its complement is
    used.  From ten million samples on a uniform expansion takes the place of both.  ``x`` may be
    infinite.  NaN gives NaN.  Cost: O(sqrt(n)) at worst.
    """
    if math.isnan(x):
        return math.nan
    if x < 0.0:
        upper = log_tail(-x, n)
        return math.log1p(-math.exp(upper))
    if x == 0.0:
        return -_LOG_2
    if x == math.inf:
        return -math.inf
    if n >= _MANY:
        return _log_tail_of_many(x, n)
    a = 0.5 * n
    log_1_x2 = math.log1p(x * x) if x < 1e8 else 2.0 * math.log(x)
    y = math.exp(-log_1_x2)
    log_w = 2.0 * math.log(x) - log_1_x2  # w = 1 - y, without cancellation
    log_prefactor = -a * log_1_x2 + 0.5 * log_w - _log_beta_half(a)
    if y < (a + 1.0) / (a + 2.5):
        return log_prefactor + math.log(_beta_fraction(a, 0.5, y) / a) - _LOG_2
    complement = 2.0 * math.exp(log_prefactor) * _beta_fraction(0.5, a, math.exp(log_w))
    return math.log(0.5 * (1.0 - complement))


@kernel
def margin(
    theta_a: FloatArray, theta_b: FloatArray, theta_star: FloatArray, sigma: float
) -> tuple[float, float]:
    """The margin ``x`` of the Student law and ``sqrt(A B - c^2)``, from the vectors (d,).

    NaN margin: a certain tie (see the module) or coordinates that are not finite.
    """
    length_sq = 0.0
    along = 0.0
    twice_middle = 0.0
    for i in range(theta_a.size):
        step = theta_b[i] - theta_a[i]
        u1 = theta_a[i] - theta_star[i]
        length_sq += step * step
        along += step * u1
        twice_middle += step * (u1 + (theta_b[i] - theta_star[i]))
    if length_sq == 0.0:
        return math.nan, 0.0
    h_sq = 0.0
    for i in range(theta_a.size):
        off = (theta_a[i] - theta_star[i]) - along / length_sq * (theta_b[i] - theta_a[i])
        h_sq += off * off
    root = math.sqrt(length_sq) * math.sqrt(sigma * sigma + h_sq)
    if root == 0.0:
        if twice_middle == 0.0:
            return math.nan, 0.0
        return math.copysign(math.inf, twice_middle), 0.0
    return 0.5 * twice_middle / root, root


@kernel
def _fill_log_tail(x: FloatArray, n: FloatArray, out: FloatArray) -> None:
    for i in range(x.size):
        out[i] = log_tail(x[i], n[i])


@inner_kernel
def tail_draw(x0: float, n: float, rng: np.random.Generator) -> float:
    r"""Draw ``x = t_n / sqrt(n)`` conditional on ``x > x0`` (``x0`` finite), exactly.

    In the tail, :math:`s=\log(1+x^2)` has density proportional to
    :math:`e^{-ns/2}/\sqrt{1-e^{-s}}`: propose :math:`s_0` plus an exponential of rate :math:`n/2`
    and accept with probability :math:`\sqrt{(1-e^{-s_0})/(1-e^{-s})}`.  Below one standard unit,
    plain rejection.  The expected number of proposals is at most about seven.
    """
    if x0 * math.sqrt(n) < 1.0:
        while True:
            x = rng.standard_normal() / math.sqrt(rng.chisquare(n))
            if x > x0:
                return x
    s0 = math.log1p(x0 * x0)
    w0 = x0 * x0 / (1.0 + x0 * x0)
    while True:
        extra = rng.standard_exponential() / (0.5 * n)
        if rng.random() ** 2 * -math.expm1(-(s0 + extra)) <= w0:
            return math.sqrt(math.expm1(s0 + extra))


def _difference_of_products(a: ArrayLike, b: ArrayLike, c: ArrayLike) -> FloatArray:
    """``a b - c^2`` (n,) to full precision of the inputs (Dekker's exact products)."""

    def product(x: FloatArray, y: FloatArray) -> tuple[FloatArray, ...]:
        split = 134217729.0  # 2^27 + 1
        xh = split * x - (split * x - x)
        yh = split * y - (split * y - y)
        xl, yl = x - xh, y - yh
        p = x * y
        return p, ((xh * yh - p) + xh * yl + xl * yh) + xl * yl

    p, p_low = product(np.asarray(a, float), np.asarray(b, float))
    q, q_low = product(np.asarray(c, float), np.asarray(c, float))
    return np.asarray((p - q) + (p_low - q_low))


def _check_products(
    u1_sq: ArrayLike, u12: ArrayLike, u2_sq: ArrayLike, s_sq: ArrayLike
) -> tuple[FloatArray, FloatArray, IntArray]:
    """``B - A`` and ``A B - c^2`` in units in which the largest product is at least 1/2.

    The third array holds the exponents e of these units, 2^e.  Powers of two change no digit, so
    that products neither overflow nor vanish.
    """
    names = ("u1_sq", "u12", "u2_sq", "s_sq")
    values = [real_array(name, v) for name, v in zip(names, (u1_sq, u12, u2_sq, s_sq), strict=True)]
    for name, value in zip(names, values, strict=True):
        require_finite(name, value)
        if name != "u12" and np.any(value < 0.0):
            raise InvalidParameter(f"{name}={shown(value)} must be >= 0")
    one, cross, two, noise = _same_shape(names, values)
    largest = np.maximum(np.maximum(one, two), np.maximum(np.abs(cross), noise))
    exponents = np.frexp(largest)[1].astype(np.int64)
    one, cross, two, noise = (np.ldexp(v, -exponents) for v in (one, cross, two, noise))
    gram = _difference_of_products(one, two, cross)
    if np.any(gram < -1e-9 * one * two):
        raise InvalidParameter(f"u12={shown(u12)} must satisfy u12^2 <= u1_sq u2_sq")
    gap = np.maximum(one - 2.0 * cross + two, 0.0)
    return two - one, np.maximum(gram, 0.0) + noise * gap, exponents


def _same_shape(names: tuple[str, ...], values: list[FloatArray]) -> tuple[FloatArray, ...]:
    """The arrays, broadcast against each other to one shape (...,)."""
    try:
        return tuple(np.broadcast_arrays(*values))
    except ValueError:
        shapes = ", ".join(f"{n}.shape={v.shape}" for n, v in zip(names, values, strict=True))
        raise InvalidParameter(f"{shapes} must be equal, or of length 1 where not") from None


def margin_from_products(
    u1_sq: ArrayLike, u12: ArrayLike, u2_sq: ArrayLike, s_sq: ArrayLike
) -> FloatArray:
    """The margin ``x`` (...,) from inner products.

    It is infinite where the preference is certain, and NaN on a certain tie.
    """
    difference, determinant, _ = _check_products(u1_sq, u12, u2_sq, s_sq)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(difference / (2.0 * np.sqrt(determinant)))


@validated(n=_SAMPLES, ties=Real(0.0, 1.0))
def log_misidentification_probability(
    u1_sq: ArrayLike,
    u12: ArrayLike,
    u2_sq: ArrayLike,
    s_sq: ArrayLike,
    n: ArrayLike,
    ties: float = 0.0,
) -> FloatArray:
    r"""log P(a client of cluster a prefers model b) :math:`=\log P(F_{n,n}\ge l_-/l_+)`.

    Parameters
    ----------
    u1_sq, u12, u2_sq : inner products of :math:`u_1=\theta_a-\theta_a^*` and
        :math:`u_2=\theta_b-\theta_a^*`.  They broadcast against each other.
    s_sq : noise variance.
    n : samples per client, >= 1.
    ties : the probability that a certain tie goes to ``b`` (0: ``a`` has the smaller index).

    Raises
    ------
    InvalidParameter : arguments that are NaN or outside their ranges.

    Notes
    -----
    Source: exact counterpart of Lemma 1 of Ghosh, Chung, Yin & Ramchandran (TIT 2022).  Near-equal
    models lose relative precision through ``u1_sq - 2 u12 + u2_sq``.  `margin` uses the vectors and
    loses none.

    Examples
    --------
    A model at the truth against one at distance 2, noise 1, one sample and fifty:

    >>> p = np.exp(log_misidentification_probability(0.0, 0.0, 4.0, 1.0, [1, 50]))
    >>> [f"{q:.2g}" for q in p]
    ['0.25', '2.3e-09']
    """
    return log_tail_probability(margin_from_products(u1_sq, u12, u2_sq, s_sq), n, ties)


@validated(n=_SAMPLES, ties=Real(0.0, 1.0))
def log_tail_probability(margins: ArrayLike, n: ArrayLike, ties: float = 0.0) -> FloatArray:
    """log P(t_n >= sqrt(n) x) for an array (...,) of margins.

    NaN margins give ``log(ties)``.
    """
    x, n_array = _same_shape(("margins", "n"), [real_array("margins", margins), np.asarray(n)])
    out = np.empty(x.shape)
    flat = np.empty(x.size)
    _fill_log_tail(x.flatten(), n_array.flatten(), flat)  # writable, whatever was given
    out[...] = flat.reshape(x.shape)
    out[np.isnan(x)] = math.log(ties) if ties > 0 else -math.inf
    return out
