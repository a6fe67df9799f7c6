"""What a run says of an implementation: misfits, failures, small inputs, numbers of inputs."""

import functools
import zlib

import numpy as np
import pytest
from hypothesis import strategies as st

from trials.checks import InvalidParameter
from verify.testing import (
    DoesNotFit,
    Violation,
    examples,
    implementation,
    runner,
    try_check,
    verify,
)
from verify.testing.arrays import Border
from verify.testing.case import describe_case
from verify.testing.check import (
    Implementation,
    Scope,
    Subject,
    differential_check,
    law_check,
    property_check,
)
from verify.testing.subjects import SUBJECTS


def half(models, clients, step_size):
    return examples.ifca_step(models, clients, step_size / 2)


@pytest.fixture
def unshrunk(monkeypatch):
    """The input found first is kept: to look for a smaller one takes a CPU second."""
    monkeypatch.setattr(runner, "try_check", functools.partial(try_check, shrink=False))


def first_failure(function, subject, **options):
    return verify(function, subject, **options).failures[0]


# -- fitting -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda models, clients: models, r"<lambda>\(models, clients\) does not fit ifca.step"),
        (lambda a, b, c: a, r"it returned .*; it must return two arrays \(models, labels\)"),
        (lambda a, b, c: (a[:1], [0, 1, 1]), r"models has the shape \(1, 2\); it must be \(2, 2\)"),
        (lambda a, b, c: (a, [0.0, 1.0, 1.0]), "labels must be integers; their type is float64"),
        (lambda a, b, c: (a, "abc"), "labels must be an array of numbers"),
        (lambda a, b, c: a.no_such_method(), "it raised AttributeError"),
    ],
)
def test_a_function_that_does_not_fit_is_refused_in_one_line_with_the_signature(function, says):
    with pytest.raises(DoesNotFit, match=says) as caught:
        verify(function, "ifca.step")
    assert "(models, clients, step_size) -> (models, labels)" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"subject": "ifca"}, "subject='ifca' must be one of ifca.step, ifca.run"),
        ({"arrays": "no_such_package"}, "arrays='no_such_package' must be a package"),
        ({"arrays": "math"}, "must be a package with the array API's from_dlpack"),
        ({"precision": "half"}, "precision='half' must be one of double, single"),
        ({"function": 3}, "function=3 must be a function"),
        ({"accuracy": -1.0}, "accuracy=-1.0 must be a finite number"),
        ({"examples": 0}, "examples=0 must be an integer >= 1"),
        ({"checks": ["low"]}, "check='low' must be one of kernel, ties"),
    ],
)
def test_wrong_options_are_refused(options, says):
    with pytest.raises(InvalidParameter, match=says):
        verify(**{"function": examples.ifca_step, "subject": "ifca.step", **options})


def test_every_subject_has_three_kinds_of_checks_and_a_definition():
    for subject in SUBJECTS.values():
        kinds = {check.kind for check in subject.checks}
        assert kinds == {"property", "differential", "statistical"}, subject.name
        names = [check.name for check in subject.checks]
        assert len(set(names)) == len(names)
        assert subject.signature.startswith(f"({', '.join(subject.arguments)}) -> ")
        assert all(0 < c.level <= 1e-6 for c in subject.checks if c.kind == "statistical")


# -- failures ------------------------------------------------------------------------------------


def test_a_failure_shrinks_to_one_client_with_one_row():
    outcome = first_failure(half, "ifca.step", checks=["kernel"], examples=20)
    assert describe_case(outcome.case) == (
        "models = [[0.0]]\nclients = [([[1.0]], [1.0])]\nstep_size = 0.5"
    )
    assert "our kernel has [1.0]" in outcome.message


def test_an_upper_bound_would_not_see_half_a_gradient_but_the_law_does():
    assert first_failure(half, "ifca.step", checks=["law"]).message.startswith("the distance of")


@pytest.mark.usefixtures("unshrunk")
def test_arguments_that_are_changed_in_place_are_named():
    def step(models, clients, step_size):
        clients[0][1][:] = 0.0
        return examples.ifca_step(models, clients, step_size)

    assert (
        "changed its argument 'clients'"
        in first_failure(step, "ifca.step", checks=["kernel"], examples=6).message
    )


@pytest.mark.usefixtures("unshrunk")
def test_results_that_are_not_finite_or_vary_are_failures():
    rng = np.random.default_rng(0)
    noisy = verify(
        lambda points, centres: (
            centres + 1e-3 * rng.standard_normal(centres.shape),
            [0] * len(points),
        ),
        "kmeans",
        checks=["stationary"],
    )
    assert not noisy.passed
    lost = first_failure(lambda points, penalty: points * np.nan, "convex_clustering", examples=6)
    assert lost.message == "minimiser holds nan"


@pytest.mark.usefixtures("unshrunk")
def test_equal_seeds_find_equal_inputs():
    first, second = (
        first_failure(half, "ifca.step", seed=5, checks=["kernel"], examples=10) for _ in range(2)
    )
    assert describe_case(first.case) == describe_case(second.case)


@pytest.mark.usefixtures("unshrunk")
def test_an_implementation_for_equal_sizes_only_is_tried_with_those():
    def step(models, clients, step_size):
        x, y = (np.stack(parts) for parts in zip(*clients, strict=True))
        residuals = np.einsum("mnd,kd->mkn", x, models) - y[:, None]
        labels = (residuals**2).mean(axis=2).argmin(axis=1)
        own = residuals[np.arange(len(y)), labels]
        gradients = 2 / y.shape[1] * np.einsum("mnd,mn->md", x, own)
        new = models.copy()
        np.add.at(new, labels, -step_size / len(y) * gradients)
        return new, labels

    assert verify(step, "ifca.step", equal_sizes=True, examples=6).passed
    ragged = first_failure(step, "ifca.step", checks=["kernel"], examples=20)
    assert "it raised ValueError" in ragged.message


@pytest.mark.usefixtures("unshrunk")
def test_a_claimed_accuracy_is_allowed_and_no_more():
    def rough(points, centres):
        new, labels = examples.kmeans(points, centres)
        return new * (1 + 1e-9), labels

    assert verify(rough, "kmeans", checks=["stationary"], accuracy=1e-8).passed
    assert not verify(rough, "kmeans", checks=["stationary"], accuracy=1e-10).passed


# -- a made subject ------------------------------------------------------------------------------


class Tiny:
    """A number.

    ``(number) -> number``
    """

    def __call__(self, number): ...


def below(limit):
    def judge(call, case):
        if call(case) >= limit:
            raise Violation(f"{case['number']} is not below {limit}")

    return judge


def numbers(scope):
    """Simple inputs are below a hundred."""
    return st.builds(lambda n: {"number": n}, st.integers(0, 99 if scope.simple else 1000))


def made(*checks, accuracy=0.25):
    return Subject(
        name="tiny",
        protocol=Tiny,
        read=lambda value, _arguments, _border: value,
        example={"number": 2},
        checks=checks,
        accuracy=accuracy,
    )


def call_of(function=lambda number: number, *checks, scope=Scope(), border=Border()):  # noqa: B008
    subject = made(*checks)
    return Implementation(
        function=function, subject=subject, border=border, accuracy=0.0, scope=scope
    )


@pytest.mark.parametrize(("examples", "each"), [(1, 1), (2, 1), (5, 3), (100, 50)])
def test_half_of_the_inputs_are_simple_and_come_first(examples, each):
    tried, scopes = [], []

    def cases(scope):
        scopes.append(scope)
        return st.builds(lambda n: {"number": (scope.simple, n)}, st.integers(0, 10**9))

    check = property_check("any", "It is.", cases, lambda call, case: tried.append(case["number"]))
    given = {} if examples == 100 else {"examples": examples}
    outcome = try_check(check, call_of(scope=Scope(equal_sizes=True)), **given)
    assert (outcome.check, outcome.message, outcome.case) == (check, "", None)
    assert outcome.passed
    assert scopes == [Scope(equal_sizes=True, simple=True), Scope(equal_sizes=True)]
    assert [simple for simple, _ in tried] == [True] * each + [False] * each
    assert len(set(tried)) > each  # others are drawn


def test_a_failure_is_the_smallest_one_with_its_own_message():
    check = property_check("below", "It is below 37.", numbers, below(37))
    outcome = try_check(check, call_of(), examples=60)
    assert not outcome.passed
    assert outcome.case == {"number": 37}
    assert outcome.message == "37 is not below 37"
    first = try_check(check, call_of(), examples=60, shrink=False)
    assert first.case["number"] > 37
    assert first.message == f"{first.case['number']} is not below 37"


def test_a_failure_that_no_simple_input_shows_is_found():
    check = property_check("below", "It is below 100.", numbers, below(100))
    assert try_check(check, call_of(), examples=60).case == {"number": 100}


def test_a_statistical_check_is_tried_once_on_data_of_the_seed_the_subject_and_its_name():
    tried = []
    check = law_check("It is.", lambda _call, case: tried.append(case))
    outcome = try_check(check, call_of(), seed=3)
    assert outcome.passed
    try_check(check, call_of())
    words = (b"3 tiny law", b"0 tiny law")
    assert tried == [{"data_seed": zlib.crc32(text) % 2147483648} for text in words]
    assert zlib.crc32(words[0]) < 2**31 < zlib.crc32(words[1])  # both sides of the remainder


def test_equal_seeds_draw_equal_inputs_and_other_checks_others():
    def inputs(name, seed):
        tried = []
        check = property_check(name, "It is.", numbers, lambda _, case: tried.append(case))
        try_check(check, call_of(), seed=seed, examples=20)
        return tried

    assert inputs("one", 1) == inputs("one", 1)
    assert inputs("one", 1) != inputs("one", 2)
    assert inputs("one", 1) != inputs("two", 1)


def test_a_failure_that_comes_and_goes_is_told():
    seen = []

    def judge(_call, case):
        if case["number"] not in seen:
            seen.append(case["number"])
            raise Violation("only once")

    outcome = try_check(property_check("flaky", "It is.", numbers, judge), call_of(), examples=4)
    assert outcome.message == ("only once (not every time: equal calls return different results)")
    assert outcome.case == {"number": seen[-1]}


def test_an_error_of_the_check_is_no_failure_of_the_implementation():
    def judge(_call, _case):
        raise ZeroDivisionError

    check = property_check("broken", "It is.", numbers, judge)
    with pytest.raises(ZeroDivisionError):
        try_check(check, call_of(), examples=4)


def test_inputs_are_rounded_to_the_precision_before_they_are_judged_and_kept():
    def cases(_scope):
        return st.just({"number": 0.1})

    def judge(_call, case):
        raise Violation(repr(case["number"]))

    call = call_of(border=Border(precision="single"))
    outcome = try_check(property_check("any", "It is.", cases, judge), call, examples=2)
    third = float(np.float32(0.1))
    assert third != 0.1
    assert outcome.case == {"number": third}
    assert outcome.message == repr(third)


def test_a_report_has_an_outcome_for_each_wanted_check_in_their_order(monkeypatch):
    checks = (
        property_check("a", "It is.", numbers, below(10**6)),
        differential_check("b", "It is.", numbers, below(5)),
        property_check("c", "It is.", numbers, below(7)),
    )
    monkeypatch.setitem(SUBJECTS, "tiny", made(*checks))
    report = verify(lambda number: number, "tiny", examples=20)
    assert [outcome.check.name for outcome in report.outcomes] == ["a", "b", "c"]
    assert [outcome.check.name for outcome in report.failures] == ["b", "c"]
    assert [outcome.case for outcome in report.failures] == [{"number": 5}, {"number": 7}]
    assert not report.passed
    chosen = verify(lambda number: number, "tiny", examples=20, checks=["c", "a"])
    assert [outcome.check.name for outcome in chosen.outcomes] == ["c", "a"]
    right = verify(lambda number: number, "tiny", examples=1, checks=["a"])
    assert right.passed
    assert right.failures == ()
    assert verify(lambda number: number, "tiny", checks=[]).outcomes == ()
    assert report.implementation.accuracy == 0.25
    assert report.implementation.scope == Scope()


def test_the_seed_and_the_number_of_inputs_of_a_run_are_those_of_its_checks(monkeypatch):
    asked = []

    def tried(check, call, *, seed, examples):
        asked.append((check.name, call.subject.name, seed, examples))
        return runner.Outcome(check=check)

    monkeypatch.setattr(runner, "try_check", tried)
    monkeypatch.setitem(SUBJECTS, "tiny", made(property_check("a", "", numbers, below(1))))
    assert verify(lambda number: number, "tiny").passed
    verify(lambda number: number, "tiny", seed=7, examples=1)
    assert asked == [("a", "tiny", 0, 100), ("a", "tiny", 7, 1)]
    with pytest.raises(InvalidParameter, match="seed=-1 must be"):
        verify(lambda number: number, "tiny", seed=-1)


@pytest.mark.parametrize(
    ("declared", "accuracy"), [({}, 0.25), ({"accuracy": 0}, 0.0), ({"accuracy": 1}, 1.0)]
)
def test_an_implementation_claims_the_accuracy_of_its_subject_or_its_own(
    monkeypatch, declared, accuracy
):
    monkeypatch.setitem(SUBJECTS, "tiny", made())
    call = implementation(
        lambda number: number, "tiny", precision="single", equal_sizes=True, **declared
    )
    assert call.accuracy == accuracy
    assert call.unit == 2.0**-24
    assert call.scope == Scope(equal_sizes=True, simple=False)
    assert call({"number": 5, "other": 6}) == 5
    with pytest.raises(InvalidParameter, match=r"accuracy=1\.5 must be"):
        implementation(lambda number: number, "tiny", accuracy=1.5)


def test_a_function_without_a_signature_is_called_and_one_without_a_name_is_printed(monkeypatch):
    monkeypatch.setitem(SUBJECTS, "tiny", made())
    with pytest.raises(DoesNotFit, match=r"^min does not fit tiny, which is \(number\)") as caught:
        implementation(min, "tiny")
    assert "in a first call it raised TypeError" in str(caught.value)
    assert isinstance(caught.value.__cause__, TypeError)
    partial = functools.partial(lambda number, more: number)
    with pytest.raises(DoesNotFit, match=r"^functools\.partial\(.*\)\(number, more\) does not fit"):
        implementation(partial, "tiny")


def test_a_function_that_fits_and_is_wrong_is_left_to_the_checks(monkeypatch):
    def read(_value, _arguments, _border):
        raise Violation("a wrong number")

    subject = made()
    monkeypatch.setitem(
        SUBJECTS, "tiny", Subject(name="tiny", protocol=Tiny, read=read, example=subject.example)
    )
    with pytest.raises(Violation, match="a wrong number"):
        implementation(lambda number: number, "tiny")({"number": 1})


# -- precision -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("unshrunk")
def test_single_precision_is_judged_by_its_own_rounding():
    def step(models, clients, step_size):
        assert models.dtype == np.float32
        return examples.ifca_step(models, clients, np.float32(step_size))

    assert verify(step, "ifca.step", precision="single", examples=6).passed
    wrong = verify(half, "ifca.step", precision="single", examples=6, checks=["kernel"])
    assert not wrong.passed
    assert Border(precision="single").unit == 2.0**-24
