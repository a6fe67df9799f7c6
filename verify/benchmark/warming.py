"""The first fit of a method in a process compiles or loads its kernels, and counts nowhere."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import replace

from verify.benchmark.federation import Federation
from verify.benchmark.fitting import fit
from verify.benchmark.methods import Method

_warm: set[tuple[str, str]] = set()
_lock = threading.Lock()


def warm_up(method: Method, federation: Federation) -> None:
    """Fit a method that ships once to a few of a federation's clients, once in a process.

    Whatever it raises is left to the fit that counts.
    """
    key = method.text, federation.response
    with _lock:
        if method.own or key in _warm:
            return
        _warm.add(key)
        part = first_clients(federation, 4 * federation.k)
        with contextlib.suppress(Exception):
            fit(method.name, method.candidates()[:1], part, 0)


def first_clients(federation: Federation, n: int) -> Federation:
    """The federation of the first n clients, of all where there are fewer."""
    train, judged = federation.clients < n, federation.test_clients < n
    labels, models = federation.labels, federation.models
    return replace(
        federation,
        features=federation.features[train],
        responses=federation.responses[train],
        clients=federation.clients[train],
        test_features=federation.test_features[judged],
        test_responses=federation.test_responses[judged],
        test_clients=federation.test_clients[judged],
        labels=None if labels is None else labels[:n],
        models=None if models is None else models[:n],
    )
