"""Changes of a federated problem: the changed input and the way back, number by number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import find
from hypothesis import strategies as st

from verify.testing import strategies as own
from verify.testing.case import Case, Clients
from verify.testing.check import Clustered
from verify.testing.subjects import transforms

CLIENTS = Clients(
    (
        (np.array([[1.0, 2.0]]), np.array([10.0])),
        (np.array([[3.0, 4.0]]), np.array([20.0])),
        (np.array([[5.0, 6.0], [7.0, 9.0]]), np.array([30.0, 40.0])),
    )
)
MODELS = np.array([[1.0, 0.5], [2.0, -1.0], [4.0, 8.0]])
BASE: Case = {"models": MODELS, "clients": CLIENTS, "step_size": 0.5}
GOT = Clustered(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([2, 0, 1]))


def changed(transform: transforms.Transform, by: Any) -> tuple[Case, Any, Any, Clustered]:
    case = {**BASE, "by": by}
    found = transform.forward(case)
    assert (found["step_size"], found["by"] is by) == (0.5, True)
    pairs = [(x.tolist(), y.tolist()) for x, y in found["clients"]]
    return case, found["models"].tolist(), pairs, transform.back(case, GOT)


def plain(clients: Clients) -> Any:
    return [(x.tolist(), y.tolist()) for x, y in clients]


def test_clients_in_another_order_have_their_labels_in_the_old_one() -> None:
    case, models, pairs, back = changed(transforms.CLIENTS, np.array([2, 0, 1]))
    assert models == MODELS.tolist()
    assert pairs == [plain(CLIENTS)[i] for i in (2, 0, 1)]
    assert back.models is GOT.models
    assert back.labels.tolist() == [0, 1, 2]
    assert (transforms.CLIENTS.scale(case), transforms.CLIENTS.shift(case)) == (1.0, 0.0)


def test_models_in_another_order_have_their_old_names() -> None:
    case, models, pairs, back = changed(transforms.MODELS, np.array([2, 0, 1]))
    assert models == [[4.0, 8.0], [1.0, 0.5], [2.0, -1.0]]
    assert pairs == plain(CLIENTS)
    assert back.models.tolist() == [[3.0, 4.0], [5.0, 6.0], [1.0, 2.0]]
    assert back.labels.tolist() == [1, 2, 0]
    assert (transforms.MODELS.scale(case), transforms.MODELS.shift(case)) == (1.0, 0.0)


def test_features_and_models_turn_and_responses_do_not() -> None:
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])  # (a, b) becomes (-b, a)
    case, models, pairs, back = changed(transforms.ROTATION, turn)
    assert models == [[-0.5, 1.0], [1.0, 2.0], [-8.0, 4.0]]
    assert pairs == [
        ([[-2.0, 1.0]], [10.0]), ([[-4.0, 3.0]], [20.0]),
        ([[-6.0, 5.0], [-9.0, 7.0]], [30.0, 40.0]),
    ]  # fmt: skip
    assert back.models.tolist() == [[2.0, -1.0], [4.0, -3.0], [6.0, -5.0]]
    assert back.labels is GOT.labels
    assert (transforms.ROTATION.scale(case), transforms.ROTATION.shift(case)) == (1.0, 0.0)


def test_a_shift_of_models_shifts_the_responses_by_its_product_with_the_features() -> None:
    case, models, pairs, back = changed(transforms.TRANSLATION, np.array([3.0, -4.0]))
    assert models == [[4.0, -3.5], [5.0, -5.0], [7.0, 4.0]]
    assert pairs == [
        ([[1.0, 2.0]], [5.0]), ([[3.0, 4.0]], [13.0]),
        ([[5.0, 6.0], [7.0, 9.0]], [21.0, 25.0]),
    ]  # fmt: skip
    assert back.models.tolist() == [[-2.0, 6.0], [0.0, 8.0], [2.0, 10.0]]
    assert back.labels is GOT.labels
    assert (transforms.TRANSLATION.scale(case), transforms.TRANSLATION.shift(case)) == (1.0, 5.0)


def test_responses_and_models_change_their_unit() -> None:
    case, models, pairs, back = changed(transforms.SCALE, -4.0)
    assert models == [[-4.0, -2.0], [-8.0, 4.0], [-16.0, -32.0]]
    assert pairs == [
        ([[1.0, 2.0]], [-40.0]), ([[3.0, 4.0]], [-80.0]),
        ([[5.0, 6.0], [7.0, 9.0]], [-120.0, -160.0]),
    ]  # fmt: skip
    assert back.models.tolist() == [[-0.25, -0.5], [-0.75, -1.0], [-1.25, -1.5]]
    assert back.labels is GOT.labels
    assert (transforms.SCALE.scale(case), transforms.SCALE.shift(case)) == (4.0, 0.0)


@pytest.mark.parametrize(
    ("transform", "parameter"),
    [
        (transforms.ROTATION, own.reflections(2)),
        (transforms.TRANSLATION, own.whole((2,))),
        (transforms.SCALE, st.sampled_from([2.0, -1.0, 0.5, 1048576.0, 1.0 / 1048576.0])),
    ],
)
def test_parameters_are_drawn_from(transform: transforms.Transform, parameter: Any) -> None:
    assert repr(transform.parameter(BASE)) == repr(parameter)


def test_orders_are_of_all_clients_or_models() -> None:
    fewer: Case = {**BASE, "models": MODELS[:2]}
    for transform, count in ((transforms.CLIENTS, 3), (transforms.MODELS, 2)):
        strategy = transform.parameter(fewer)
        assert repr(strategy).startswith(repr(st.permutations(range(count))) + ".map(")
    assert transforms.ALL == (
        transforms.CLIENTS, transforms.MODELS, transforms.ROTATION, transforms.TRANSLATION,
        transforms.SCALE,
    )  # fmt: skip


@pytest.mark.parametrize("unit", [2.0, -1.0, 0.5, 2.0**20, 2.0**-20])
def test_every_unit_of_the_scale_is_drawn(unit):
    assert find(transforms.SCALE.parameter({}), lambda drawn: drawn == unit) == unit
