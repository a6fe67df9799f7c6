"""Moment descent, FedAvg and FedProx with clustering, and both in a row (Su, Xu & Yang 2022)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.cluster.hierarchy import linkage
from sklearn.base import clone

from trials.checks import (
    FloatArray,
    InvalidParameter,
    flag,
    integer_between,
    one_of,
    real_between,
    record_of,
    shown,
)
from trials.ifca.communication import floats_down, floats_up
from trials.mixed_regression.anchor_groups import group_anchors
from trials.mixed_regression.batches import choose_anchors, fresh_batches
from trials.mixed_regression.fed_regression import (
    LARGEST_BOUND,
    FedRegressionResult,
    local_spectra,
    run_fed_regression,
)
from trials.mixed_regression.moment_descent import (
    AnchorStatus,
    DescentOptions,
    run_moment_descent,
)
from trials.models.clients import ClientData
from trials.models.run_status import RunStatus
from verify.estimators.base import MORE_STARTS, FederatedEstimator, Outcome
from verify.estimators.ifca import random_starts
from verify.estimators.losses import client_losses, largest_norm, mean_loss, require_squares

#: The moments are squares of products of X and y.  Their last digits are above the least float.
_SMALLEST_PRODUCT = 1e-140


class MomentDescent(FederatedEstimator):
    """Phase 1: a few anchor clients descend, and groups of their estimates are the models.

    Parameters
    ----------
    n_clusters : k, columns of the subspaces and the largest number of groups kept.
    n_anchors : H.  "auto" is 4 k, or all clients with two rows but two a round where there are
        fewer.
    n_rounds : T.  No row of an anchor and no other client serves in two rounds.
    n_pairs : l pairs of rows of an anchor a round.  "auto" uses up the rows of the H-th largest
        client.
    n_clients : other clients a round, of which the first two rows are read.  "auto" uses all.
    alpha, beta : limits of the features' spectrum.  "auto" is that of all rows together.
    threshold : an anchor moves while its residual estimate exceeds it (epsilon Delta).
    separation : Delta: anchors closer than Delta/2 share a group.  None takes the Delta that leaves
        k groups.
    subspace_iterations, power_iterations, orient, stopping : as in
        `trials.mixed_regression.moment_descent.DescentOptions`.
    fit_intercept, random_state : as in `IFCA`.

    Notes
    -----
    The loss is the squared one.  A client with one row is never drawn.  All clients choose their
    labels at the end by their loss.  Floats: for each anchor that was not at rest a round sends its
    estimate and, in each half step, a (d, k) basis to the clients, which send one back.  The anchor
    gets a basis and reports its new estimate.  The end sends k models to all.
    """

    def __init__(
        self, n_clusters: int = 2, *, n_anchors: int | str = "auto", n_rounds: int = 10,
        n_pairs: int | str = "auto", n_clients: int | str = "auto", alpha: float | str = "auto",
        beta: float | str = "auto", threshold: float = 0.0, separation: float | None = None,
        subspace_iterations: int = 10, power_iterations: int = 10, orient: bool = True,
        stopping: str = "final", fit_intercept: bool = False, random_state: Any = None,
    ) -> None:  # fmt: skip
        self.n_clusters = n_clusters
        self.n_anchors = n_anchors
        self.n_rounds = n_rounds
        self.n_pairs = n_pairs
        self.n_clients = n_clients
        self.alpha = alpha
        self.beta = beta
        self.threshold = threshold
        self.separation = separation
        self.subspace_iterations = subspace_iterations
        self.power_iterations = power_iterations
        self.orient = orient
        self.stopping = stopping
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _solve(self, data: ClientData, loss: Any, rng: np.random.Generator) -> Outcome:
        m, d = data.n_clients, data.dimension
        k = min(self._clusters(data, self.n_clusters), d)
        n_rounds = integer_between("n_rounds", self.n_rounds, 1)
        sizes = np.diff(data.offsets)
        pairs, anchors = self._anchors(data, k, n_rounds, rng)
        others = int((sizes >= 2).sum()) - len(anchors)
        batch = others // n_rounds
        if not _is_auto("n_clients", self.n_clients):
            batch = integer_between("n_clients", self.n_clients, 1)
        elif others == 0:
            raise InvalidParameter(
                f"n_anchors={len(anchors)} must leave clients with two rows for the rounds"
            )
        elif batch == 0:
            raise InvalidParameter(
                f"n_rounds={n_rounds} must be <= {others}, the clients with two rows besides the "
                "anchors"
            )
        draw = fresh_batches(
            data, anchors, n_clients=batch, n_pairs=pairs, n_rounds=n_rounds, rng=rng
        )
        found = run_moment_descent(
            draw=draw, k=k, start=np.zeros(d), options=self._options(data, n_rounds), rng=rng
        )
        kept = found.theta[found.status != AnchorStatus.DIVERGED]
        if not len(kept):
            raise InvalidParameter("beta must be larger: every anchor diverged")
        separation = (
            k_groups(kept, self.n_clusters) if self.separation is None
            else real_between("separation", self.separation, 0.0, open_low=True)
        )  # fmt: skip
        models = group_anchors(kept, separation).centres[: self.n_clusters]
        labels = np.asarray(client_losses(data, models, loss).argmin(axis=1))
        # An anchor that comes to rest in a round has got its basis, and reports where it is.
        halves, alive = int(found.half_steps.sum()), int((found.half_steps > 0).sum())
        return Outcome(
            models=models, labels=labels, n_rounds=n_rounds,
            floats_up=halves * batch * d * k + alive * d,
            floats_down=(halves * k + alive) * batch * d + alive * d * k + m * len(models) * d,
            history={
                "residual": found.residuals.max(axis=1),
                "loss": [mean_loss(data, models, labels, loss)],
            },
        )  # fmt: skip

    def _anchors(
        self, data: ClientData, k: int, n_rounds: int, rng: np.random.Generator
    ) -> tuple[int, Any]:
        """Pairs l of a round, and the anchors (H,)."""
        sizes = np.sort(np.diff(data.offsets))[::-1]
        able = int((sizes >= 2).sum())
        if _is_auto("n_anchors", self.n_anchors):
            count = max(min(4 * k, able - 2 * n_rounds), 1)
        else:
            count = integer_between("n_anchors", self.n_anchors, 1, data.n_clients)
        pairs = int(sizes[count - 1]) // (2 * n_rounds)
        if not _is_auto("n_pairs", self.n_pairs):
            pairs = integer_between("n_pairs", self.n_pairs, 1)
        elif able < count:
            raise InvalidParameter(
                f"{count} of the clients must have two rows, to be anchors: {able} have so many"
            )
        elif pairs == 0:
            raise InvalidParameter(
                f"n_rounds={n_rounds} must be <= {sizes[count - 1] // 2}: each of {count} anchors "
                "needs two rows a round"
            )
        return pairs, choose_anchors(data, count, 2 * pairs * n_rounds, rng)

    def _options(self, data: ClientData, n_rounds: int) -> DescentOptions:
        require_squares(data)
        product = float(np.abs(data.features).max() * np.abs(data.responses).max())
        if 0.0 < product < _SMALLEST_PRODUCT:
            raise InvalidParameter(
                f"an entry of X times one of y is at most {product:.3g} in size, and its square "
                f"would vanish: choose units in which it is at least {_SMALLEST_PRODUCT:g}"
            )
        spectrum = np.linalg.eigvalsh(data.features.T @ data.features / len(data.responses))
        auto = max(float(spectrum[-1]), np.finfo(float).tiny)
        beta: Any = auto if _is_auto("beta", self.beta) else self.beta
        least = max(float(spectrum[0]), 1e-3 * auto)
        alpha: Any = least if _is_auto("alpha", self.alpha) else self.alpha
        return DescentOptions(
            alpha=alpha, beta=beta,
            threshold=self.threshold, n_rounds=n_rounds,
            subspace_iterations=self.subspace_iterations, power_iterations=self.power_iterations,
            orient=self.orient, stopping=self.stopping,
            divergence_bound=largest_norm(data, LARGEST_BOUND),
        )  # fmt: skip


def _is_auto(name: str, value: object) -> bool:
    """Whether a parameter that may be a number is "auto"."""
    return isinstance(value, str) and one_of(name, value, ("auto",)) == "auto"


def k_groups(theta: FloatArray, k: int) -> float:
    """The Delta with which `group_anchors` leaves k groups of the estimates (H, d).

    >>> k_groups(np.array([[0.0], [1.0], [9.0]]), 2)
    9.0
    """
    least = float(np.finfo(float).tiny)
    if len(theta) <= k:  # every anchor alone
        return least
    heights = np.append(linkage(theta, "single")[:, 2], np.inf)
    low, high = heights[len(theta) - k - 1], heights[len(theta) - k]
    between = 2.0 * (low + 1.0 if high == np.inf else 0.5 * (low + high))
    return max(float(between), least)  # equal estimates leave fewer groups than k


class FederatedRegression(FederatedEstimator):
    """Phase 2: FedAvg or FedProx within the clusters that each client chooses anew.

    Parameters
    ----------
    n_clusters : k.
    update : "fedavg" or "fedprox".
    n_rounds : T'.
    step_size : eta.  "auto" is .9 over the largest curvature of a client's loss (gamma = .9 in
        Theorem 2).
    local_steps : of FedAvg.
    init, n_init : as in `IFCA`.
    label_rule : None for hard labels, or a function to likelihoods, as in
        `trials.mixed_regression.fed_regression.run_fed_regression`.
    record_loss : whether ``history_["loss"]`` has a value for every round.  Then the kernel is
        called round by round, which costs its shortcut for settled labels.
    fit_intercept, random_state : as in `IFCA`.

    Notes
    -----
    The loss is the squared one, clients may have any sizes, and they count by their rows.  A
    ``ConvergenceWarning`` has the meaning that it has for `IFCA`.
    """

    def __init__(
        self, n_clusters: int = 2, *, update: str = "fedavg", n_rounds: int = 200,
        step_size: float | str = "auto", local_steps: int = 1, init: Any = "random",
        n_init: int = 1, label_rule: Any = None, record_loss: bool = False,
        fit_intercept: bool = False, random_state: Any = None,
    ) -> None:  # fmt: skip
        self.n_clusters = n_clusters
        self.update = update
        self.n_rounds = n_rounds
        self.step_size = step_size
        self.local_steps = local_steps
        self.init = init
        self.n_init = n_init
        self.label_rule = label_rule
        self.record_loss = record_loss
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _solve(self, data: ClientData, loss: Any, rng: np.random.Generator) -> Outcome:
        k = self._clusters(data, self.n_clusters)
        starts = random_starts(data, self.init, k, self.n_init, rng, LARGEST_BOUND)
        found = self._descend(data, loss, starts)
        self._warn_of_changes(found.history["label_changes"], MORE_STARTS)
        return found

    def _descend(self, data: ClientData, loss: Any, starts: FloatArray) -> Outcome:
        """Phase 2 from each of the starts (R, k, d)."""
        n_rounds = integer_between("n_rounds", self.n_rounds, 0)
        flag("record_loss", self.record_loss)
        bound = largest_norm(data, LARGEST_BOUND)
        spectra = local_spectra(data)
        if _is_auto("step_size", self.step_size):
            step = 0.9 / max(float(spectra.largest.max()), np.finfo(float).tiny)
        else:
            step = real_between("step_size", self.step_size, 0.0, open_low=True)
        (m, d), k = (data.n_clients, data.dimension), starts.shape[1]

        def run(start: FloatArray, rounds: int) -> FedRegressionResult:
            found = run_fed_regression(
                data=data, start=start, update=self.update, step_size=step, n_rounds=rounds,
                n_local_steps=self.local_steps, label_rule=self.label_rule, spectra=spectra,
                divergence_bound=bound,
            )  # fmt: skip
            if found.status == RunStatus.DIVERGED:
                raise InvalidParameter(f"step_size={step:g} must be smaller: the rounds diverged")
            return found

        best: Outcome | None = None
        soft = self.label_rule is not None
        up = n_rounds * (m * k * d if soft else floats_up(m, k, d, False))
        for start in starts:
            models, curve, changes, before = start, [], [], np.full(m, -1)
            for _ in range(max(n_rounds, 1) if self.record_loss else 1):
                found = run(models, min(n_rounds, 1) if self.record_loss else n_rounds)
                models = found.models
                changes += found.label_changes.tolist()
                if self.record_loss and n_rounds:  # a call of one round knows none before it
                    changes[-1], before = int((found.labels != before).sum()), found.labels
                labels = np.asarray(client_losses(data, models, loss).argmin(axis=1))
                curve.append(mean_loss(data, models, labels, loss))
            if best is None or curve[-1] < best.history["loss"][-1]:
                best = Outcome(
                    models=models, labels=labels, n_rounds=n_rounds, floats_up=len(starts) * up,
                    floats_down=len(starts) * n_rounds * floats_down(m, k, d, 0, False),
                    history={"loss": curve, "label_changes": changes},
                )  # fmt: skip
        if best is None:
            raise InvalidParameter(f"n_rounds={shown(self.n_rounds)} must be >= 1")
        return best


class GlobalRound(FederatedEstimator):
    """Phase 1, then Phase 2 from its models: the composition of Theorem 3.

    Parameters
    ----------
    n_clusters : k, of both phases.
    phase_1, phase_2 : a `MomentDescent` and a `FederatedRegression`, which are cloned, or None for
        their defaults.  Their n_clusters, init, n_init, fit_intercept and random_state are not
        read.
    fit_intercept, random_state : as in `IFCA`.

    Notes
    -----
    Phase 2 takes the rows of all clients, also of those that Phase 1 has read.  Where Phase 1
    leaves fewer than k groups, Phase 2 has fewer models.
    """

    def __init__(
        self, n_clusters: int = 2, *, phase_1: MomentDescent | None = None,
        phase_2: FederatedRegression | None = None, fit_intercept: bool = False,
        random_state: Any = None,
    ) -> None:  # fmt: skip
        self.n_clusters = n_clusters
        self.phase_1 = phase_1
        self.phase_2 = phase_2
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _solve(self, data: ClientData, loss: Any, rng: np.random.Generator) -> Outcome:
        first = MomentDescent() if self.phase_1 is None else self.phase_1
        second = FederatedRegression() if self.phase_2 is None else self.phase_2
        first = clone(record_of("phase_1", first, MomentDescent))
        second = clone(record_of("phase_2", second, FederatedRegression))
        first.set_params(n_clusters=self.n_clusters)
        first.clients_ = self.clients_
        begun = first._solve(data, loss, rng)
        ended = second._descend(data, loss, begun.models[None])
        changes = ended.history["label_changes"]
        self._warn_of_changes(changes, "(n_rounds of phase_2)")
        return Outcome(
            models=ended.models, labels=ended.labels, n_rounds=begun.n_rounds + ended.n_rounds,
            floats_up=begun.floats_up + ended.floats_up,
            floats_down=begun.floats_down + ended.floats_down,
            history={
                "residual": begun.history["residual"],
                "loss": [*begun.history["loss"], *ended.history["loss"]],
                "label_changes": changes,
            },
        )  # fmt: skip
