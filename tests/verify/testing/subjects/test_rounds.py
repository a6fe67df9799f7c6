"""What the checks of all rounds share: inputs with given draws, and what each judge refuses."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from tests.verify.testing.draws import made_of
from tests.verify.testing.subjects.laws_seen import answers
from verify.testing import examples, implementation
from verify.testing import strategies as own
from verify.testing.arrays import Border
from verify.testing.case import Case, Clients
from verify.testing.check import Clustered, Scope, Violation, WrongForm
from verify.testing.subjects import rounds, transforms
from verify.testing.subjects.rules import Expectation, IfcaStepRule

ANY, SIMPLE = Scope(), Scope(simple=True)
#: Mean squared lengths of rows: 5 and 8.
CLIENTS = Clients(
    (
        (np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([1.0, 2.0])),
        (np.array([[2.0, 2.0]]), np.array([3.0])),
    )
)
MODELS = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])

# -- inputs --------------------------------------------------------------------------------------


def test_the_longest_stable_step_is_a_power_of_two_below_the_inverse_of_the_longest_rows() -> None:
    assert rounds.longest_stable(CLIENTS) == 0.125
    x, y = CLIENTS.pairs[1]
    assert rounds.longest_stable(Clients(((x * 1.01, y),))) == 0.0625
    assert rounds.longest_stable(Clients(((x / 1.01, y),))) == 0.125
    assert rounds.longest_stable(Clients(((0.0 * x, y),))) == 1.0
    assert rounds.longest_stable(Clients(((x / 8.0, y),))) == 8.0
    small = (0.25 * x, y)
    assert rounds.longest_stable(Clients((CLIENTS.pairs[1], small))) == 0.125  # the longest decides
    tall = Clients(((np.tile(x, (4, 1)), np.tile(y, 4)),))
    assert rounds.longest_stable(tall) == 0.125


@pytest.mark.parametrize("count", [None, "n_steps"])
def test_a_round_has_a_share_of_the_longest_stable_step_and_at_most_five_steps(
    count: str | None,
) -> None:
    scope = Scope(equal_sizes=True, simple=True)
    found = made_of(
        rounds.rounds(scope, count),
        (own.federated(equal=True, simple=True), {"models": MODELS, "clients": CLIENTS}),
        (own.schedules(5), (0.5, 3)),
    )
    assert found["step_size"] == 0.5 * 0.125
    assert (found["models"] is MODELS, found["clients"] is CLIENTS) == (True, True)
    assert {**found, "models": 0, "clients": 0, "step_size": 0} == {
        "models": 0, "clients": 0, "step_size": 0, **({} if count is None else {count: 3}),
    }  # fmt: skip


@pytest.mark.parametrize("count", [None, "n_steps"])
def test_the_lattice_is_of_whole_numbers_up_to_two(count: str | None) -> None:
    def numbers(shape: tuple[int, ...]) -> Any:
        return own.whole(shape, 2)

    turns: list[str] = []
    last: list[Any] = []

    def draw(strategy: Any) -> Any:
        turns.append(repr(strategy))
        last[:] = [strategy]
        return given.pop(0)

    given: list[Any] = [2, 3, 4, np.full(4, 2), MODELS, CLIENTS]
    composite: Any = rounds._lattice(ANY, count).wrapped_strategy  # type: ignore[attr-defined]
    found = composite.definition(draw, *composite.args, **composite.kwargs)
    assert turns[:3] == [repr(st.integers(1, 2)), repr(st.integers(2, 3)), repr(st.integers(1, 4))]
    assert turns[3].startswith(repr(st.sampled_from([1, 2, 4])) + ".map(")
    assert turns[4] == repr(numbers((3, 2)))
    assert turns[5].startswith("clients_of_sizes(")
    sizes, d, own_numbers = last[0].wrapped_strategy.args
    assert (sizes.tolist(), d) == ([2, 2, 2, 2], 2)
    assert repr(own_numbers((2, 3))) == repr(numbers((2, 3)))
    rest = {"step_size": 0.125} | ({} if count is None else {count: 1})
    assert {name: found[name] for name in found if name not in ("models", "clients")} == rest
    assert (found["models"] is MODELS, found["clients"] is CLIENTS) == (True, True)


def test_a_transform_gets_its_parameter_for_the_case() -> None:
    base: Case = {"models": MODELS}
    found = made_of(
        rounds._with(st.just(base), lambda case: st.integers(0, len(case["models"]))),
        (st.just(base), base),
        (st.integers(0, 3), 2),
    )
    assert found == {"models": MODELS, "by": 2}


def test_solved_problems_have_responses_of_their_labels_models() -> None:
    base: Case = {"models": MODELS, "clients": CLIENTS, "step_size": 0.5}
    found = made_of(
        rounds._draw_solved(SIMPLE, "n_steps"),
        (rounds.rounds(SIMPLE, "n_steps"), base),
        (own.label_vectors(2, 3), np.array([2, 0])),
    )
    assert [y.tolist() for _, y in found["clients"]] == [[6.0, 6.0], [2.0]]
    assert [x is old for (x, _), (old, _) in zip(found["clients"], CLIENTS, strict=True)] == [
        True, True,
    ]  # fmt: skip
    assert (found["models"] is MODELS, found["step_size"]) == (True, 0.5)


# -- judges --------------------------------------------------------------------------------------

ERRORS = np.array([0.1, 0.2, 0.3])
ADMISSIBLE = np.array([[True, False, False], [False, True, True]])
LOSSES = np.array([[1.0, 2.0, 3.0], [9.0, 4.0, 4.0]])
EXPECTED = Expectation(MODELS, ERRORS, ADMISSIBLE, LOSSES)
LABELS = np.array([0, 2])
RIGHT = Clustered(MODELS, LABELS)
CASE: Case = {"models": MODELS, "clients": CLIENTS, "step_size": 0.5}


def rule(*expected: Expectation | None) -> Any:
    """A rule that keeps what it was asked, and gives these expectations."""
    left, asked = list(expected), []

    def expect(case: Case, labels: np.ndarray, unit: float, shift: float = 0.0) -> Any:
        asked.append((case, labels.tolist(), unit, shift))
        return left.pop(0)

    return SimpleNamespace(expect=expect, asked=asked)


def moved(model: int, by: float, labels: np.ndarray = LABELS) -> Clustered:
    models = MODELS.copy()
    models[model] += [0.6 * by, 0.8 * by]
    return Clustered(models, labels)


def test_the_tolerance_is_rounding_and_the_accuracy_of_a_models_size() -> None:
    found = rounds.tolerance(answers(accuracy=0.5), EXPECTED)
    assert found == pytest.approx([0.1 + 0.5, 0.2 + 0.5, 0.3 + 0.5 * 8.0**0.5], rel=1e-14)


def test_models_are_compared_one_by_one_with_their_own_allowance() -> None:
    rounds.require_models(moved(2, 0.29).models, MODELS, ERRORS, "it is")
    says = r"^model 1 is \[0\.15, 1\.2\]; it is \[0\.0, 1\.0\]\. They are 0\.25 apart"
    with pytest.raises(Violation, match=says):
        rounds.require_models(moved(1, 0.25).models, MODELS, ERRORS, "it is")
    both = moved(0, 0.15).models + moved(2, 0.31).models - MODELS  # the larger excess is named
    with pytest.raises(Violation, match=r"^model 0 is .* rounding explains 0\.1$"):
        rounds.require_models(both, MODELS, ERRORS, "it is")


def test_labels_and_models_are_compared_with_the_kernel() -> None:
    one = rule(EXPECTED)
    rounds._differential(one)(answers(RIGHT, unit=0.25), CASE)
    assert one.asked == [(CASE, [0, 2], 0.25, 0.0)]
    rounds._differential(rule(EXPECTED))(answers(RIGHT._replace(labels=np.array([0, 1]))), CASE)
    for labels, says in (
        (
            [1, 2],
            r"^client 0 has the label 1, but its losses are \[1\.0, 2\.0, 3\.0\], .* 0$",
        ),
        (
            [0, 0],
            r"^client 1 has the label 0, but its losses are \[9\.0, 4\.0, 4\.0\], .* 1$",
        ),
        ([2, 0], r"^client 0 has the label 2"),
    ):
        wrong = answers(RIGHT._replace(labels=np.array(labels)))
        with pytest.raises(Violation, match=says):
            rounds._differential(rule(EXPECTED))(wrong, CASE)
    with pytest.raises(Violation, match=r"^model 0 is .*; our kernel has \[1\.0, 0\.0\]"):
        rounds._differential(rule(EXPECTED))(answers(moved(0, 0.11)), CASE)
    rounds._differential(rule(None))(answers(moved(0, 9.0)), CASE)


def test_of_equal_sums_of_squares_the_first_is_taken() -> None:
    """The residuals are (0, 0), (-1, 1), (-5, -4) and then 1, 1, -5."""
    rounds._ties(answers(Clustered(MODELS, np.array([0, 0]))), CASE)
    for labels, i in (([0, 1], 1), ([1, 0], 0), ([2, 0], 0)):
        with pytest.raises(Violation, match=rf"^client {i} has the label {labels[i]}, but"):
            rounds._ties(answers(Clustered(MODELS, np.array(labels))), CASE)
    with pytest.raises(Violation, match=r"exactly \[1\.0, 1\.0, 25\.0\], so its label is 0, the f"):
        rounds._ties(answers(Clustered(MODELS, np.array([0, 2]))), CASE)


CERTAIN = EXPECTED._replace(admissible=np.array([[True, False, False], [False, False, True]]))


def test_noiseless_models_stay_within_two_roundings() -> None:
    rounds._fixed_point(rule(CERTAIN))(answers(moved(1, 0.39)), CASE)
    with pytest.raises(Violation, match=r"^model 1 is .*; without noise it must stay at \[0\.0, 1"):
        rounds._fixed_point(rule(CERTAIN))(answers(moved(1, 0.41)), CASE)
    rounds._fixed_point(rule(EXPECTED))(answers(moved(1, 9.0)), CASE)  # two labels are admissible
    rounds._fixed_point(rule(None))(answers(moved(1, 9.0)), CASE)


def test_equal_arguments_give_equal_bits() -> None:
    rounds._repeats(answers(RIGHT, RIGHT), CASE)
    for other in (moved(1, 1e-15), RIGHT._replace(labels=np.array([0, 1]))):
        with pytest.raises(Violation, match="two calls with equal arguments"):
            rounds._repeats(answers(RIGHT, other), CASE)


def equivariance(
    transform: transforms.Transform, by: Any, base: Clustered, image: Clustered,
    here: Expectation | None = CERTAIN, there: Expectation | None = CERTAIN,
) -> tuple[Any, Any]:  # fmt: skip
    call, asked = answers(base, image, unit=0.25), rule(here, there)
    rounds._equivariance(asked, transform)(call, {**CASE, "by": by})
    return call, asked


def test_a_change_is_judged_by_both_expectations() -> None:
    shift = np.array([3.0, 4.0])
    image = Clustered(MODELS + shift, LABELS)
    call, asked = equivariance(transforms.TRANSLATION, shift, RIGHT, image)
    assert call.cases[0]["models"] is MODELS
    assert call.cases[1]["models"].tolist() == (MODELS + shift).tolist()
    first, second = asked.asked
    assert (first[1:], second[1:]) == (([0, 2], 0.25, 0.0), ([0, 2], 0.25, 5.0))
    assert (first[0] is call.cases[0], second[0] is call.cases[1]) == (True, True)
    for by, passes in ((0.59, True), (0.61, False)):  # twice 0.3
        far = Clustered(moved(2, by).models + shift, LABELS)
        if passes:
            equivariance(transforms.TRANSLATION, shift, RIGHT, far)
        else:
            with pytest.raises(Violation, match=r"^model 2 is .*; before the change it was \[2\.0"):
                equivariance(transforms.TRANSLATION, shift, RIGHT, far)
            equivariance(transforms.TRANSLATION, shift, RIGHT, far, here=None)
            equivariance(transforms.TRANSLATION, shift, RIGHT, far, there=None)


@pytest.mark.parametrize("by", [2.0, -0.5])
def test_the_allowance_after_a_change_of_the_unit_is_divided_by_it(by: float) -> None:
    allowed = 0.2 + 0.2 / abs(by)
    for share in (0.99, 1.01):
        image = Clustered(moved(1, share * allowed).models * by, LABELS)
        if share < 1:
            equivariance(transforms.SCALE, by, RIGHT, image)
        else:
            with pytest.raises(Violation, match=r"^model 1 is "):
                equivariance(transforms.SCALE, by, RIGHT, image)


def test_with_models_in_another_order_each_has_its_own_allowance() -> None:
    """Model 1 is the first of the changed order, and model 2 the last but one."""
    order = np.array([1, 2, 0])
    names = np.array([2, 0, 1])  # the place of each model in that order
    for share in (0.99, 1.01):
        for j, allowed in ((0, 0.1 + 0.3), (1, 0.2 + 0.1), (2, 0.3 + 0.2)):
            image = Clustered(moved(j, share * allowed).models[order], names[LABELS])
            if share < 1:
                equivariance(transforms.MODELS, order, RIGHT, image)
            else:
                with pytest.raises(Violation, match=f"^model {j} is "):
                    equivariance(transforms.MODELS, order, RIGHT, image)


def test_a_label_may_change_only_where_rounding_decides() -> None:
    """The second client's label is open in EXPECTED, and the first one's never."""
    zero = np.zeros(2)
    image = Clustered(moved(0, 9.0).models, np.array([0, 1]))
    equivariance(transforms.TRANSLATION, zero, RIGHT, image, here=EXPECTED)
    with pytest.raises(Violation, match=r"^client 1 has the label 2, and 1 after the change"):
        equivariance(transforms.TRANSLATION, zero, RIGHT, image)
    both = Clustered(MODELS, np.array([1, 1]))
    with pytest.raises(Violation, match=r"^client 0 has the label 0, and 1 after the change"):
        equivariance(transforms.TRANSLATION, zero, RIGHT, both, here=EXPECTED)


def test_a_label_may_change_where_rounding_decides_after_the_change_alone() -> None:
    """A shift may leave no digit of a small model.  Every other client is judged all the same."""
    zero = np.zeros(2)
    image = Clustered(moved(0, 9.0).models, np.array([0, 1]))
    equivariance(transforms.TRANSLATION, zero, RIGHT, image, there=EXPECTED)
    first = CERTAIN._replace(admissible=np.array([[True, True, False], [False, False, True]]))
    both = Clustered(MODELS, np.array([1, 1]))
    for where in ("here", "there"):
        with pytest.raises(Violation, match=r"^client 1 has the label 2, and 1 after the change"):
            equivariance(transforms.TRANSLATION, zero, RIGHT, both, **{where: first})
    equivariance(transforms.TRANSLATION, zero, RIGHT, both, here=first, there=EXPECTED)
    # the clients in another order: the second one's label is open in the first row
    order, swapped = np.array([1, 0]), EXPECTED.admissible[::-1]
    image = Clustered(MODELS, np.array([1, 0]))
    there = CERTAIN._replace(admissible=swapped)
    equivariance(transforms.CLIENTS, order, RIGHT, image, there=there)
    with pytest.raises(Violation, match=r"^client 1 has the label 2, and 1 after the change"):
        equivariance(transforms.CLIENTS, order, RIGHT, image, there=EXPECTED)


@pytest.mark.parametrize(
    ("precision", "models"),
    [("single", [1e-7, 2e-8]), ("double", [1e-6, 1e-6 * (1 - 1e-11)])],
)
def test_a_right_step_passes_a_shift_that_makes_its_models_equal(
    precision: str, models: list[float]
) -> None:
    """The smaller model is nearer to a response of zero, until both are three to all digits."""
    call = implementation(examples.ifca_step, "ifca.step", precision=precision)
    client = (np.array([[1.0]]), np.array([0.0]))
    case = call.border.rounded(
        {"models": np.array(models)[:, None], "clients": Clients((client,)), "step_size": 0.125}
    )
    shift = {**case, "by": np.array([3.0])}
    image = call(call.border.rounded(transforms.TRANSLATION.forward(shift)))
    assert (call(case).labels.tolist(), image.labels.tolist()) == ([1], [0])
    rounds._equivariance(IfcaStepRule(), transforms.TRANSLATION)(call, shift)


# -- the list of checks --------------------------------------------------------------------------


@pytest.mark.parametrize("count", [None, "n_steps"])
def test_every_round_has_the_same_checks_on_their_inputs(count: str | None) -> None:
    more: Any = SimpleNamespace(name="more")
    found = {each.name: each for each in rounds.round_checks(rule(), count, more)}
    assert list(found) == [
        "kernel", "ties", "client-order", "model-order", "rotation", "translation", "scale",
        "fixed-point", "repeatable", "more",
    ]  # fmt: skip
    kinds = [each.kind for each in list(found.values())[:-1]]
    assert kinds == ["differential"] * 2 + ["property"] * 7
    ordinary = repr(rounds.rounds(ANY, count))
    for name in ("kernel", "repeatable"):
        assert repr(found[name].cases(ANY)) == ordinary
    assert repr(found["ties"].cases(ANY)) == repr(rounds._lattice(ANY, count))
    assert repr(found["fixed-point"].cases(ANY)) == repr(rounds._draw_solved(ANY, count))
    for name in ("client-order", "model-order", "rotation", "translation", "scale"):
        assert repr(found[name].cases(ANY)).startswith(f"_with(base={ordinary}")
    assert found["ties"].judge is rounds._ties
    assert found["repeatable"].judge is rounds._repeats


def test_a_round_returns_its_models_and_a_label_for_each_client() -> None:
    found = rounds.read_round((MODELS, [0, 2]), CASE, Border())
    assert found.labels.tolist() == [0, 2]
    with pytest.raises(WrongForm, match=r"^models has the shape \(2, 2\); it must be \(3, 2\)"):
        rounds.read_round((MODELS[:2], [0, 1]), CASE, Border())
    with pytest.raises(WrongForm, match=r"^labels has the shape \(3,\); it must be \(2,\)"):
        rounds.read_round((MODELS, [0, 1, 2]), CASE, Border())
