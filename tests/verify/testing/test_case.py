"""One input: its text, its file, and the two forms of its clients."""

import json

import numpy as np
import pytest

from trials.checks import InvalidParameter
from trials.models.clients import ClientData
from verify.testing.case import Clients, describe_case, load, save

FIRST = (np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([5.0, 6.0]))
SECOND = (np.array([[7.0, 8.0]]), np.array([9.0]))
THIRD = (np.array([[0.5, 0.0], [1.5, 0.0], [2.5, 0.0]]), np.array([-1.0, -2.0, -3.0]))
CLIENTS = Clients((FIRST, SECOND, THIRD))


def plain(clients):
    return [(x.tolist(), y.tolist()) for x, y in clients]


def test_clients_are_counted_listed_and_measured():
    assert len(CLIENTS) == 3
    assert list(CLIENTS) == [FIRST, SECOND, THIRD]
    assert CLIENTS.sizes.tolist() == [2, 1, 3]
    assert CLIENTS.sizes.dtype == np.int64


def test_the_rows_of_all_clients_follow_each_other_in_the_form_of_the_kernels():
    data = CLIENTS.data
    assert data.features.tolist() == [
        [1.0, 2.0], [3.0, 4.0], [7.0, 8.0], [0.5, 0.0], [1.5, 0.0], [2.5, 0.0],
    ]  # fmt: skip
    assert data.responses.tolist() == [5.0, 6.0, 9.0, -1.0, -2.0, -3.0]
    assert data.offsets.tolist() == [0, 2, 3, 6]


@pytest.mark.parametrize("clients", [CLIENTS, Clients((SECOND,)), Clients((SECOND, FIRST))])
def test_clients_come_back_from_the_form_of_the_kernels(clients):
    assert plain(Clients.from_data(clients.data)) == plain(clients)


def test_a_case_prints_as_python_text():
    case = {"long_name": Clients((FIRST, SECOND)), "k": 2, "x": 0.1, "a": np.array([1, 2])}
    text = describe_case(case)
    assert text == (
        "long_name = [([[1.0, 2.0], [3.0, 4.0]], [5.0, 6.0]),\n"
        "             ([[7.0, 8.0]], [9.0])]\n"
        "k = 2\nx = 0.1\na = [1, 2]"
    )
    found = {}
    exec(text, found)
    assert found["long_name"] == plain(case["long_name"])
    assert describe_case({"one": Clients((SECOND,))}) == "one = [([[7.0, 8.0]], [9.0])]"
    assert describe_case({}) == ""


def test_cases_are_read_as_they_were_saved(tmp_path):
    pairs = ((np.ones((2, 3)), np.zeros(2)), (np.full((1, 3), -0.0), np.array([1e-300])))
    case = {"models": np.eye(3), "clients": Clients(pairs), "step_size": 0.1, "n_steps": 3}
    save(tmp_path / "a.npz", case, {"why": "because"})
    again, facts = load(tmp_path / "a.npz")
    assert facts == {"why": "because"}
    assert describe_case(again) == describe_case(case)
    assert type(again["n_steps"]) is int
    (tmp_path / "b.npz").write_bytes(b"no archive")
    with pytest.raises(InvalidParameter, match="must be a saved case"):
        load(tmp_path / "b.npz")


def test_a_file_holds_numbers_arrays_and_facts_under_their_names(tmp_path):
    case = {"clients": CLIENTS, "k": 2, "x": 0.5, "labels": np.array([1, 0]), "flag": np.bool_(1)}
    save(tmp_path / "a.npz", case, {"why": "because", "deep": {"n": [1]}})
    with np.load(tmp_path / "a.npz", allow_pickle=False) as stored:
        assert sorted(stored.files) == [
            "clients.features", "clients.offsets", "clients.responses", "facts", "flag", "k",
            "labels", "x",
        ]  # fmt: skip
        assert json.loads(str(stored["facts"])) == {"why": "because", "deep": {"n": [1]}}
    again, facts = load(tmp_path / "a.npz")
    assert facts == {"why": "because", "deep": {"n": [1]}}
    assert sorted(again) == sorted(case)
    assert plain(again["clients"]) == plain(CLIENTS)
    assert (again["k"], again["x"]) == (2, 0.5)
    assert (type(again["k"]), type(again["x"])) == (int, float)
    assert isinstance(again["labels"], np.ndarray)
    assert again["labels"].tolist() == [1, 0]
    save(tmp_path / "a.npz", {"row": np.array([3.0])}, {})
    assert load(tmp_path / "a.npz")[0]["row"].tolist() == [3.0]  # one number is still an array


@pytest.mark.parametrize(
    "arrays",
    [
        {"k": np.array(2)},
        {"facts": np.array("no json")},
        {"facts": np.array({"a": 1}, dtype=object)},
    ],
)
def test_another_file_is_refused(tmp_path, arrays):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(InvalidParameter, match=r"a\.npz must be a saved case: "):
        load(tmp_path / "a.npz")
    with pytest.raises(InvalidParameter, match=r"b\.npz must be a saved case: "):
        load(tmp_path / "b.npz")


def test_the_parts_of_clients_have_their_own_places(tmp_path):
    data = ClientData(
        features=np.ones((3, 1)), responses=np.arange(3.0), offsets=np.array([0, 1, 3])
    )
    save(tmp_path / "a.npz", {"clients": Clients.from_data(data), "others": CLIENTS}, {})
    again, _ = load(tmp_path / "a.npz")
    assert plain(again["clients"]) == [([[1.0]], [0.0]), ([[1.0], [1.0]], [1.0, 2.0])]
    assert plain(again["others"]) == plain(CLIENTS)


@pytest.mark.parametrize("kept", [0, 3, 0.5], ids=["empty", "three bytes", "half"])
def test_a_part_of_a_file_is_no_case(kept, tmp_path):
    """Each ended in an error of NumPy or of the archive."""
    path = tmp_path / "a.npz"
    save(path, {"x": 1.0}, {"why": "because"})
    whole = path.read_bytes()
    path.write_bytes(whole[: kept if isinstance(kept, int) else int(kept * len(whole))])
    with pytest.raises(InvalidParameter, match="must be a saved case"):
        load(path)


@pytest.mark.parametrize(
    ("facts", "arrays"),
    [
        ("[1]", {}),
        ('{"a":' + "[" * 100_000, {}),
        ("{}", {"clients.features": np.zeros((2, 2))}),
    ],
    ids=["a list", "nested", "a part of clients"],
)
def test_an_archive_of_another_form_is_no_case(facts, arrays, tmp_path):
    np.savez(tmp_path / "a.npz", facts=np.array(facts), **arrays)
    with pytest.raises(InvalidParameter, match="must be a saved case"):
        load(tmp_path / "a.npz")


def test_a_single_array_is_no_case(tmp_path):
    with (tmp_path / "a.npz").open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(InvalidParameter, match="must be a saved case"):
        load(tmp_path / "a.npz")
