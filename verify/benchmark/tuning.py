"""Tuning inside a trial: on training rows only, and its budget is counted.

The last fifth of each client's rows, at least one of two, is put aside.  Every candidate is fitted
on the other rows and judged by its loss there.  The best one is fitted again on all rows.  Rounds
and floats of all fits are added up, because a user would pay for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from trials.checks import BoolArray, FloatArray, IntArray
from verify.benchmark.metrics import LOSSES

COUNTED = ("n_rounds_", "floats_up_", "floats_down_")


def put_aside(clients: IntArray) -> BoolArray:
    """(N,) True for the last fifth of each client's rows.  A client with one row keeps it.

    >>> put_aside(np.array([0, 0, 0, 1, 2, 2])).astype(int).tolist()
    [0, 0, 1, 0, 0, 1]
    """
    sizes = np.bincount(clients)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    place = np.arange(clients.size) - starts[clients]
    aside = np.where(sizes >= 2, np.maximum(np.floor(0.2 * sizes), 1), 0)
    return np.asarray(place >= (sizes - aside)[clients])


class Tuned:
    """The best of several candidates, as one method.

    Attributes
    ----------
    chosen_ : the options of the best candidate.
    """

    def __init__(
        self,
        make: Callable[[Mapping[str, Any]], Any],
        candidates: Sequence[Mapping[str, Any]],
        response: str,
        score: Callable[[Any, FloatArray, IntArray], FloatArray],
    ) -> None:
        self.make, self.candidates, self.response, self.score = make, candidates, response, score

    def fit(self, x: FloatArray, y: FloatArray, clients: IntArray) -> Tuned:
        """Fit every candidate on part of the rows, and the best one on all of them."""
        aside = put_aside(clients)
        spent = dict.fromkeys(COUNTED, 0.0)
        best, least = self.candidates[0], np.inf
        for options in self.candidates if aside.any() else ():
            fitted = self.make(options).fit(x[~aside], y[~aside], clients=clients[~aside])
            with np.errstate(all="ignore"):  # a candidate that diverged is not chosen
                loss = LOSSES[self.response](self.score(fitted, x[aside], clients[aside]), y[aside])
            self._count(spent, fitted)
            if loss < least:
                best, least = options, loss
        self.chosen_ = dict(best)
        self.fitted_ = self.make(best).fit(x, y, clients=clients)
        self._count(spent, self.fitted_)
        for name, value in spent.items():
            if hasattr(self.fitted_, name):
                setattr(self, name, value)
        return self

    @staticmethod
    def _count(spent: dict[str, float], fitted: Any) -> None:
        for name in spent:
            spent[name] += float(getattr(fitted, name, 0.0))

    def __getattr__(self, name: str) -> Any:
        """Whatever else is asked of the method is the best candidate's."""
        if name.startswith("__") or name == "fitted_":
            raise AttributeError(name)
        return getattr(self.fitted_, name)
