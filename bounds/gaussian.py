r"""Exact laws for Gaussian features, with which the papers' inequalities are compared.

A client of cluster :math:`a` has residuals :math:`r_j = X u_j - \epsilon` under model :math:`j`,
:math:`u_j = \theta_j - \theta_a^*`.  Per sample, :math:`(r_a, r_b)` is Gaussian with covariance

.. math:: S = \begin{pmatrix} |u_a|^2+\sigma^2 & \langle u_a,u_b\rangle+\sigma^2 \\
              \langle u_a,u_b\rangle+\sigma^2 & |u_b|^2+\sigma^2 \end{pmatrix},

so :math:`\|r_a\|^2-\|r_b\|^2 = l_+\chi^2_n - l_-\chi'^2_n` with :math:`l_+ > 0 > -l_-` the
eigenvalues of :math:`S\,\mathrm{diag}(1,-1)`, and the client prefers :math:`b` with probability
:math:`P(F_{n,n}\ge l_-/l_+)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import scipy
import sympy as sp
from numpy.typing import NDArray
from scipy import special

from bounds.statement import OutsideTheorem

n, d, N = sp.symbols("n d N")
sigma = sp.Symbol("sigma")
r = sp.Symbol("r")

#: Samples from which the pairwise law is evaluated by its saddlepoint formula.
LARGE = 1_000_000
_UNDERFLOW = 1e-290  # smaller probabilities are computed on the log scale
_MAX_TERMS = 10_000
#: SciPy's tails of a chi-square serve up to so many samples, and so near the mean beyond: the
#: deviation is in units of the root of half the samples.
_FEW, _NEAR = 10_000, 4.0
#: From so many standard deviations on, the rounding of a square spoils a ratio of two tails.
_FAR = 1e4

#: Chernoff exponent of the pairwise law: ``P <= exp(-chernoff)`` for ``r = l_-/l_+ >= 1``.
CHERNOFF_EXPONENT: sp.Expr = (n / 2) * sp.log((1 + r) ** 2 / (4 * r))

FloatArray = NDArray[np.float64]

#: Mean squared error of least squares on ``N > d + 1`` Gaussian samples.
LEAST_SQUARES_MSE: sp.Expr = sigma**2 * d / (N - d - 1)


MOST_SAMPLES = 10**18


def _show(value: Any) -> str:
    """A refused value on one line, cut where it is long."""
    return " ".join(repr(value)[:200].split())[:60]


def _real(name: str, value: Any, low: float, high: float = 1e300) -> float:
    """A finite number in [low, high]."""
    plain = value.item() if isinstance(value, np.generic) else value
    number = not isinstance(plain, bool) and isinstance(plain, int | float)
    if not number or not low <= plain <= high:
        raise OutsideTheorem(f"{name}={_show(value)} must be a number in [{low:g}, {high:g}]")
    return float(plain)


def _whole(name: str, value: Any, low: int, high: int = MOST_SAMPLES) -> int:
    """A whole number in [low, high].  A float such as 1e6 counts as whole."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float) and plain.is_integer():
        plain = int(plain)
    if isinstance(plain, bool) or not isinstance(plain, int) or not low <= plain <= high:
        raise OutsideTheorem(f"{name}={_show(value)} must be an integer in [{low}, {high}]")
    return plain


def _ratio(value: Any) -> float:
    """A ratio of the pairwise law: >= 0, infinite where the preference is certain."""
    if isinstance(value, float) and value == math.inf:
        return math.inf
    return _real("ratio", value, 0.0)


def pairwise_ratio(u_a_sq: float, u_ab: float, u_b_sq: float, sigma_sq: float) -> float:
    r"""The ratio ``l_-/l_+`` of the pairwise law (dimensionless).

    It is at least 1 when ``|u_b| >= |u_a|``.

    With :math:`\delta = |u_b|^2-|u_a|^2` and the Gram determinant
    :math:`G = |u_a|^2|u_b|^2-\langle u_a,u_b\rangle^2+\sigma^2|u_a-u_b|^2`,
    :math:`l_\pm = (\sqrt{\delta^2+4G}\mp\delta)/2`.
    """
    u_a_sq, u_b_sq = _real("u_a_sq", u_a_sq, 0.0), _real("u_b_sq", u_b_sq, 0.0)
    u_ab, sigma_sq = _real("u_ab", u_ab, -1e300), _real("sigma_sq", sigma_sq, 0.0)
    # Scaling by powers of two changes no digit and keeps products in the range of floats.
    unit = math.ldexp(1.0, -math.frexp(max(u_a_sq, abs(u_ab), u_b_sq, sigma_sq))[1])
    u_a_sq, u_ab, u_b_sq, sigma_sq = (unit * v for v in (u_a_sq, u_ab, u_b_sq, sigma_sq))
    delta = u_b_sq - u_a_sq
    gram = max(u_a_sq * u_b_sq - u_ab**2, 0.0) + sigma_sq * max(u_a_sq - 2 * u_ab + u_b_sq, 0.0)
    root = np.hypot(delta, 2.0 * np.sqrt(gram))
    # l_+ l_- = G.  The smaller one comes from a division, because a subtraction would lose digits.
    large = (root + abs(delta)) / 2.0
    small = gram / large if large > 0.0 else 0.0
    if small == 0.0:
        return np.inf if delta > 0 else (0.0 if delta < 0 else 1.0)
    with np.errstate(over="ignore"):
        return float(np.float64(large) / small if delta >= 0 else small / large)


def pairwise_ratios(
    u_a_sq: FloatArray, u_ab: FloatArray, u_b_sq: FloatArray, sigma_sq: float
) -> FloatArray:
    """`pairwise_ratio` of many pairs of models at once, for arrays of one shape.

    The entries are not checked one by one: they are finite and come from vectors.
    """
    largest = np.maximum(np.maximum(u_a_sq, np.abs(u_ab)), np.maximum(u_b_sq, sigma_sq))
    unit = np.ldexp(1.0, -np.frexp(largest)[1])
    a, cross, b, noise = unit * u_a_sq, unit * u_ab, unit * u_b_sq, unit * sigma_sq
    delta = b - a
    gram = np.maximum(a * b - cross**2, 0.0) + noise * np.maximum(a - 2 * cross + b, 0.0)
    large = (np.hypot(delta, 2.0 * np.sqrt(gram)) + np.abs(delta)) / 2.0
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        small = gram / large
        ratios = np.where(delta >= 0, large / small, small / large)
    certain = np.where(delta > 0, np.inf, np.where(delta < 0, 0.0, 1.0))
    return np.asarray(np.where(small > 0.0, ratios, certain))


def pairwise_log_probabilities(ratios: FloatArray, n_samples: int) -> FloatArray:
    """`pairwise_log_probability` of many ratios at once, (N,).

    The entries are not checked one by one: they come from `pairwise_ratios`.
    """
    half = n_samples / 2.0
    plain = np.zeros(ratios.shape)
    if n_samples <= LARGE:
        plain = special.betainc(half, half, 1.0 / (1.0 + ratios))
    with np.errstate(divide="ignore"):
        logs = np.log(plain)
    for i in np.flatnonzero(~(plain > _UNDERFLOW)):
        logs[i] = pairwise_log_probability(float(ratios[i]), n_samples)
    return np.asarray(logs)


def pairwise_log_probability(ratio: float, n_samples: int) -> float:
    """Log of ``P(F_{n,n} >= ratio)``: natural log of the pairwise misidentification probability.

    It is computed by the regularised incomplete beta function.  Where that underflows, its
    continued fraction is used, on the log scale.  Beyond `LARGE` samples the saddlepoint formula of
    Lugannani and Rice is used, whose relative error is of order 1/n.  So exponents of any size are
    returned.
    """
    ratio, n_samples = _ratio(ratio), _whole("n_samples", n_samples, 1)
    if ratio == np.inf:
        return -np.inf
    if ratio == 0.0:
        return 0.0
    if n_samples > LARGE:
        return _saddlepoint_log_probability(ratio, n_samples)
    value = float(special.betainc(n_samples / 2.0, n_samples / 2.0, 1.0 / (1.0 + ratio)))
    if value > _UNDERFLOW:
        return float(np.log(value))
    return _deep_log_probability(ratio, n_samples)


def _deep_log_probability(ratio: float, n_samples: int) -> float:
    r"""The same for ratios above one, where the probability is below the smallest float.

    :math:`I_x(a,a)=\frac{(4x(1-x))^a}{2a\,B(a,1/2)}\,f`, :math:`a=n/2`, :math:`x=1/(1+r)`.  The
    power is Chernoff's bound.  f is the continued fraction of DLMF 8.17.22, by Lentz's method.
    """
    a, x = n_samples / 2.0, 1.0 / (1.0 + ratio)
    d = 1.0 / (1.0 - 2.0 * a * x / (a + 1.0))
    fraction, c = d, 1.0
    for i in range(1, _MAX_TERMS):
        even = i * (a - i) * x / ((a + 2 * i - 1) * (a + 2 * i))
        odd = -(a + i) * (2 * a + i) * x / ((a + 2 * i) * (a + 2 * i + 1))
        for term in (even, odd):
            d = 1.0 / (1.0 + term * d)
            c = 1.0 + term / c
            fraction *= d * c
        if abs(d * c - 1.0) < 4e-16:
            break
    log_front = chernoff_exponent(ratio, n_samples) + math.log(2.0 * a) + _log_beta_half(a)
    return math.log(fraction) - log_front


def _log_beta_half(a: float) -> float:
    """log B(a, 1/2), without the cancellation of two large log-gammas when ``a`` is large."""
    if a < 40.0:
        return math.lgamma(a) + math.lgamma(0.5) - math.lgamma(a + 0.5)
    b = 1.0 / a
    series = b * (-1.0 / 8 + b * b * (1.0 / 192 + b * b * (-1.0 / 640 + b * b * 17.0 / 14336)))
    return 0.5 * math.log(math.pi) - 0.5 * math.log(a) - series


def _saddlepoint_log_probability(ratio: float, n_samples: int) -> float:
    r"""Lugannani and Rice: :math:`\bar\Phi(w)+\phi(w)(1/u-1/w)`.

    The cumulant generating function :math:`-\frac n2\log(1-2s)(1+2rs)` has its saddlepoint at
    :math:`(r-1)/4r`, where :math:`w^2=n\log((1+r)^2/4r)` and :math:`u=\sqrt n(r-1)/(r+1)`.
    """
    top = min(ratio, 1e100)  # beyond, the share is one
    u = np.sqrt(n_samples) * (top - 1.0) / (top + 1.0)
    w = np.copysign(np.sqrt(2.0 * chernoff_exponent(ratio, n_samples)), u)
    tail = float(special.log_ndtr(-w))
    if abs(w) < 1e-2:  # the correction is of order w/n
        return tail
    log_density = -0.5 * w**2 - 0.5 * np.log(2 * np.pi)
    if w > _FAR:
        mills = math.sqrt(0.5 * math.pi) * float(special.erfcx(w / math.sqrt(2.0)))
        return float(log_density + np.log(mills + (1.0 / u - 1.0 / w)))
    return tail + float(np.log1p(np.exp(log_density - tail) * (1.0 / u - 1.0 / w)))


def pairwise_probability_mp(ratio: float | mpmath.mpf, n_samples: int, dps: int = 40) -> mpmath.mpf:
    r"""The same probability with ``dps`` significant digits.

    :math:`I_x(a,a) = x^a(1-x)^a/(a B(a,a))\;{}_2F_1(2a,1;a+1;x)` with :math:`x = 1/(1+r)`, whose
    series has positive terms only.
    """
    n_samples, dps = _whole("n_samples", n_samples, 1, LARGE), _whole("dps", dps, 1, 10_000)
    if not isinstance(ratio, mpmath.mpf):
        ratio = _ratio(ratio)
    if not ratio >= 0:
        raise OutsideTheorem(f"ratio={ratio} must be >= 0")
    if ratio == 0 or ratio == mpmath.inf:
        return mpmath.mpf(1 if ratio == 0 else 0)
    # The logs of the front factor are of the order of n, and its exponential has their error.
    with mpmath.workdps(dps + len(str(n_samples)) + 5):
        a = mpmath.mpf(n_samples) / 2
        x = 1 / (1 + mpmath.mpf(ratio))
        if x > mpmath.mpf("0.5"):
            return 1 - pairwise_probability_mp(1 / mpmath.mpf(ratio), n_samples, dps)
        log_front = (
            a * mpmath.log(x * (1 - x))
            - mpmath.log(a)
            - 2 * mpmath.loggamma(a)
            + mpmath.loggamma(2 * a)
        )
        # Near x = 1/2 the terms fall within some roots of n.
        return mpmath.exp(log_front) * mpmath.hyp2f1(2 * a, 1, a + 1, x, maxterms=10**7)


def chernoff_exponent(ratio: float, n_samples: int) -> float:
    r"""``(n/2) log((1+r)^2/(4r))``, without cancellation at ``r`` near 1."""
    ratio, n_samples = _ratio(ratio), _whole("n_samples", n_samples, 1)
    if ratio in (0.0, math.inf):
        return math.inf
    if 1e-100 < ratio < 1e100:
        return 0.5 * n_samples * float(np.log1p((1.0 - ratio) ** 2 / (4.0 * ratio)))
    return 0.5 * n_samples * (abs(math.log(ratio)) - math.log(4.0))


def chi_square_log_tail(n_samples: float, deviation: float) -> float:
    """Log of ``P(chi2_n/n - 1 >= deviation)`` (``<=`` when the deviation is negative).

    SciPy's probability serves near the mean, and for few samples unless it underflows.  Else the
    log comes from a continued fraction of the incomplete gamma function.  SciPy adds up no more
    than 2,000 terms, and a lower tail of many samples needs more.
    """
    n_samples = _real("n_samples", n_samples, 1e-3, 1e18)
    deviation = _real("deviation", deviation, -1e100, 1e100)
    a, x = n_samples / 2.0, n_samples * (1.0 + deviation) / 2.0
    if x <= 0.0:
        return -np.inf
    upper = deviation >= 0
    if n_samples <= _FEW or abs(deviation) * math.sqrt(a) < _NEAR:
        value = float(special.gammaincc(a, x) if upper else special.gammainc(a, x))
        if value > _UNDERFLOW:
            return float(np.log(value))
    fraction = _gamma_above(a, deviation) if upper else _gamma_below(a, deviation)
    return _log_gamma_front(a, deviation) + math.log(fraction)


def chi_square_log_above(n_samples: float, x: float) -> float:
    """Log of ``P(chi2_n >= x)``, on either side of the mean and far below the smallest float.

    >>> chi_square_log_above(1000, 25397.2)  # SciPy's logsf is -inf here
    -10588.5...
    """
    n_samples, x = _real("n_samples", n_samples, 1e-3, 1e18), _real("x", x, 0.0, 1e90)
    deviation = (x - n_samples) / n_samples
    tail = chi_square_log_tail(n_samples, deviation)
    return tail if deviation >= 0 else math.log1p(-math.exp(tail))


def _log_gamma_front(a: float, deviation: float) -> float:
    r"""Log of :math:`x^a e^{-x}/\Gamma(a)` at x = a (1 + deviation), without large terms.

    With few samples, :math:`a\log a-a-\log\Gamma(a)` is a sum of small terms.  With more, it is
    Stirling's series.
    """
    if abs(deviation) < 0.1:
        # log(1 + y) = 2 artanh(t), and 2 t - y = -y t
        t = deviation / (2.0 + deviation)
        rest = sum(t ** (2 * i) / (2 * i + 3) for i in range(8))
        power = 2.0 * t**3 * rest - deviation * t
    else:
        power = math.log1p(deviation) - deviation
    if a < 40.0:
        return a * power + a * math.log(a) - a - math.lgamma(a)
    b = 1.0 / a
    series = b * (1.0 / 12 + b * b * (-1.0 / 360 + b * b / 1260))
    return a * power + 0.5 * math.log(a / (2.0 * math.pi)) - series


def _gamma_above(a: float, deviation: float) -> float:
    r""":math:`\Gamma(a,x)/(x^ae^{-x})` for x > a."""
    return _continued_fraction(a * deviation + 1.0, 2.0, lambda i: i * (a - i))


def _gamma_below(a: float, deviation: float) -> float:
    r""":math:`\gamma(a,x)/(x^ae^{-x})` for x < a.

    It is :math:`\frac1{a-x+}\,\frac x{a+1-x+}\,\frac{2x}{a+2-x+}\cdots`, whose terms are positive.
    """
    x = a * (1.0 + deviation)
    return _continued_fraction(-a * deviation, 1.0, lambda i: i * x)


def _continued_fraction(b: float, step: float, numerator: Callable[[int], float]) -> float:
    r""":math:`\frac1{b+}\,\frac{a_1}{b+s+}\,\frac{a_2}{b+2s+}\cdots` by Lentz's method."""
    c, d = 1e300, 1.0 / b
    fraction = d
    for i in range(1, 100_000):
        b += step
        top = numerator(i)
        d = 1.0 / (top * d + b)
        c = b + top / c
        fraction *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return fraction


def binomial_log_cdf(count: int, n_trials: int, success: float) -> float:
    """Log of ``P(Bin(n, q) <= count)`` for ``count`` below the mean, without underflow.

    It is the log mass at ``count`` plus the log of the sum of the ratios of the smaller counts'
    masses to it.  These ratios fall geometrically.
    """
    n_trials = _whole("n_trials", n_trials, 0)
    count = _whole("count", count, 0, n_trials)
    success = _real("success", success, 0.0, 1.0)
    if success == 0.0 or count == n_trials:
        return 0.0
    if success == 1.0:
        return -np.inf
    term = total = 1.0
    i = count
    while i > 0 and term > 1e-17 * total:
        term *= i / (n_trials - i + 1) * (1.0 - success) / success
        total += term
        i -= 1
    return float(_log_binomial_mass(count, n_trials, success) + np.log(total))


def _log_binomial_mass(count: int, n_trials: int, success: float) -> float:
    r"""Log of ``P(Bin(n, q) = count)`` for ``count < n`` and 0 < q < 1.

    SciPy takes the difference of log-factorials, whose rounding grows with n.  Beyond `LARGE`
    trials Stirling's series cancels their large terms (Loader 2000): with
    :math:`\phi(t)=(1+t)\log(1+t)-t` and Stirling's error :math:`\delta` the log is

    .. math:: -nq\,\phi\Bigl(\frac{k-nq}{nq}\Bigr)-n(1-q)\,\phi\Bigl(\frac{nq-k}{n(1-q)}\Bigr)
              +\delta(n)-\delta(k)-\delta(n-k)+\frac12\log\frac n{2\pi k(n-k)}.
    """
    if n_trials <= LARGE:
        return float(scipy.stats.binom.logpmf(count, n_trials, success))
    if count == 0:
        return n_trials * math.log1p(-success)
    mean, others = n_trials * success, n_trials * (1.0 - success)
    rest = n_trials - count
    log = -mean * _above_line((count - mean) / mean) - others * _above_line((mean - count) / others)
    log += _stirling_error(n_trials) - _stirling_error(count) - _stirling_error(rest)
    return log + 0.5 * (math.log(n_trials / rest) - math.log(2.0 * math.pi * count))


def _above_line(t: float) -> float:
    """(1 + t) log(1 + t) - t for t > -1, without cancellation near 0."""
    if abs(t) > 0.1:
        return (1.0 + t) * math.log1p(t) - t
    return t * t * sum((-t) ** i / ((i + 1) * (i + 2)) for i in range(16))


def _stirling_error(n: int) -> float:
    """log n! less Stirling's formula, for n >= 1."""
    if n < 20:
        return math.lgamma(n + 1.0) - (n + 0.5) * math.log(n) + n - 0.5 * math.log(2.0 * math.pi)
    b = 1.0 / n
    return b * (1.0 / 12 - b * b * (1.0 / 360 - b * b * (1.0 / 1260 - b * b / 1680)))
