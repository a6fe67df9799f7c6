"""Changes of a federated problem whose effect on the result is known exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from verify.testing.case import Case, Clients
from verify.testing.check import Clustered
from verify.testing.strategies import reflections, whole


@dataclass(frozen=True, kw_only=True)
class Transform:
    """A change of the input and the matching change of the result.

    Attributes
    ----------
    name, states : of the check that it makes.
    parameter : the strategy of the case's entry ``by`` for a base case.
    forward : the changed case.
    back : the result of the changed case in the terms of the base case.
    scale : the factor by which the models grow.
    shift : the length of a shift of the models.
    """

    name: str
    states: str
    parameter: Callable[[Case], st.SearchStrategy[object]]
    forward: Callable[[Case], Case]
    back: Callable[[Case, Clustered], Clustered]
    scale: Callable[[Case], float] = lambda _case: 1.0
    shift: Callable[[Case], float] = lambda _case: 0.0


def _permutation(count: int) -> st.SearchStrategy[object]:
    return st.permutations(range(count)).map(lambda order: np.array(order, dtype=np.int64))


def _inverse(order: np.ndarray) -> np.ndarray:
    return np.argsort(order)


def _map(case: Case, change: Callable[[np.ndarray, np.ndarray], tuple]) -> Clients:  # type: ignore[type-arg]
    return Clients(tuple(change(x, y) for x, y in case["clients"]))


CLIENTS = Transform(
    name="client-order",
    states="The clients' order changes the order of the labels and nothing else.",
    parameter=lambda case: _permutation(len(case["clients"])),
    forward=lambda case: {
        **case,
        "clients": Clients(tuple(case["clients"].pairs[i] for i in case["by"])),
    },
    back=lambda case, got: Clustered(got.models, got.labels[_inverse(case["by"])]),
)

MODELS = Transform(
    name="model-order",
    states="The models' order changes the names of the clusters and nothing else.",
    parameter=lambda case: _permutation(len(case["models"])),
    forward=lambda case: {**case, "models": case["models"][case["by"]]},
    back=lambda case, got: Clustered(got.models[_inverse(case["by"])], case["by"][got.labels]),
)

ROTATION = Transform(
    name="rotation",
    states="Features and models in a rotated frame give the rotated models.",
    parameter=lambda case: reflections(case["models"].shape[1]),
    forward=lambda case: {
        **case,
        "models": case["models"] @ case["by"],
        "clients": _map(case, lambda x, y: (x @ case["by"], y)),
    },
    back=lambda case, got: Clustered(got.models @ case["by"].T, got.labels),
)

TRANSLATION = Transform(
    name="translation",
    states="Models moved by t, with responses moved by <x, t>, give the models moved by t.",
    parameter=lambda case: whole((case["models"].shape[1],)),
    forward=lambda case: {
        **case,
        "models": case["models"] + case["by"],
        "clients": _map(case, lambda x, y: (x, y + x @ case["by"])),
    },
    back=lambda case, got: Clustered(got.models - case["by"], got.labels),
    shift=lambda case: float(np.linalg.norm(case["by"])),
)

SCALE = Transform(
    name="scale",
    states="Responses and models in another unit give the models in that unit.",
    parameter=lambda _case: st.sampled_from([2.0, -1.0, 0.5, 2.0**20, 2.0**-20]),
    forward=lambda case: {
        **case,
        "models": case["models"] * case["by"],
        "clients": _map(case, lambda x, y: (x, y * case["by"])),
    },
    back=lambda case, got: Clustered(got.models / case["by"], got.labels),
    scale=lambda case: abs(float(case["by"])),
)

ALL = (CLIENTS, MODELS, ROTATION, TRANSLATION, SCALE)
