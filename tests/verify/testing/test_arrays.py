"""The border between this suite and a subject's arrays: precision, copies, exports, changes."""

import sys
import types

import numpy as np
import pytest

from trials.checks import InvalidParameter
from verify.testing import examples, verify
from verify.testing.arrays import Border, changed_argument, own_arguments
from verify.testing.case import Clients

DOUBLE, SINGLE = Border(), Border(precision="single")
CLIENTS = Clients(
    ((np.array([[0.1], [0.2]]), np.array([0.3, 0.4])), (np.array([[0.5]]), np.array([0.6])))
)


def test_any_package_with_from_dlpack_can_be_named(monkeypatch):
    """A package whose arrays are not NumPy's: they are exported by DLPack only."""

    class Foreign:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    package = types.ModuleType("foreign")
    package.from_dlpack = lambda array: Foreign(np.from_dlpack(array))
    monkeypatch.setitem(sys.modules, "foreign", package)

    def assignment(points, centres):
        assert isinstance(points, Foreign)
        return Foreign(examples.assignment(points.array, centres.array))

    assert verify(assignment, "assignment", arrays="foreign", examples=6).passed

    def careless(points, centres):
        points.array[:] += 1.0
        return assignment(points, centres)

    found = verify(careless, "assignment", arrays="foreign", examples=6).failures[0]
    assert "changed its argument 'points'" in found.message


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"precision": "half"}, "^precision='half' must be one of double, single$"),
        ({"package": "math"}, "^arrays=math must be a package with the array API's from_dlpack"),
        (
            {"package": "no.such"},
            "^arrays='no.such' must be a package that can be imported: No",
        ),
        ({"package": ".x"}, "^arrays='.x' must be a package that can be imported: the 'package'"),
        ({"package": ""}, "^arrays='' must be a package that can be imported: Empty"),
    ],
)
def test_an_unknown_precision_or_package_is_refused(options, says):
    with pytest.raises(InvalidParameter, match=says):
        Border(**options)


def test_the_unit_roundoff_is_half_the_distance_from_one_to_the_next_number():
    for border, kind in ((DOUBLE, np.float64), (SINGLE, np.float32)):
        one = kind(1)
        assert border.unit == float(np.nextafter(one, kind(2)) - one) / 2


def test_a_case_is_rounded_in_all_its_numbers_and_in_no_whole_one():
    case = {
        "clients": CLIENTS,
        "a": np.array([0.1, 1.0]),
        "labels": np.array([2**30 + 1]),
        "x": 0.7,
    }
    case["n"] = 2**30 + 1
    assert DOUBLE.rounded(case) is case
    found = SINGLE.rounded(case)
    assert list(found) == list(case)
    assert found["a"].dtype == np.float64
    assert found["a"].tolist() == [float(np.float32(0.1)), 1.0]
    assert (found["labels"].tolist(), found["n"]) == ([2**30 + 1], 2**30 + 1)
    assert (found["x"], type(found["x"])) == (float(np.float32(0.7)), float)
    assert found["x"] != 0.7
    pairs = [(x.tolist(), y.tolist()) for x, y in found["clients"]]
    few = [float(np.float32(number)) for number in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)]
    assert pairs == [([[few[0]], [few[1]]], [few[2], few[3]]), ([[few[4]]], [few[5]])]


def test_a_subject_gets_its_own_copies_row_by_row_in_its_precision():
    array = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    for border, kind in ((DOUBLE, np.float64), (SINGLE, np.float32)):
        own = border.give(array)
        assert (own.dtype, own.tolist()) == (kind, array.tolist())
        assert own.flags.c_contiguous
        assert not np.shares_memory(own, array)
        assert border.give(np.array([1, 2])).dtype == np.int64


def test_arguments_are_given_by_name_with_clients_as_pairs():
    arguments = {"clients": CLIENTS, "a": np.array([0.5]), "k": 3, "x": 0.25}
    given = own_arguments(SINGLE, arguments)
    assert list(given) == list(arguments)
    assert (given["k"], given["x"]) == (3, 0.25)
    assert isinstance(given["clients"], list)
    for (x, y), (own_x, own_y) in zip(CLIENTS, given["clients"], strict=True):
        assert own_x.tolist() == x.astype(np.float32).tolist()
        assert own_y.tolist() == y.astype(np.float32).tolist()
    assert given["a"].dtype == np.float32
    assert given["a"] is not arguments["a"]


class Tensor:
    """An array that is exported only after the calls that its package asks for."""

    def __init__(self, array, state=()):
        self.array, self.state = array, state

    def detach(self):
        return Tensor(self.array, (*self.state, "detach"))

    def cpu(self):
        return Tensor(self.array, (*self.state, "cpu"))

    def __dlpack__(self, **options):
        assert self.state == ("detach", "cpu")
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Odd(Tensor):
    """A package whose export fails: its own conversion is taken."""

    error = BufferError

    def detach(self):
        return self

    cpu = detach

    def __dlpack__(self, **options):
        raise self.error

    def __array__(self, dtype=None, copy=None):
        return 2.0 * self.array


def test_returned_arrays_are_taken_out_of_the_graph_and_off_the_device():
    array = np.array([1.0, 2.0])
    assert DOUBLE.take(array) is array
    assert DOUBLE.take(Tensor(array)).tolist() == [1.0, 2.0]
    assert DOUBLE.take([1, 2]).tolist() == [1, 2]
    assert DOUBLE.take(3.5) == 3.5
    for error in (BufferError, RuntimeError, TypeError, AttributeError):
        odd = Odd(array)
        odd.error = error
        assert DOUBLE.take(odd).tolist() == [2.0, 4.0]
    odd.error = ZeroDivisionError
    with pytest.raises(ZeroDivisionError):
        DOUBLE.take(odd)


def changed(change, border=DOUBLE):
    arguments = {"a": np.array([[0.1, 0.2]]), "k": 3, "clients": CLIENTS, "b": np.array([1, 2])}
    given = own_arguments(border, arguments)
    change(given)
    return changed_argument(border, arguments, given)


def test_the_first_argument_that_changed_is_named():
    assert changed(lambda given: None) is None
    assert changed(lambda given: None, SINGLE) is None  # rounding is no change
    assert changed(lambda given: given["b"].__setitem__(1, 3)) == "b"
    assert changed(lambda given: given.update(k=4)) is None  # a number cannot change in place
    assert changed(lambda given: given["a"].__imul__(2.0)) == "a"
    assert changed(lambda given: given["clients"][0][0].__imul__(2.0)) == "clients"
    assert changed(lambda given: given["clients"][1][1].__setitem__(0, 0.0)) == "clients"
    assert changed(lambda given: given["clients"].pop()) == "clients"
    assert changed(lambda given: given.update(b=np.array([[1, 2]]))) == "b"
    assert changed(lambda given: given.update(b=np.array([1, 2, 2]))) == "b"

    def gone(self):
        raise RuntimeError("the buffer was given away")

    given_away = type("GivenAway", (), {"__array__": gone, "__dlpack__": gone})()
    (x, y), second = CLIENTS
    for client in ((x, y, 1.0), (x,), (), None, 7, x, "ab", (y, x), (x, None), (given_away, y)):
        assert changed(lambda given, new=client: given["clients"].__setitem__(0, new)) == "clients"
    assert changed(lambda given: given["clients"].__setitem__(0, second)) == "clients"
    assert changed(lambda given: given["clients"].__setitem__(0, [x.copy(), y.tolist()])) is None
    assert changed(lambda given: given.update(a=given_away)) == "a"

    def both(given):
        given["clients"].append(given["clients"][0])
        given["b"][0] = 7

    assert changed(both) == "clients"
