r"""Federated moment descent: Phase 1 and Algorithm 3 of Su, Xu & Yang (2022).

A few *anchor* clients descend from one start to their own cluster's parameter.  In round t the
server draws m fresh clients with two points each.  For anchor i, with
:math:`\varepsilon(x,y)=(y-\langle x,\theta_{i,t}\rangle)x`,

.. math:: Y_{i,t}=\frac1m\sum_{i'}\varepsilon(x_{i'1},y_{i'1})\varepsilon(x_{i'2},y_{i'2})^\top,
          \qquad \mathbb E Y_{i,t}=\sum_jp_j\Sigma_j(\theta_j^*-\theta_{i,t})
          (\theta_j^*-\theta_{i,t})^\top\Sigma_j,

so the top k left singular vectors U of Y span the residual errors.  From 2 l fresh points of the
anchor, eq. (2):

.. math:: A_{i,t}=\frac1\ell\sum_jU^\top\varepsilon(x_j,y_j)
          \bigl(U^\top\varepsilon(\tilde x_j,\tilde y_j)\bigr)^\top,\qquad
          \mathbb EA_{i,t}=U^\top\Sigma_{z_i}(\theta^*_{z_i}-\theta_{i,t})
          (\theta^*_{z_i}-\theta_{i,t})^\top\Sigma_{z_i}U.

Its leading left singular vector and value :math:`(\hat\beta,\hat\sigma^2)` give the step
:math:`\theta_{i,t+1}=\theta_{i,t}+\tfrac{\alpha\hat\sigma}{2\beta^2}U\hat\beta`, taken while
:math:`\hat\sigma>\epsilon\Delta`.

No d x d matrix is formed: :math:`Y_i=X_1^\top\operatorname{diag}(w_i)X_2/m`, where the weights
:math:`w_i=r_1r_2` are products of residuals.  All anchors share X_1 and X_2.  So the columns that
the anchors iterate are the rows of one matrix, and half a step is two GEMMs.

*Readings.*  (a) A singular vector has no sign, and the proof of (21) uses
:math:`\langle U\hat\beta,\Sigma(\theta^*-\theta)\rangle>0` while (27) bounds its square.  As
printed the step goes the wrong way with probability one half.  ``orient=True`` takes the sign from
the anchor's own points, :math:`\mathbb E\varepsilon=\Sigma(\theta^*-\theta)`.  ``False`` keeps the
iteration's.  (b) As printed, an anchor at rest is tested again in each round and may move again.
In the proof it stops forever (:math:`\theta_T=\theta_{t^*}`).  ``stopping`` is ``printed`` or
``final``.  (c) "Same cluster when closer than Delta/2" need not be transitive.  Groups are the
connected components (`trials.mixed_regression.anchor_groups`), and their ``is_consistent`` tells
whether all are cliques.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trials.checks import (
    FloatArray,
    IntArray,
    InvalidParameter,
    finite_batch,
    integer_between,
    real_array,
    record_of,
)
from trials.mixed_regression.batches import MomentBatch, check_batch
from trials.mixed_regression.subspaces import (
    SubspaceResult,
    krylov_bases,
    orthogonal_iteration,
    power_iteration,
    random_basis,
)
from trials.models.run_status import DIVERGENCE_BOUND
from trials.parameters import (
    Array,
    Domain,
    Flag,
    Function,
    Integer,
    Maybe,
    Options,
    Real,
    Record,
    Stream,
    validated,
)


class AnchorStatus(IntEnum):
    """How an anchor's descent ended."""

    STOPPED = 0
    """The residual estimate fell to epsilon Delta."""
    ROUNDS_SPENT = 1
    """It was still descending after T rounds."""
    DIVERGED = 2
    """A step would have left the divergence bound.  The last bounded estimate is kept."""


@dataclass(frozen=True, kw_only=True)
class MomentDescentResult:
    """The anchors' estimates and steps.

    Attributes
    ----------
    theta : (H, d) final estimates, always finite.
    status : (H,) `AnchorStatus` values.
    n_steps : (H,) steps taken.
    residuals : (T, H) sigma_hat of each round, an estimate of |Sigma (theta* - theta_t)|, repeated
        for an anchor that has left.
    half_steps : (T, H) broadcasts of a (d, k) basis for each round's subspace, 0 for an anchor that
        has left.  The clients answer each with m such matrices.
    distances : (T + 1, H) |theta_t - target| before each round and after the last, or None without
        targets.
    """

    theta: FloatArray
    status: NDArray[np.int8]
    n_steps: IntArray
    residuals: FloatArray
    half_steps: IntArray
    distances: FloatArray | None


@dataclass(frozen=True, kw_only=True)
class DescentOptions:
    """The constants of Phase 1 and the readings of its text.

    Attributes
    ----------
    alpha, beta : 0 < alpha <= beta, the spectrum's limits that the step alpha sigma_hat / (2
        beta^2) assumes.
    threshold : epsilon Delta >= 0: an anchor moves while its sigma_hat exceeds it.
    n_rounds : T >= 1.
    subspace_iterations : T1 >= 2, even.
    power_iterations : T2 >= 1.
    orient, stopping : the readings (a) and (b) of the module.  ``stopping`` is ``final`` or
        ``printed``.
    tol : the ``tol`` of the iterations for the subspaces, 0 as printed.
    krylov_blocks : S > 0 replaces Algorithm 3 by `trials.mixed_regression.subspaces.krylov_bases`
        with S blocks at most.
    divergence_bound : largest norm of an estimate, in (0, 1e30].

    Raises
    ------
    InvalidParameter : a value outside its range.
    """

    alpha: float
    beta: float
    threshold: float
    n_rounds: int
    subspace_iterations: int
    power_iterations: int
    orient: bool = True
    stopping: str = "final"
    tol: float = 0.0
    krylov_blocks: int = 0
    divergence_bound: float = DIVERGENCE_BOUND

    def __post_init__(self) -> None:
        for name, domain in _OPTIONS.items():
            object.__setattr__(self, name, domain.check(name, getattr(self, name)))
        if self.beta < self.alpha:
            raise InvalidParameter(f"beta={self.beta:g} must be >= alpha={self.alpha:g}")
        if self.subspace_iterations % 2:
            raise InvalidParameter(f"subspace_iterations={self.subspace_iterations} must be even")


_OPTIONS: dict[str, Domain] = {
    "alpha": Real(0.0, open_low=True),
    "beta": Real(0.0, open_low=True),
    "threshold": Real(0.0),
    "n_rounds": Integer(1),
    "subspace_iterations": Integer(2),
    "power_iterations": Integer(1),
    "orient": Flag(),
    "stopping": Options(("final", "printed")),
    "tol": Real(0.0),
    "krylov_blocks": Integer(0),
    "divergence_bound": Real(0.0, 1e30, open_low=True),
}


@validated(
    draw=Function(),
    k=Integer(1),
    options=Record(DescentOptions),
    rng=Stream(),
    targets=Maybe(Array(("H", "d"))),
)
def run_moment_descent(
    *,
    draw: Callable[[int], MomentBatch],
    k: int,
    start: ArrayLike,
    options: DescentOptions,
    rng: np.random.Generator,
    targets: ArrayLike | None = None,
) -> MomentDescentResult:
    """Phase 1 (FedMD) without its last line, `trials.mixed_regression.anchor_groups.group_anchors`.

    Parameters
    ----------
    draw : called once a round t = 0, 1, ... for fresh data
        (`trials.mixed_regression.batches.fresh_batches`).
    k : columns of the bases, 1 <= k <= d.
    start : (d,) theta_0 of all anchors, or (H, d).
    options : constants and readings.
    rng : for the random start of each round's iterations, which all anchors share.
    targets : (H, d) to record distances to, the anchors' true parameters.

    Raises
    ------
    InvalidParameter : before any work, or naming a batch that does not fit.

    Notes
    -----
    A round costs 4 m d k flops for each half step and each anchor that still moves.  Anchors with
    equal estimates share one iteration.  In the first round these are all anchors.
    `trials.mixed_regression.subspaces.detection_sizes` gives the number of clients that a round
    needs.

    Examples
    --------
    One anchor and one cluster, each round 200 clients with two points:

    >>> import numpy as np
    >>> theta_star = np.array([1.0, -2.0])
    >>> def draw(t):
    ...     x = np.random.default_rng(t).standard_normal((3, 200, 2))
    ...     y = x @ theta_star
    ...     return MomentBatch(
    ...         first=x[0], second=x[1], first_y=y[0], second_y=y[1],
    ...         anchor_features=x[2:], anchor_responses=y[2:],
    ...     )
    >>> options = DescentOptions(
    ...     alpha=1.0, beta=1.0, threshold=0.1, n_rounds=30, subspace_iterations=4,
    ...     power_iterations=5,
    ... )
    >>> found = run_moment_descent(
    ...     draw=draw, k=1, start=np.zeros(2), options=options, rng=np.random.default_rng(0),
    ...     targets=theta_star[None],
    ... )
    >>> bool(found.distances[-1, 0] < 0.2)
    True
    """
    batch = record_of("draw(0)", draw(0), MomentBatch)
    n_anchors, _, d = finite_batch("anchor_features", batch.anchor_features, ("H", "2l", "d")).shape
    integer_between("k", k, 1, d, "the dimension d")
    theta = _start(start, n_anchors, d, options.divergence_bound)
    goals = None if targets is None else np.asarray(targets)
    if goals is not None and goals.shape != theta.shape:
        raise InvalidParameter(f"targets.shape={goals.shape} must be {theta.shape}")
    return _descend(draw, batch, theta, k, options, rng, goals)


def _descend(
    draw: Callable[[int], MomentBatch],
    batch: MomentBatch,
    theta: FloatArray,
    k: int,
    options: DescentOptions,
    rng: np.random.Generator,
    goals: FloatArray | None,
) -> MomentDescentResult:
    """The rounds.  ``batch`` is round 0's, and ``theta`` (H, d) is changed in place."""
    n_rounds, bound = options.n_rounds, options.divergence_bound
    n_anchors, d = theta.shape
    status = np.full(n_anchors, AnchorStatus.ROUNDS_SPENT, dtype=np.int8)
    n_steps = np.zeros(n_anchors, dtype=np.int64)
    residuals = np.zeros((n_rounds, n_anchors))
    half_steps = np.zeros((n_rounds, n_anchors), dtype=np.int64)
    distances = np.empty((n_rounds + 1, n_anchors)) if goals is not None else None
    going = np.arange(n_anchors)
    for t in range(n_rounds):
        if distances is not None and goals is not None:
            distances[t:] = np.linalg.norm(theta - goals, axis=1)
        if not going.size:
            break
        batch = check_batch(draw(t) if t else batch, n_anchors, d)
        basis_start = random_basis(d, k, rng)
        vector_start = rng.standard_normal(k)
        found, who = _subspaces(batch, theta[going], basis_start, options)
        half_steps[t, going] = found.n_iterations[who]
        direction, sigma_hat = _directions(
            batch.anchor_features[going], batch.anchor_responses[going], theta[going],
            found.bases[who], vector_start, options.power_iterations, options.orient,
        )  # fmt: skip
        residuals[t:, going] = sigma_hat
        moving = sigma_hat > options.threshold
        status[going] = np.where(moving, AnchorStatus.ROUNDS_SPENT, AnchorStatus.STOPPED)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # a status says it
            length = 0.5 * (options.alpha / options.beta) * (sigma_hat / options.beta)
            stepped = theta[going] + length[:, None] * direction
            lost = moving & ~(np.linalg.norm(stepped, axis=1) <= bound)
        taken = moving & ~lost
        theta[going[taken]] = stepped[taken]
        n_steps[going[taken]] += 1
        status[going[lost]] = AnchorStatus.DIVERGED
        going = going[~lost & (moving | (options.stopping == "printed"))]
    if distances is not None and goals is not None:
        distances[-1] = np.linalg.norm(theta - goals, axis=1)
    return MomentDescentResult(
        theta=theta, status=status, n_steps=n_steps, residuals=residuals, half_steps=half_steps,
        distances=distances,
    )  # fmt: skip


def _subspaces(
    batch: MomentBatch, theta: FloatArray, start: FloatArray, options: DescentOptions
) -> tuple[SubspaceResult, IntArray]:
    """Bases of a round's distinct estimates by Algorithm 3 or Krylov, and each row's number.

    ``theta`` is (H, d) and ``start`` (d, k).  Anchors with equal estimates share one iteration.
    """
    distinct, who = np.unique(theta, axis=0, return_inverse=True)
    weights = (batch.first_y - distinct @ batch.first.T) * (
        batch.second_y - distinct @ batch.second.T
    )
    vectors = {"first": batch.first, "second": batch.second, "weights": weights, "start": start}
    if options.krylov_blocks:
        found = krylov_bases(**vectors, n_blocks=options.krylov_blocks, tol=options.tol)
    else:
        found = orthogonal_iteration(
            **vectors, n_iterations=options.subspace_iterations, tol=options.tol
        )
    return found, who.reshape(-1)


def _start(start: ArrayLike, n_anchors: int, d: int, bound: float) -> FloatArray:
    theta = real_array("start", start)
    if theta.shape not in ((d,), (n_anchors, d)) or not np.isfinite(theta).all():
        raise InvalidParameter(
            f"start of shape {theta.shape} must be ({d},) or ({n_anchors}, {d}) and finite"
        )
    theta = np.broadcast_to(theta, (n_anchors, d)).copy()
    largest = float(np.linalg.norm(theta, axis=1).max())
    if largest > bound:
        raise InvalidParameter(f"divergence_bound={bound:g} must be >= {largest:g}, start's norm")
    return theta


def _directions(
    points: FloatArray,
    answers: FloatArray,
    theta: FloatArray,
    bases: FloatArray,
    vector_start: FloatArray,
    power_iterations: int,
    orient: bool,
) -> tuple[FloatArray, FloatArray]:
    """The unit directions U beta_hat (H, d) and sigma_hat (H,) of eq. (2) and line 13."""
    residual = answers - (points @ theta[:, :, None])[:, :, 0]
    projected = residual[:, :, None] * (points @ bases)  # U^T epsilon, (H, 2 l, k)
    n_pairs = points.shape[1] // 2
    moments = projected[:, :n_pairs].transpose(0, 2, 1) @ projected[:, n_pairs:] / n_pairs
    beta_hat, sigma_sq = power_iteration(moments, vector_start, power_iterations)
    if orient:
        along = (projected @ beta_hat[:, :, None]).sum(axis=(1, 2))
        beta_hat = np.where(along < 0, -1.0, 1.0)[:, None] * beta_hat
    return np.einsum("hdk,hk->hd", bases, beta_hat), np.sqrt(sigma_sq)
