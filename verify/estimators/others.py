"""CFL, FeSEM, k-FED, grouped mixtures and PACFL, as estimators of `trials.methods`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from trials.checks import FloatArray, IntArray, InvalidParameter, integer_between, one_of, shown
from trials.methods.cfl import run_cfl
from trials.methods.fesem import run_fesem
from trials.methods.grouped_mixture import run_grouped_mixture, spectral_start
from trials.methods.kfed import local_kmeans, run_kfed
from trials.methods.pacfl import LINKAGES, pacfl_clusters
from trials.models.clients import ClientData
from verify.estimators.base import MORE_ROUNDS, FederatedEstimator, Outcome
from verify.estimators.baselines import floats_of_rows
from verify.estimators.ifca import random_starts
from verify.estimators.losses import (
    is_compiled,
    mean_loss,
    minimisers,
    pooled,
    require_squares,
    step_of,
)


def _require_compiled(loss: Any) -> None:
    if not is_compiled(loss):
        raise InvalidParameter(f"loss={shown(loss)} must be squared or logistic for this method")


class CFL(FederatedEstimator):
    """CFL: recursive bipartition by cosine similarity (Sattler, Mueller & Samek 2020).

    Parameters
    ----------
    n_rounds, step_size, local_steps : as in `IFCA`.
    epsilon_1, epsilon_2, first_split, min_size, linkage, gamma_max, weights : as in
        `trials.methods.cfl.run_cfl`.
    loss, l2, fit_intercept : as in `LocalModels`.

    Notes
    -----
    It finds the number of clusters.  A round sends one model down and one up for each client.
    """

    def __init__(
        self, *, n_rounds: int = 100, step_size: float | str = "auto", local_steps: int = 1,
        epsilon_1: float = 0.1, epsilon_2: float = 0.4, first_split: int = 0, min_size: int = 3,
        linkage: str = "single", gamma_max: float | None = None, weights: str = "clients",
        loss: Any = "squared", l2: float | None = None, fit_intercept: bool = False,
    ) -> None:  # fmt: skip
        self.n_rounds = n_rounds
        self.step_size = step_size
        self.local_steps = local_steps
        self.epsilon_1 = epsilon_1
        self.epsilon_2 = epsilon_2
        self.first_split = first_split
        self.min_size = min_size
        self.linkage = linkage
        self.gamma_max = gamma_max
        self.weights = weights
        self.loss = loss
        self.l2 = l2
        self.fit_intercept = fit_intercept

    def _solve(self, data: ClientData, loss: Any, rng: np.random.Generator) -> Outcome:
        _require_compiled(loss)
        curve: list[float] = []
        found = run_cfl(
            data=data, step_size=step_of(self.step_size, data, loss), n_rounds=self.n_rounds,
            local_steps=self.local_steps, epsilon_1=self.epsilon_1, epsilon_2=self.epsilon_2,
            first_split=self.first_split, min_size=self.min_size, linkage=self.linkage,
            gamma_max=self.gamma_max, weights=self.weights, loss=loss,
            observe=lambda models, labels: curve.append(mean_loss(data, models, labels, loss)),
        )  # fmt: skip
        sent = len(found.n_clusters) * data.n_clients * data.dimension
        return Outcome(
            models=found.models, labels=found.labels, n_rounds=len(found.n_clusters),
            floats_up=sent, floats_down=sent,
            history={"n_clusters": found.n_clusters, "loss": curve},
        )  # fmt: skip


class FeSEM(FederatedEstimator):
    """FeSEM: EM on the distance of parameters (Xie et al. 2020).

    Parameters
    ----------
    n_clusters, n_rounds, step_size, local_steps : as in `IFCA`.
    seeds, n_init, weights : as in `trials.methods.fesem.run_fesem`.
    loss, l2, fit_intercept, random_state : as in `IFCA`.

    Notes
    -----
    A round sends one model down and one up for each client, and the start one up.
    """

    def __init__(
        self, n_clusters: int = 2, *, n_rounds: int = 50, step_size: float | str = "auto",
        local_steps: int = 10, seeds: Any = None, n_init: int = 10, weights: str = "clients",
        loss: Any = "squared", l2: float | None = None, fit_intercept: bool = False,
        random_state: Any = None,
    ) -> None:  # fmt: skip
        self.n_clusters = n_clusters
        self.n_rounds = n_rounds
        self.step_size = step_size
        self.local_steps = local_steps
        self.seeds = seeds
        self.n_init = n_init
        self.weights = weights
        self.loss = loss
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _solve(self, data: ClientData, loss: Any, rng: np.random.Generator) -> Outcome:
        _require_compiled(loss)
        curve: list[float] = []
        found = run_fesem(
            data=data, k=self._clusters(data, self.n_clusters), n_rounds=self.n_rounds, rng=rng,
            step_size=step_of(self.step_size, data, loss), local_steps=self.local_steps,
            seeds=self.seeds, n_init=self.n_init, weights=self.weights, loss=loss,
            observe=lambda models, labels: curve.append(mean_loss(data, models, labels, loss)),
        )  # fmt: skip
        rounds, sent = len(found.label_changes), data.n_clients * data.dimension
        self._warn_of_changes(found.label_changes, MORE_ROUNDS)
        return Outcome(
            models=found.models, labels=found.labels, n_rounds=rounds,
            floats_up=(rounds + 1) * sent, floats_down=rounds * sent,
            history={
                "label_changes": found.label_changes,
                # the last round's models are computed once more, from its local models
                "loss": [*curve[:-1], mean_loss(data, found.models, found.labels, loss)],
            },
        )  # fmt: skip


class KFed(FederatedEstimator):
    """k-FED: one-shot clustering of what the clients send (Dennis, Li & Smith 2021).

    Parameters
    ----------
    n_clusters : k.
    of : "models", where a client sends its local model (one centre each), or "rows", where it
        clusters its rows (x, y) and joins the cluster that most of them have.
    local_clusters : k' of "rows".
    loss, l2, fit_intercept, random_state : as in `IFCA`.  No random draw is made for "models".

    Notes
    -----
    With "models" the models are the means of one round.  With "rows" they are exact fits to all
    rows of a cluster, whose floats count as in `GlobalModel`.  "rows" is the paper's own task: it
    finds clusters only where the law of (x, y) is a mixture of separated groups.
    """

    def __init__(
        self, n_clusters: int = 2, *, of: str = "models", local_clusters: int = 1,
        loss: Any = "squared", l2: float | None = None, fit_intercept: bool = False,
        random_state: Any = None,
    ) -> None:  # fmt: skip
        self.n_clusters = n_clusters
        self.of = of
        self.local_clusters = local_clusters
        self.loss = loss
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _solve(self, data: ClientData, loss: Any, rng: np.random.Generator) -> Outcome:
        k, m, d = self._clusters(data, self.n_clusters), data.n_clients, data.dimension
        if one_of("of", self.of, ("models", "rows")) == "models":
            found = run_kfed(list(minimisers(data, loss, self._names())[:, None]), k)
            labels, models = np.concatenate(found.labels), found.centers
            up = m * d
        else:
            labels, sent = self._rows(data, k, rng)
            models = minimisers(pooled(data, labels, int(labels.max()) + 1), loss)
            up = sent * (d + 1) + floats_of_rows(data, loss)
        return Outcome(
            models=models, labels=labels, n_rounds=1, floats_up=up, floats_down=m * d,
            history={"loss": [mean_loss(data, models, labels, loss)]},
        )  # fmt: skip

    def _rows(self, data: ClientData, k: int, rng: np.random.Generator) -> tuple[IntArray, int]:
        """Labels (m,), and the number of centres that were sent."""
        points = np.column_stack([data.features, data.responses])
        parts = [
            local_kmeans(own, integer_between("local_clusters", self.local_clusters, 1), rng)
            for own in np.split(points, data.offsets[1:-1])
        ]
        found = run_kfed([centres for centres, _ in parts], k)
        most = [
            np.bincount(own[local], minlength=k).argmax()
            for own, (_, local) in zip(found.labels, parts, strict=True)
        ]
        labels = np.unique(most, return_inverse=True)[1].astype(np.int64)
        return labels, sum(len(centres) for centres, _ in parts)


class GroupedMixture(FederatedEstimator):
    """Alternating minimisation or EM with a spectral start (Yi et al. 2014, Chaganty & Liang 2013).

    Parameters
    ----------
    n_clusters : k.
    algorithm : "am" or "em".
    n_rounds : rounds at most.  Alternating minimisation ends when no label changes.
    init : "spectral", "random" or starts (k, d).  "random" has the law of `IFCA`.
    moment, whiten, n_init : of the start, as in `trials.methods.grouped_mixture.spectral_start`.
    fit_intercept, random_state : as in `IFCA`.

    Notes
    -----
    The loss is the squared one.  Nothing depends on where the rows are but X'X, X'y and |y|^2 of
    each client, which it sends once: d (d + 3) / 2 + 1 floats, and for the pairs of the start
    d (d + 1) / 2 more.  It gets one model.
    """

    def __init__(
        self, n_clusters: int = 2, *, algorithm: str = "am", n_rounds: int = 100,
        init: Any = "spectral", moment: str = "pairs", whiten: bool = True, n_init: int = 10,
        fit_intercept: bool = False, random_state: Any = None,
    ) -> None:  # fmt: skip
        self.n_clusters = n_clusters
        self.algorithm = algorithm
        self.n_rounds = n_rounds
        self.init = init
        self.moment = moment
        self.whiten = whiten
        self.n_init = n_init
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _solve(self, data: ClientData, loss: Any, rng: np.random.Generator) -> Outcome:
        k, m, d = self._clusters(data, self.n_clusters), data.n_clients, data.dimension
        require_squares(data)
        spectral = isinstance(self.init, str) and self.init == "spectral"
        if spectral:
            starts: FloatArray = spectral_start(
                data, k, rng, moment=self.moment, whiten=self.whiten, n_init=self.n_init
            )[None]
        else:
            starts = random_starts(data, self.init, k, self.n_init, rng)
        found = min(
            (
                run_grouped_mixture(
                    data=data, start=start, n_rounds=self.n_rounds, algorithm=self.algorithm
                )
                for start in starts
            ),
            key=lambda result: float(result.losses[-1]),
        )
        if self.algorithm == "am":  # where it ended by itself no label differs
            changed = int((found.labels != found.weights.argmax(axis=1)).sum())
            self._warn_of_changes([m] * (len(found.losses) - 2) + [changed], MORE_ROUNDS)
        up = m * (d * (d + 3) // 2 + 1 + (d * (d + 1) // 2 if spectral else 0))
        return Outcome(
            models=found.models, labels=found.labels, n_rounds=1, floats_up=up, floats_down=m * d,
            history={"loss": found.losses},
        )  # fmt: skip


class PACFL(FederatedEstimator):
    """PACFL: clusters by principal angles of the features (Vahidian et al. 2023).

    Parameters
    ----------
    n_clusters : k, or None with a threshold ``beta``.
    beta, p, measure, linkage : as in `trials.methods.pacfl.pacfl_clusters`.
    loss, l2, fit_intercept : as in `LocalModels`.

    Notes
    -----
    The models are exact fits to all rows of a cluster, which FedAvg within the clusters approaches.
    Their floats count as in `GlobalModel`.  Where all clients draw features from one law, the
    clusters are arbitrary.  So they are where p vectors span all features, and a warning says it.
    """

    def __init__(
        self, n_clusters: int | None = 2, *, beta: float | None = None, p: int = 3,
        measure: str = "sum", linkage: str = "average", loss: Any = "squared",
        l2: float | None = None, fit_intercept: bool = False,
    ) -> None:  # fmt: skip
        self.n_clusters = n_clusters
        self.beta = beta
        self.p = p
        self.measure = measure
        self.linkage = linkage
        self.loss = loss
        self.l2 = l2
        self.fit_intercept = fit_intercept

    def _solve(self, data: ClientData, loss: Any, rng: np.random.Generator) -> Outcome:
        if (self.n_clusters is None) == (self.beta is None):
            raise InvalidParameter(
                f"n_clusters={self.n_clusters} and beta={shown(self.beta)}: give one of them, and "
                "None for the other"
            )
        one_of("linkage", self.linkage, LINKAGES)
        k = None if self.n_clusters is None else self._clusters(data, self.n_clusters)
        labels = pacfl_clusters(
            data, k=k, beta=self.beta, p=self.p, measure=self.measure, method=self.linkage
        )
        self._warn_of_angles(data)
        models = minimisers(pooled(data, labels, int(labels.max()) + 1), loss)
        bases = int(np.minimum(np.diff(data.offsets), min(self.p, data.dimension)).sum())
        return Outcome(
            models=models, labels=labels, n_rounds=1, floats_down=data.n_clients * data.dimension,
            floats_up=bases * data.dimension + floats_of_rows(data, loss),
            history={"loss": [mean_loss(data, models, labels, loss)]},
        )  # fmt: skip

    def _warn_of_angles(self, data: ClientData) -> None:
        """Warn where all angles are zero for any data: rounding finds the clusters then."""
        d = data.dimension
        least = min(self.p, d, int(np.diff(data.offsets).min()))
        common = {"sum": least >= d, "smallest": 2 * least > d}.get(self.measure, False)
        if self._warns and common and data.n_clients > 1 and self.n_clusters != 1:
            warnings.warn(
                f"the clusters are arbitrary: any {least} vectors of two clients with {d} features "
                f"have the {self.measure} of angles 0. Take a smaller p",
                UserWarning,
                stacklevel=4,
            )
