r"""Rates: exponents of power laws and contraction factors, with intervals that admit misfit.

Exponents come from least squares on logarithms,

.. math:: \log y_i = \beta_0 + \sum_j \beta_j \log x_{ij} + \varepsilon_i,

with the HC3 covariance of MacKinnon and White (1985), which weights each squared residual by
:math:`(1 - h_{ii})^{-2}`.  It is consistent for any variances of the cells.  In small designs its
intervals are rather too wide (Long and Ervin 2000).  It counts a power law's lack of fit as noise.
A Student quantile with n - q degrees of freedom would be too small where few cells determine an
exponent.  So Satterthwaite's degrees of freedom for the quadratic form HC3 are used (Bell and
McCaffrey 2002, Imbens and Kolesar 2016).  Limits are simultaneous over the exponents by Bonferroni.

References
----------
MacKinnon, J. G. and White, H. (1985). Some heteroskedasticity-consistent covariance matrix
estimators with improved finite sample properties. Journal of Econometrics 29.
Imbens, G. W. and Kolesar, M. (2016). Robust standard errors in small samples: some practical
advice. Review of Economics and Statistics 98.
Long, J. S. and Ervin, L. H. (2000). Using heteroscedasticity consistent standard errors in the
linear regression model. The American Statistician 54.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from trials.checks import InvalidParameter
from verify.decisions.sequences import FloatArray, check_level
from verify.evidence import Verdict

Side = Literal["equals", "at most", "at least"]


@dataclass(frozen=True, kw_only=True)
class PowerLawFit:
    """A power law fitted to cells.  ``lower`` and ``upper`` are simultaneous at ``level``.

    ``max_leverage`` of one means that a single cell alone determines some exponent: HC3 then has
    nothing to estimate its error from, and the standard errors are infinite.  ``r_squared`` is NaN
    where the quantity is the same in all cells.
    """

    names: tuple[str, ...]
    exponents: tuple[float, ...]
    se: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    dof: tuple[float, ...]
    log_constant: float
    r_squared: float
    max_leverage: float
    level: float

    def limits(self, name: str, level: float, *, family: int = 1) -> tuple[float, float]:
        """Two-sided limits for one exponent at ``level`` shared by ``family`` exponents."""
        i = self.names.index(name)
        half = _t_quantile(level / (2 * family), self.dof[i]) * self.se[i]
        return self.exponents[i] - half, self.exponents[i] + half


def fit_power_law(
    y: ArrayLike,
    x: Mapping[str, ArrayLike],
    *,
    level: float = 0.05,
    se_log: ArrayLike | None = None,
) -> PowerLawFit:
    r"""Fit :math:`y = C \prod_j x_j^{\beta_j}` on logarithms, with HC3 simultaneous limits.

    Parameters
    ----------
    y : (n,) positive values, one a cell.
    x : name -> (n,) positive parameters.  Every one varies, and no logarithm is a linear
        combination of the others.
    level : simultaneous two-sided error probability of the limits.
    se_log : (n,) standard errors of log y.  The fit is then weighted by ``1 / se_log**2``.  Weights
        change only the efficiency.  With wrong weights the HC3 limits stay valid.

    Raises
    ------
    InvalidParameter : values that are not positive, or a design that does not identify the
        exponents.
    """
    # statsmodels imports pandas, which commands that fit nothing should not wait for.
    from statsmodels.regression.linear_model import WLS

    check_level(level)
    log_y = _log("y", y)
    names = tuple(x)
    design = log_design(x)
    n, q = design.shape
    weights = np.ones(n) if se_log is None else np.asarray(se_log, dtype=np.float64) ** -2.0
    if weights.shape != (n,) or not np.all(np.isfinite(weights)):
        raise InvalidParameter("se_log must hold one positive finite value a cell")
    fit = WLS(log_y, design, weights=weights).fit()
    whitened = design * np.sqrt(weights)[:, None]
    leverage, dof = _leverage_and_dof(whitened)
    beta = np.asarray(fit.params, dtype=np.float64)
    identified = float(leverage.max()) < 1.0 - 1e-9
    se = np.asarray(fit.HC3_se, dtype=np.float64) if identified else np.full(q, math.inf)
    tail = level / (2 * max(len(names), 1))
    half = np.array([_t_quantile(tail, f) for f in dof]) * se
    return PowerLawFit(
        names=names,
        exponents=tuple(map(float, beta[1:])),
        se=tuple(map(float, se[1:])),
        lower=tuple(map(float, (beta - half)[1:])),
        upper=tuple(map(float, (beta + half)[1:])),
        log_constant=float(beta[0]),
        dof=tuple(map(float, dof[1:])),
        r_squared=1.0 - float(fit.ssr) / total if (total := float(fit.centered_tss)) else math.nan,
        max_leverage=float(leverage.max()),
        level=level,
    )


#: The share of a sample's sum above which its largest value rules the mean.
_MAX_SHARE = 0.1
#: Trials below which one of them may have a tenth of the sum by chance.  With 128 exponential
#: values the probability is 128 exp(-12.8), or 4e-4.
_MIN_SHARED = 128


def why_ruled(x: FloatArray) -> str:
    """Says that one trial has more than a tenth of the sum, else empty.

    The mean of a cell is then ruled by values that are about as rare as one in its trials.  A
    cell like it may lack them, so that neither its mean nor its standard error says anything.
    """
    sizes = np.abs(x)
    largest = float(sizes.max(initial=0.0))
    if x.size < _MIN_SHARED or not largest > 0:
        return ""
    share = 1.0 / float((sizes / largest).sum())  # the sum itself may overflow
    return f"one trial has {share:.0%} of the sum" if share > _MAX_SHARE else ""


def along(
    x: Mapping[str, ArrayLike], direction: Mapping[str, float]
) -> tuple[str, dict[str, FloatArray]]:
    r"""Parameters in which one exponent is the growth along a direction of the logs.

    For :math:`y = C \prod_j x_j^{\beta_j}` the growth along r is :math:`\sum_j r_j \beta_j`.

    Returns
    -------
    pivot : the name whose exponent is the growth.
    turned : name -> (n,) positive values.  A fit to them is the fit to ``x`` in other coordinates.

    Examples
    --------
    >>> name, turned = along({"m": [1.0, 4.0], "c": [2.0, 2.0]}, {"m": 1, "c": 1})
    >>> name, turned["c"].tolist()  # m/c would have done as well
    ('m', [2.0, 0.5])
    """
    pivot = max(direction, key=lambda name: abs(direction[name]))
    logs = {name: _log(name, values) for name, values in x.items()}
    share = direction[pivot]
    turned = {
        name: log / share if name == pivot else log - logs[pivot] * direction.get(name, 0) / share
        for name, log in logs.items()
    }
    return pivot, {name: np.exp(log) for name, log in turned.items()}


def log_design(x: Mapping[str, ArrayLike]) -> FloatArray:
    """Intercept and logarithms, (n, 1 + q).  They must identify the exponents."""
    logs = [_log(name, values) for name, values in x.items()]
    design = np.column_stack([np.ones_like(logs[0]), *logs])
    n, q = design.shape
    if n <= q:
        raise InvalidParameter(f"n_cells={n} must exceed {q}, the number of coefficients")
    scale = np.maximum(np.abs(design).max(axis=0), 1.0)
    if np.linalg.matrix_rank(design / scale, tol=1e-8) < q:
        raise InvalidParameter(f"the cells do not vary {', '.join(x)} independently")
    return design


def _leverage_and_dof(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    r"""Leverages (n,) and, for each coefficient, the degrees of freedom of its HC3 variance (q,).

    HC3 estimates the variance of coefficient j by :math:`\varepsilon^T M A M \varepsilon` with the
    residual maker M and :math:`A = \mathrm{diag}(g_{ji}^2 / (1 - h_{ii})^2)`,
    :math:`G = (X^T X)^{-1} X^T`.  Its degrees of freedom under equal variances are
    :math:`(\mathrm{tr}\, MA)^2 / \mathrm{tr}(MAMA)`, and never more than n - q.
    """
    n, q = x.shape
    inverse = np.linalg.pinv(x)
    maker = np.eye(n) - x @ inverse
    leverage = 1.0 - np.diag(maker)
    a = (inverse / np.maximum(1.0 - leverage, 1e-9)) ** 2
    dof = (a @ np.diag(maker)) ** 2 / np.einsum("ji,ik,jk->j", a, maker**2, a)
    return leverage, np.clip(dof, 1.0, n - q)


def _t_quantile(tail: float, dof: float) -> float:
    """The upper ``tail`` quantile of Student's t."""
    return -float(stdtrit(dof, tail))


def _log(name: str, values: ArrayLike) -> FloatArray:
    v = np.asarray(values, dtype=np.float64)
    if v.ndim != 1 or not np.all(np.isfinite(v) & (v > 0)):
        raise InvalidParameter(f"{name} must be a vector of positive finite values")
    return np.asarray(np.log(v), dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class RateDecision:
    """The comparison of an exponent's limits with a stated exponent."""

    verdict: Verdict
    summary: str
    stated: float
    side: Side
    margin: float
    lower: float
    upper: float


def decide_rate(
    limits: tuple[float, float], stated: float, side: Side = "equals", margin: float = 0.1
) -> RateDecision:
    """Compare limits for an exponent with the exponent that a theorem states.

    With the band ``stated ± margin`` (one-sided for ``"at most"`` and ``"at least"``): REFUTED when
    the limits lie wholly outside the band, SUPPORTED when wholly inside, else INCONCLUSIVE.  The
    margin, declared beforehand, is the deviation that a finite grid cannot distinguish from
    lower-order terms.  Both errors have at most the error probability of the limits.
    """
    lower, upper = float(limits[0]), float(limits[1])
    if not lower <= upper:
        raise InvalidParameter(f"limits={limits} must be ordered and not NaN")
    if not margin >= 0:
        raise InvalidParameter(f"margin={margin} must be >= 0")
    low = -math.inf if side == "at most" else stated - margin
    high = math.inf if side == "at least" else stated + margin
    if lower > high or upper < low:
        verdict, verb = Verdict.REFUTED, "exclude"
    elif low <= lower and upper <= high:
        verdict, verb = Verdict.SUPPORTED, "agree with"
    else:
        verdict, verb = Verdict.INCONCLUSIVE, "straddle"
    relation = "" if side == "equals" else f"{side} "
    summary = f"limits [{lower:.3g}, {upper:.3g}] {verb} {relation}{stated:.3g} ± {margin:.3g}"
    return RateDecision(
        verdict=verdict,
        summary=summary,
        stated=stated,
        side=side,
        margin=margin,
        lower=lower,
        upper=upper,
    )


@dataclass(frozen=True, kw_only=True)
class ContractionFit:
    """A contraction factor of a step, measured between burn-in and floor.

    ``lower`` / ``upper`` bound the geometric mean factor over the window ``[start, stop]`` of
    iterations, already widened by ``floor_bias`` (in log) on both sides.  ``steps`` lists the mean
    log factor of every step of the window with its limits, for plots.  When ``resolved`` is
    false, ``reason`` says why no factor can be read, and the limits are (0, inf).
    """

    resolved: bool
    reason: str
    factor: float
    lower: float
    upper: float
    se_log: float
    floor: float
    floor_bias: float
    start: int
    stop: int
    n_used: int
    n_failed: int
    steps: tuple[tuple[int, float, float, float], ...]

    def log_limits(self) -> tuple[float, float]:
        """Limits for the logarithm of the factor, as `decide_rate` takes them."""
        return math.log(self.lower) if self.lower > 0 else -math.inf, math.log(self.upper)


def contraction_factor(
    errors: ArrayLike,
    *,
    floor: float | None = None,
    level: float = 0.05,
    above: float = 20.0,
    settle: float = 0.1,
    min_steps: int = 2,
) -> ContractionFit:
    r"""The contraction factor of a step, without the burn-in and the floor.

    The model is :math:`e_{t+1} = \rho_t e_t \pm \varphi` with :math:`\rho_t \to \rho`.  The trials
    are split in two.  Even ones choose the window and odd ones are measured in it, so the choice
    does not bias the interval.

    1. *Floor.* ``floor`` where the caller knows it, else the median error over the last quarter of
       the iterations (at least two).  On a trajectory that has not levelled off yet this overstates
       the floor, which only shortens the window.
    2. *Window's end.* The last iteration before the median error first falls below ``above`` times
       the floor.
    3. *Burn-in.* The first iteration from which on the median log factors of the remaining steps
       stay within ``settle`` of each other, up to three standard errors of such a median.  The rest
       of the burn-in may move the factor by a part of ``settle``, and margins should allow for it.
    4. *Factor.* For each measured trial, the mean log factor over the window.  The interval is
       Student's over trials.
    5. *Remaining effect of the floor.* Inside the window the floor moves the log of one step by at
       most about :math:`\varphi / e_{t+1}`.  The limits are widened by the mean of that over the
       window.

    Parameters
    ----------
    errors : (n_trials, T + 1) non-negative errors along the iterations.  A trial that is not finite
        has no factor: it is counted in ``n_failed``, for the caller to count as a violation.

    Complexity: O(n_trials T).
    """
    e = np.asarray(errors, dtype=np.float64)
    check_level(level)
    if e.ndim != 2 or e.shape[1] < 2:
        raise InvalidParameter(f"errors of shape {e.shape} must be (n_trials, T + 1) with T >= 1")
    finite = np.all(np.isfinite(e) & (e >= 0), axis=1)
    n_failed = int(np.sum(~finite))
    e = e[finite]
    if e.shape[0] < 4:
        return _no_factor(f"{e.shape[0]} finite trials; 4 are needed", n_failed)
    median = np.median(e[0::2], axis=0)
    tail = max(2, e.shape[1] // 4)
    level_off = float(np.median(e[0::2, -tail:])) if floor is None else float(floor)
    low = np.flatnonzero((median <= above * level_off) | (median <= 0))
    stop = int(low[0]) - 1 if low.size else e.shape[1] - 1
    if stop < min_steps:
        reason = f"the error is above {above:g} floors for {max(stop, 0)} steps only"
        return _no_factor(f"{reason}; {min_steps} are needed", n_failed, level_off)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_e = np.log(e[:, : stop + 1])
    n_settled, allowed = _settled_steps(log_e[0::2], settle)
    start = stop - n_settled
    if stop - start < min_steps:
        reason = f"the factors of the last {min_steps} steps above the floor differ by more than"
        return _no_factor(f"{reason} {allowed:.2g} in log: still in burn-in", n_failed, level_off)

    bias = float(np.mean(level_off / median[start + 1 : stop + 1]))
    return _measure(log_e[1::2, start:], start, n_failed, level_off, bias, level)


def _measure(
    measured: FloatArray, start: int, n_failed: int, floor: float, bias: float, level: float
) -> ContractionFit:
    """The factor over the window.  ``measured`` (n_trials, n_steps + 1) holds the log errors."""
    n_steps = measured.shape[1] - 1
    # A trial that reaches zero error inside the window has no logarithm.  It contracts faster than
    # any factor, so there is no lower limit then.
    readable = np.all(np.isfinite(measured), axis=1)
    measured = measured[readable]
    n_used = measured.shape[0]
    if n_used < 2:
        return _no_factor("fewer than two measured trials", n_failed, floor)
    quantile = _t_quantile(level / 2, n_used - 1)
    per_trial = (measured[:, -1] - measured[:, 0]) / n_steps
    mean, se = float(per_trial.mean()), float(per_trial.std(ddof=1) / math.sqrt(n_used))
    return ContractionFit(
        resolved=True,
        reason="",
        factor=math.exp(mean),
        lower=math.exp(mean - quantile * se - bias) if readable.all() else 0.0,
        upper=math.exp(mean + quantile * se + bias),
        se_log=se,
        floor=floor,
        floor_bias=bias,
        start=start,
        stop=start + n_steps,
        n_used=n_used,
        n_failed=n_failed,
        steps=_step_limits(measured, start, quantile),
    )


def _settled_steps(log_errors: FloatArray, settle: float) -> tuple[int, float]:
    """The number of last steps whose median log factors agree, and the spread that is allowed.

    ``log_errors`` is (n_trials, n_steps + 1), of the trials that choose the window.
    """
    with np.errstate(invalid="ignore"):
        factors = np.diff(log_errors, axis=1)
        local = np.median(factors, axis=0)
        # 1.25 / sqrt(n): a median's standard error in units of the standard deviation.
        noise = 1.25 * np.nanmax(factors.std(axis=0)) / math.sqrt(factors.shape[0])
    allowed = settle + (3.0 * noise if math.isfinite(noise) else 0.0)
    spread = np.maximum.accumulate(local[::-1]) - np.minimum.accumulate(local[::-1])
    return int(np.searchsorted(spread, allowed, side="right")), allowed


def _step_limits(
    log_errors: FloatArray, start: int, quantile: float
) -> tuple[tuple[int, float, float, float], ...]:
    """Each step's number, mean log factor, and lower and upper limit of the mean."""
    factors = np.diff(log_errors, axis=1)
    half = quantile * factors.std(axis=0, ddof=1) / math.sqrt(factors.shape[0])
    return tuple(
        (start + i, float(m), float(m - h), float(m + h))
        for i, (m, h) in enumerate(zip(factors.mean(axis=0), half, strict=True))
    )


def _no_factor(reason: str, n_failed: int, floor: float = math.nan) -> ContractionFit:
    return ContractionFit(
        resolved=False,
        reason=reason,
        factor=math.nan,
        lower=0.0,
        upper=math.inf,
        se_log=math.nan,
        floor=floor,
        floor_bias=math.nan,
        start=0,
        stop=0,
        n_used=0,
        n_failed=n_failed,
        steps=(),
    )
