"""What the checks of all federated rounds share: inputs, comparisons and the list of checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from trials.checks import FloatArray
from verify.testing.arrays import Border
from verify.testing.case import Case, Clients
from verify.testing.check import (
    Check,
    Clustered,
    Implementation,
    Scope,
    Violation,
    differential_check,
    property_check,
    read_clustered,
)
from verify.testing.strategies import (
    clients_of_sizes,
    federated,
    label_vectors,
    schedules,
    whole,
)
from verify.testing.subjects import transforms
from verify.testing.subjects.rules import Expectation, Rule


def longest_stable(clients: Clients) -> float:
    """A power of two below 1 / max_i |X_i|^2 / n_i, with which local steps do not grow."""
    size = max(float((x**2).sum()) / len(y) for x, y in clients)
    return float(2.0 ** -np.ceil(np.log2(size))) if size > 0 else 1.0


#: The most local steps, and steps of a run, that a check takes.
_LONGEST = 5


@st.composite
def rounds(draw: st.DrawFn, scope: Scope, count: str | None) -> Case:
    """A federated problem with a step size, and the number of steps under the name ``count``."""
    case = draw(federated(equal=scope.equal_sizes, simple=scope.simple))
    factor, rounds = draw(schedules(_LONGEST))
    case["step_size"] = factor * longest_stable(case["clients"])
    return case if count is None else {**case, count: rounds}


@st.composite
def _lattice(draw: st.DrawFn, scope: Scope, count: str | None) -> Case:
    """Whole numbers, with which losses are exact and equal models tie."""
    d, k, m = draw(st.integers(1, 2)), draw(st.integers(2, 3)), draw(st.integers(1, 4))
    counts = draw(st.sampled_from([1, 2, 4]).map(lambda n: np.full(m, n)))
    models = draw(whole((k, d), 2))
    clients = draw(clients_of_sizes(counts, d, lambda shape: whole(shape, 2)))
    case = {"models": models, "clients": clients, "step_size": 0.125}
    return case if count is None else {**case, count: 1}


@st.composite
def _with(
    draw: st.DrawFn,
    base: st.SearchStrategy[Case],
    parameter: Callable[[Case], st.SearchStrategy[object]],
) -> Case:
    """A case of ``base`` with the parameter of a transform."""
    case = draw(base)
    return {**case, "by": draw(parameter(case))}


@st.composite
def _draw_solved(draw: st.DrawFn, scope: Scope, count: str | None) -> Case:
    """Clients without noise and the models that made their data."""
    case = draw(rounds(scope, count))
    labels = draw(label_vectors(len(case["clients"]), len(case["models"])))
    pairs = [(x, x @ case["models"][j]) for j, (x, _) in zip(labels, case["clients"], strict=True)]
    return {**case, "clients": Clients(tuple(pairs))}


def tolerance(call: Implementation, expected: Expectation) -> FloatArray:
    """Rounding, and the relative accuracy that an implementation claims."""
    size = np.linalg.norm(expected.models, axis=1)
    return np.asarray(expected.errors + call.accuracy * size)


def _require_labels(got: Clustered, expected: Expectation) -> None:
    wrong = np.flatnonzero(~expected.admissible[np.arange(len(got.labels)), got.labels])
    if wrong.size:
        i = wrong[0]
        raise Violation(
            f"client {i} has the label {got.labels[i]}, but its losses are "
            f"{expected.losses[i].tolist()}, so its label is {expected.losses[i].argmin()}"
        )


def require_models(found: FloatArray, right: FloatArray, allowed: FloatArray, source: str) -> None:
    """Raise `Violation` where a row of two matrices differs by more than its allowance."""
    gaps = np.linalg.norm(found - right, axis=1)
    j = int(np.argmax(gaps - allowed))
    if gaps[j] > allowed[j]:
        raise Violation(
            f"model {j} is {found[j].tolist()}; {source} {right[j].tolist()}. They are "
            f"{gaps[j]:.3g} apart, and rounding explains {allowed[j]:.2g}"
        )


def _differential(rule: Rule) -> Callable[[Implementation, Case], None]:
    def judge(call: Implementation, case: Case) -> None:
        got = call(case)
        expected = rule.expect(case, got.labels, call.unit)
        if expected is None:
            return
        _require_labels(got, expected)
        require_models(got.models, expected.models, tolerance(call, expected), "our kernel has")

    return judge


def _ties(call: Implementation, case: Case) -> None:
    """On whole numbers the losses are exact, so ties have one right answer."""
    got = call(case)
    for i, (x, y) in enumerate(case["clients"]):
        sums = ((y[:, None] - x @ case["models"].T) ** 2).sum(axis=0)
        if got.labels[i] != sums.argmin():
            raise Violation(
                f"client {i} has the label {got.labels[i]}, but its sums of squares are exactly "
                f"{sums.tolist()}, so its label is {sums.argmin()}, the first of the least"
            )


def _equivariance(
    rule: Rule, transform: transforms.Transform
) -> Callable[[Implementation, Case], None]:
    def judge(call: Implementation, case: Case) -> None:
        changed = call.border.rounded(transform.forward(case))
        base, image = call(case), call(changed)
        mapped = transform.back(case, image)
        here = rule.expect(case, base.labels, call.unit)
        there = rule.expect(changed, image.labels, call.unit, transform.shift(case))
        if here is None or there is None:
            return
        unsure = there.admissible.sum(axis=1) > 1
        if transform is transforms.CLIENTS:
            unsure = unsure[np.argsort(case["by"])]
        unsure |= here.admissible.sum(axis=1) > 1
        different = mapped.labels != base.labels
        wrong = np.flatnonzero(different & ~unsure)
        if wrong.size:
            i = wrong[0]
            raise Violation(
                f"client {i} has the label {base.labels[i]}, and {mapped.labels[i]} after the "
                "change"
            )
        if different.any():
            return  # rounding decides about these labels, and the models follow from them
        after = tolerance(call, there) / transform.scale(case)
        if transform is transforms.MODELS:
            after = after[np.argsort(case["by"])]
        allowed = tolerance(call, here) + after
        require_models(mapped.models, base.models, allowed, "before the change it was")

    return judge


def _fixed_point(rule: Rule) -> Callable[[Implementation, Case], None]:
    def judge(call: Implementation, case: Case) -> None:
        got = call(case)
        expected = rule.expect(case, got.labels, call.unit)
        if expected is None or (expected.admissible.sum(axis=1) > 1).any():
            return
        allowed = 2.0 * tolerance(call, expected)
        require_models(got.models, case["models"], allowed, "without noise it must stay at")

    return judge


def _repeats(call: Implementation, case: Case) -> None:
    first, second = call(case), call(case)
    same = [np.array_equal(a, b) for a, b in zip(first, second, strict=True)]
    if not all(same):
        raise Violation("two calls with equal arguments return different results")


def round_checks(rule: Rule, count: str | None, *more: Check) -> tuple[Check, ...]:
    """The checks that every round has, and more of one rule.

    ``count`` is the name of the argument that counts steps, where there is one.
    """

    def ordinary(scope: Scope) -> st.SearchStrategy[Case]:
        return rounds(scope, count)

    return (
        differential_check(
            "kernel",
            "Labels and models are those of our kernel, to rounding.",
            ordinary,
            _differential(rule),
        ),
        differential_check(
            "ties",
            "Of models with exactly equal losses a client takes the first.",
            lambda scope: _lattice(scope, count),
            _ties,
        ),
        *(_symmetry(rule, transform, count) for transform in transforms.ALL),
        property_check(
            "fixed-point",
            "Models that fit noiseless data stay where they are.",
            lambda scope: _draw_solved(scope, count),
            _fixed_point(rule),
        ),
        property_check(
            "repeatable", "Equal arguments give equal results, bit for bit.", ordinary, _repeats
        ),
        *more,
    )


def _symmetry(rule: Rule, transform: transforms.Transform, count: str | None) -> Check:
    return property_check(
        transform.name,
        transform.states,
        lambda scope: _with(rounds(scope, count), transform.parameter),
        _equivariance(rule, transform),
    )


def read_round(value: Any, arguments: Case, border: Border) -> Clustered:
    """The models and labels that a round returned."""
    return read_clustered(value, arguments["models"].shape, len(arguments["clients"]), border)


#: A first input of every round, without its numbers of steps.
EXAMPLE: Case = {
    "models": np.array([[1.0, 0.0], [0.0, 1.0]]),
    "clients": Clients(
        tuple(
            (np.array([[1.0, 2.0], [3.0, 1.0]]), np.array(y))
            for y in ([1.0, 3.0], [2.0, 1.5], [1.0, 2.5])
        )
    ),
    "step_size": 0.05,
}
