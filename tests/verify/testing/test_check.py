"""What a check reads of a result, how it calls an implementation, and its kinds."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import find
from hypothesis import strategies as st

from verify.testing.arrays import Border
from verify.testing.check import (
    Implementation,
    Scope,
    Subject,
    Violation,
    WrongForm,
    differential_check,
    law_check,
    property_check,
    read_clustered,
    read_labels,
    read_reals,
    require_p_value,
)


def test_labels_of_models_are_read() -> None:
    labels = read_labels(np.array([0, 1, 1]), 3, 2, Border())
    assert labels.dtype == np.int64
    assert labels.tolist() == [0, 1, 1]


@pytest.mark.parametrize("labels", [[-1, 1, 0], [0, 2, 1], [-1, 2, 0], [-1, -1, -1], [2, 2, 2]])
def test_one_label_below_or_above_those_of_models_is_refused(labels: list[int]) -> None:
    with pytest.raises(Violation, match=r"must lie in 0\.\.1"):
        read_labels(np.array(labels), 3, 2, Border())


# -- arrays that were returned -------------------------------------------------------------------


class Foreign:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise ValueError("on another planet")


@pytest.mark.parametrize(
    ("value", "error", "says"),
    [
        (Foreign(), WrongForm, "^it cannot be read as an array: on another planet$"),
        (np.array([True, False]), WrongForm, "^it must be an array of numbers; its type is bool$"),
        (
            np.array([1j, 2.0]),
            WrongForm,
            "^it must be an array of numbers; its type is complex128$",
        ),
        (np.array([1.0]), WrongForm, r"^it has the shape \(1,\); it must be \(2,\)$"),
        (np.array([[1.0, 2.0]]), WrongForm, r"^it has the shape \(1, 2\); it must be \(2,\)$"),
        (np.array([1.0, np.inf]), Violation, "^it holds inf$"),
        (np.array([np.nan, np.inf]), Violation, "^it holds nan$"),
    ],
)
def test_what_is_no_array_of_finite_numbers_of_the_shape_is_refused(
    value: Any, error: type[Violation], says: str
) -> None:
    with pytest.raises(error, match=says) as caught:
        read_reals("it", value, (2,), Border())
    assert type(caught.value) is error


@pytest.mark.parametrize("kind", ["int8", "uint8", "float32", "float64"])
def test_whole_and_real_numbers_are_read_as_double(kind: str) -> None:
    found = read_reals("it", np.array([1, 2], dtype=kind), (2,), Border())
    assert (found.dtype, found.tolist()) == (np.float64, [1.0, 2.0])


def test_labels_are_whole_numbers_one_for_each() -> None:
    assert read_labels(np.array([], dtype=int), 0, 2, Border()).tolist() == []
    assert read_labels(np.array([0, 2], dtype=np.uint8), 2, 3, Border()).tolist() == [0, 2]
    with pytest.raises(WrongForm, match=r"^labels must be integers; their type is float64$"):
        read_labels(np.array([0.0, 1.0]), 2, 2, Border())
    with pytest.raises(WrongForm, match=r"^labels has the shape \(2,\); it must be \(3,\)$"):
        read_labels(np.array([0, 1]), 3, 2, Border())
    with pytest.raises(Violation, match=r"^labels=\[0, 3\] must lie in 0\.\.2$"):
        read_labels(np.array([0, 3]), 2, 3, Border())


def test_a_pair_of_models_and_labels_is_read() -> None:
    models, labels = np.array([[1, 2], [3, 4], [5, 6]]), [2, 0]
    for pair in ((models, labels), [models, labels]):
        found = read_clustered(pair, (3, 2), 2, Border())
        assert found.models.tolist() == models.tolist()
        assert found.models.dtype == np.float64
        assert found.labels.tolist() == labels
    for wrong in ((models,), (models, labels, 1), {0: models, 1: labels}, "ab", None):
        with pytest.raises(WrongForm, match=r"it must return two arrays \(centres, labels\)$"):
            read_clustered(wrong, (3, 2), 2, Border(), "centres")
    with pytest.raises(WrongForm, match=r"^centres has the shape \(3, 2\); it must be \(2, 2\)$"):
        read_clustered((models, labels), (2, 2), 2, Border(), "centres")
    with pytest.raises(WrongForm, match=r"^models has the shape"):
        read_clustered((models, labels), (2, 2), 2, Border())


# -- subjects and calls --------------------------------------------------------------------------


class Mixed:
    """The second argument added to the first.

    ``(numbers, more) -> sum``
    """

    def __call__(self, numbers: Any, more: Any) -> Any: ...


def read(value: Any, arguments: Any, border: Border) -> Any:
    assert list(arguments) == ["numbers", "more"]
    return read_reals("sum", value, arguments["numbers"].shape, border)


SUBJECT = Subject(name="mixed", protocol=Mixed, read=read, example={})
CASE = {"by": 5, "more": 0.5, "numbers": np.array([1.0, 2.0])}


def called(function: Any, **border: str) -> Any:
    call = Implementation(
        function=function, subject=SUBJECT, border=Border(**border), accuracy=0.0, scope=Scope()
    )
    return call(CASE)


def test_a_subject_is_told_by_its_protocol() -> None:
    assert SUBJECT.arguments == ("numbers", "more")
    assert SUBJECT.signature == "(numbers, more) -> sum"
    assert SUBJECT.text.splitlines()[0] == "The second argument added to the first."
    assert (SUBJECT.checks, SUBJECT.accuracy) == ((), 0.0)


def test_an_implementation_is_called_by_position_with_the_subjects_arguments() -> None:
    assert called(lambda a, b: a + b).tolist() == [1.5, 2.5]
    given: list[Any] = []
    called(lambda a, b: given.append(a) or a, precision="single")
    assert given[0].dtype == np.float32
    assert given[0] is not CASE["numbers"]


def test_an_error_a_change_and_a_wrong_form_are_told() -> None:
    def broken(a: Any, b: Any) -> Any:
        raise KeyError("a")

    def careless(a: Any, b: Any) -> Any:
        a += b
        return a

    with pytest.raises(WrongForm, match=r"^it raised KeyError: ") as caught:
        called(broken)
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(WrongForm, match=r"^it raised SystemExit: '0'$"):  # it ended the program
        called(lambda _a, _b: sys.exit(0))
    with pytest.raises(Violation, match=r"^it changed its argument 'numbers' in place$") as changed:
        called(careless)
    assert type(changed.value) is Violation
    with pytest.raises(WrongForm, match=r"^sum has the shape"):
        called(lambda a, b: b)


# -- kinds of checks -----------------------------------------------------------------------------


def judge(_call: Any, _case: Any) -> None:
    """Nothing is wrong."""


def cases(_scope: Scope) -> Any:
    """No inputs."""


def test_checks_are_of_three_kinds_and_only_laws_may_be_wrong() -> None:
    for make, kind in ((property_check, "property"), (differential_check, "differential")):
        check = make("name", "It states.", cases, judge)
        assert (check.name, check.kind, check.states) == ("name", kind, "It states.")
        assert (check.cases, check.judge, check.level) == (cases, judge, 0.0)
    law = law_check("It states.", judge)
    assert (law.name, law.kind, law.states) == ("law", "statistical", "It states.")
    assert (law.judge, law.level) == (judge, 0.000001)


def test_a_law_is_tried_on_the_data_of_any_seed_of_31_bits() -> None:
    cases_of_law = law_check("It states.", judge).cases(Scope())
    assert repr(st.integers(0, 2147483647)) in repr(cases_of_law)
    assert find(cases_of_law, lambda _case: True) == {"data_seed": 0}


def test_a_p_value_at_the_level_passes_and_none_below() -> None:
    require_p_value(0.01, 0.01, "it")
    require_p_value(1.0, 1e-6, "it")
    for p in (0.0099, 0.0, float("nan")):
        with pytest.raises(Violation, match=r"^it: the p-value is .*, below the level 0\.01$"):
            require_p_value(p, 0.01, "it")
