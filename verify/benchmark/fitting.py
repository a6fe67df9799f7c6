"""One fit: a method on a federation, and what is measured of it."""

from __future__ import annotations

import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trials.checks import FloatArray, IntArray
from verify.benchmark.catalogue import Context
from verify.benchmark.federation import Federation
from verify.benchmark.marks import MISSING
from verify.benchmark.methods import build
from verify.benchmark.metrics import (
    LOSSES,
    METRICS,
    accuracies,
    contingency,
    model_errors,
    rand_index,
    recovered,
)
from verify.benchmark.tuning import Tuned

RAISED, DIVERGED, TOO_LONG = 1.0, 2.0, 3.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted:
    """What a fit leaves behind: scores of held-out rows, and the method's own account.

    Attributes
    ----------
    scores : (n_test,) predictions, or scores of the class 1.
    labels : (m,) or None.
    models : (m, d) model of every client, or None.
    counts : rounds, floats up, floats down, `MISSING` where the method does not say.
    losses : training loss after each round, empty where the method does not say.
    seconds : CPU time of ``fit``, by the clock of its thread.
    """

    scores: FloatArray
    labels: IntArray | None
    models: FloatArray | None
    counts: tuple[float, float, float]
    losses: FloatArray
    seconds: float


def score(fitted: Any, x: FloatArray, clients: IntArray) -> FloatArray:
    """Predictions of responses, or scores of the class 1 where the method classifies.

    Scores are log odds: ``decision_function`` where there is one, else those of the models.
    """
    if hasattr(fitted, "decision_function"):
        return np.asarray(fitted.decision_function(x, clients=clients), dtype=np.float64)
    return np.asarray(fitted.predict(x, clients=clients), dtype=np.float64)


def fit(
    name: str,
    candidates: Sequence[Mapping[str, Any]],
    federation: Federation,
    seed: int,
) -> Fitted:
    """Fit a method, tuned where it has several candidates.  Whatever it raises comes through."""
    context = Context(
        k=federation.k,
        response=federation.response,
        seed=seed,
        labels=federation.labels,
        models=federation.models,
    )
    if len(candidates) == 1:
        method = build(name, candidates[0], context)
    else:
        for candidate in candidates:
            build(name, candidate, context)  # a bad value is refused before any fit
        method = Tuned(lambda o: build(name, o, context), candidates, context.response, score)
    start = time.thread_time()
    with np.errstate(all="ignore"):
        method.fit(federation.features, federation.responses, clients=federation.clients)
    seconds = time.thread_time() - start
    labels, models = _models(method, federation)
    counts = tuple(
        float(getattr(method, f"{what}_", MISSING))
        for what in ("n_rounds", "floats_up", "floats_down")
    )
    scores = score(method, federation.test_features, federation.test_clients)
    if scores.shape != federation.test_responses.shape:
        raise ValueError(
            f"predict returns shape {scores.shape}: it must be {federation.test_responses.shape}, "
            "one number a row"
        )
    return Fitted(
        scores=scores,
        labels=labels,
        models=models,
        counts=(counts[0], counts[1], counts[2]),
        losses=_losses(method),
        seconds=seconds,
    )


def _models(method: Any, federation: Federation) -> tuple[IntArray | None, FloatArray | None]:
    """Labels (m,) and each client's own model (m, d), as far as the method has them."""
    labels, m = getattr(method, "labels_", None), federation.n_clients
    if labels is None:
        return None, None
    given = np.asarray(labels)
    if given.shape != (m,):
        raise ValueError(f"labels_ has shape {given.shape}: it must be ({m},), one a client")
    if given.dtype.kind not in "iufb" or not np.array_equal(given, np.round(given)):
        raise ValueError(f"labels_ must be whole numbers, and they are {given[:3].tolist()}...")
    found = given.astype(np.int64)
    models = getattr(method, "models_", None)
    if models is None:
        return found, None
    table = np.asarray(models, dtype=np.float64)
    if table.ndim != 2 or found.min() < 0 or found.max() >= len(table):
        raise ValueError(f"models_ of shape {table.shape} must be (k, d), with labels_ below k")
    if federation.models is not None and table.shape[1] != federation.models.shape[1]:
        raise ValueError(
            f"models_ has {table.shape[1]} columns: it must have {federation.models.shape[1]}, "
            "one a feature"
        )
    return found, table[found]


def _losses(method: Any) -> FloatArray:
    """The losses that a method's ``history_`` reports, round by round."""
    history = getattr(method, "history_", None)
    if isinstance(history, Mapping):
        history = history.get("loss")
    try:
        found = np.asarray([] if history is None else history, dtype=np.float64)
    except (TypeError, ValueError):
        return np.empty(0)
    return found if found.ndim == 1 else np.empty(0)


def rounds_until(losses: FloatArray, wanted: float) -> float:
    """The first round whose loss is at most ``wanted``: one more than all where none is.

    >>> rounds_until(np.array([8.0, 4.0, 1.05, 1.0]), 1.1), rounds_until(np.array([8.0]), 1.1)
    (3.0, 2.0)
    """
    near = np.flatnonzero(losses <= wanted)
    return float(near[0] + 1 if near.size else losses.size + 1)


def rounds_to_oracle(losses: FloatArray, federation: Federation) -> float:
    """The first round whose training loss is within a tenth of the cluster oracle's.

    It is `MISSING` without known clusters, and for a method of one round.
    """
    if losses.size < 2 or federation.labels is None:
        return MISSING
    return rounds_until(losses, (1.0 + 0.1) * oracle_loss(federation))


_oracle_losses: weakref.WeakKeyDictionary[Federation, float] = weakref.WeakKeyDictionary()


def oracle_loss(federation: Federation) -> float:
    """The cluster oracle's training loss, computed once for all methods of a trial."""
    found = _oracle_losses.get(federation)
    if found is None:
        context = Context(
            k=federation.k, response=federation.response, seed=0, labels=federation.labels
        )
        oracle = build("oracle", {}, context)
        oracle.fit(federation.features, federation.responses, clients=federation.clients)
        found = _oracle_losses[federation] = float(oracle.history_["loss"][-1])
    return found


@np.errstate(all="ignore")  # the row says that a fit diverged
def measure(fitted: Fitted, federation: Federation, limit: float) -> dict[str, float]:
    """All metrics of a fit.  NaN marks a fit that diverged or took longer than ``limit``."""
    values = dict.fromkeys(METRICS, MISSING)
    values["held-out"] = LOSSES[federation.response](fitted.scores, federation.test_responses)
    if federation.response == "logistic":
        values["accuracy"], values["worst-decile"] = accuracies(
            fitted.scores, federation.test_responses, federation.test_clients
        )
        values["wrong"] = 1.0 - values["accuracy"]
    if federation.labels is not None and fitted.labels is not None:
        inside = federation.labels >= 0
        table = contingency(fitted.labels[inside], federation.labels[inside])
        values["ari"], values["recovered"] = rand_index(table), recovered(table)
    if (
        federation.models is not None
        and federation.labels is not None
        and fitted.models is not None
    ):
        values["error"], values["worst"] = model_errors(
            fitted.models, federation.models, federation.labels
        )
    values["rounds"], values["floats-up"], values["floats-down"] = fitted.counts
    values["rounds-to-oracle"] = rounds_to_oracle(fitted.losses, federation)
    values["cpu"] = fitted.seconds
    values["failed"] = 0.0
    if not all(np.isfinite(v) for v in values.values()):
        return failure(DIVERGED, fitted.seconds)
    if fitted.seconds > limit:
        return failure(TOO_LONG, fitted.seconds)
    return values


def failure(why: float, seconds: float) -> dict[str, float]:
    """The row of a fit that failed: NaN but for its CPU seconds, which the budget counts."""
    values = dict.fromkeys(METRICS, np.nan)
    values["cpu"], values["failed"] = seconds, why
    return values
