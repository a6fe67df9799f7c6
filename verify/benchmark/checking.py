"""The check of one's own method before a run: one fit on a small federation, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from trials.checks import FloatArray, InvalidParameter
from verify.benchmark.federation import FEDERATION, draw
from verify.benchmark.fitting import measure
from verify.benchmark.isolated import FitFailed, TooLong, fit_isolated
from verify.benchmark.marks import MISSING
from verify.benchmark.methods import Method
from verify.benchmark.tables import response_of

#: What a method must have after ``fit``, where a metric reads it.
_READS = {
    "error": "models_ and labels_",
    "worst": "models_ and labels_",
    "ari": "labels_",
    "recovered": "labels_",
    "rounds": "n_rounds_",
    "floats-up": "floats_up_",
    "floats-down": "floats_down_",
}


def _are_classes(scores: FloatArray) -> bool:
    """Whether scores are classes -1 and 1, or 0 and 1, whose loss says little of a method."""
    return bool(np.isin(scores, (-1.0, 1.0)).all() or np.isin(scores, (0.0, 1.0)).all())


def check_own(method: Method, federation: Mapping[str, Any], limit: float, metric: str) -> None:
    """Fit one's own method once on six clients with the federation's features and responses.

    ``metric`` is the one that decides.  A method without what it reads would count as infinitely
    bad, although no fit of it fails.

    Raises
    ------
    InvalidParameter : what is missing or wrong, in one line.
    """
    cell = FEDERATION.check(
        {
            "m": 6,
            "n": 12,
            "d": min(int(federation.get("d", 4)), 50),
            "k": 2,
            "response": response_of(federation),
            "layout": "random",
        }
    )
    small = draw(cell, np.random.default_rng(0))
    if "data" in federation:  # no true models, so that those of a method may have any width
        small = replace(small, models=None)
    for options in method.candidates():
        try:
            found = fit_isolated(method.name, [options], small, 0, limit)
        except TooLong:
            raise InvalidParameter(
                f"{method.text}: a fit of 6 clients takes longer than {limit:g} s: "
                "give a larger --time-limit"
            ) from None
        except FitFailed as error:
            raise InvalidParameter(
                f"{method.text} fails on 6 clients with 12 rows: {error}"
            ) from None
        if not np.isfinite(found.scores).all():
            raise InvalidParameter(
                f"{method.text} fails on 6 clients with 12 rows: predict returns "
                f"{found.scores[~np.isfinite(found.scores)][0]}"
            )
        if small.response == "logistic" and metric == "held-out" and _are_classes(found.scores):
            raise InvalidParameter(
                f"{method.text}: predict returns classes, and the held-out loss is of log odds: "
                "return these, add decision_function, or compare by --metric wrong"
            )
        if metric in _READS and measure(found, small, math.inf)[metric] == MISSING:
            raise InvalidParameter(
                f"{method.text} has no {_READS[metric]} after fit, from which {metric} is "
                "computed: set it, or compare by --metric held-out"
            )
