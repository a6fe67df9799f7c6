"""The checks of ``one_shot``: the law over the seeds, inputs, and what a judge refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy import stats

from tests.verify.testing.draws import Answers, made_of
from tests.verify.testing.subjects.laws_seen import SEED, answers, recorded, rng, seen
from verify.testing import examples
from verify.testing import strategies as own
from verify.testing.arrays import Border
from verify.testing.case import Case, Clients
from verify.testing.check import Clustered, Scope, Violation, WrongForm
from verify.testing.subjects import one_shot

ANY, SIMPLE, EQUAL = Scope(), Scope(simple=True), Scope(equal_sizes=True)
FIRST_LINE, SECOND_LINE = [0.0, 1.0, 2.5, 4.5, 7.0, 7.5], [0.5, 10.0, 11.0, 17.0, 17.5, 18.5]

# -- the law over the seeds ----------------------------------------------------------------------


def test_the_law_is_tried_on_both_lines_with_three_hundred_seeds_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried = seen(monkeypatch, one_shot, "_seeding_on")
    call = answers()
    one_shot._seeding(call, {"data_seed": SEED})
    stream = rng()
    for (program, points, seeds), line in zip(tried, (FIRST_LINE, SECOND_LINE), strict=True):
        assert program is call
        assert points.tolist() == line
        assert seeds.tolist() == stream.integers(0, 2147483648, 300).tolist()


def test_the_frequency_of_every_result_is_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ten seeds, s gives the result of its number; a part of the seeds is moved a little."""
    points = np.array(FIRST_LINE)
    law = list(one_shot.seeding_law(points, 3).items())
    assert len(law) > 3
    tested = seen(monkeypatch, one_shot, "require_p_value")
    seeds = [0, 0, 1, 2, 1, 0, 2, 0, 0, 0]
    models = [np.array(law[s][0])[::-1, None] + 1e-3 for s in seeds]
    call = answers(*(Clustered(m, np.zeros(6, dtype=int)) for m in models))
    one_shot._seeding_on(call, points, np.array(seeds))
    for seed, case in zip(seeds, call.cases, strict=True):
        assert (case["k"], case["seed"], type(case["seed"])) == (3, seed, int)
        pairs = [(x.tolist(), y.tolist()) for x, y in case["clients"]]
        assert pairs == [([[1.0], [1.0]], [point, point]) for point in FIRST_LINE]
    assert len(tested) == len(law)
    for i, ((key, probability), (p, level, words)) in enumerate(zip(law, tested, strict=True)):
        count = seeds.count(i)
        chances = stats.binom(10, probability).pmf(np.arange(11))
        right = chances[chances <= chances[count] * (1 + 1e-7)].sum()
        assert p == pytest.approx(min(right, 1.0), rel=1e-9)
        assert level == pytest.approx(1e-6 / 2 / len(law), rel=1e-12)
        assert words == f"{count} of 10 seeds give the models {list(key)}, not {probability:.1%}"


def test_a_certain_result_may_come_from_every_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three points have one result, whose probability may exceed one by rounding."""
    points = np.array([0.0, 1.0, 5.0])
    ((key, probability),) = one_shot.seeding_law(points, 3).items()
    assert key == (0.0, 1.0, 5.0)
    assert probability == pytest.approx(1.0, rel=1e-14)
    monkeypatch.setattr(one_shot, "seeding_law", lambda *_: {key: 1.0 + 1e-15})
    tested = seen(monkeypatch, one_shot, "require_p_value")
    got = Clustered(points[:, None], np.arange(3))
    one_shot._seeding_on(answers(got, got), points, np.array([4, 5]))
    assert [p for p, _, _ in tested] == [1.0]


def test_probabilities_of_results_add_up_to_one() -> None:
    for line in (FIRST_LINE, SECOND_LINE):
        law = one_shot.seeding_law(np.array(line), 3)
        assert sum(law.values()) == pytest.approx(1.0, rel=1e-12)
        assert all(list(key) == sorted(key) for key in law)
    pair = one_shot.seeding_law(np.array([0.0, 0.0, 3.0]), 2)  # an equal point is never the second
    assert pair == pytest.approx({(0.0, 3.0): 1.0})
    alone = one_shot.seeding_law(np.array([0.0, 1.0, 3.5]), 1)
    assert alone == pytest.approx({(1.5,): 1.0})


def test_uniform_seeds_are_refused() -> None:
    one_shot._seeding(recorded(examples.one_shot, "one_shot"), {"data_seed": SEED})

    def uniform(clients: Any, k: int, seed: int) -> Any:
        estimates = np.array([np.linalg.lstsq(x, y, rcond=None)[0] for x, y in clients])
        chosen = np.random.default_rng(seed).choice(len(estimates), k, replace=False)
        return examples.kmeans(estimates, estimates[chosen])

    with pytest.raises(Violation, match="of 300 seeds give the models"):
        one_shot._seeding(recorded(uniform, "one_shot"), {"data_seed": SEED})


# -- inputs --------------------------------------------------------------------------------------


def test_designs_are_frames_whose_columns_are_scaled() -> None:
    draw = Answers((own.sizes(2, 6, min_n=2, equal=False), np.array([2, 5])), (own.seeds, 3))
    found = one_shot._designs(draw, 2, 2, ANY)  # type: ignore[arg-type]
    draw.end()
    stream = np.random.default_rng(3)
    normal = [stream.standard_normal((n, 2)) for n in (2, 5)]
    for x, matrix, n in zip(found, normal, (2, 5), strict=True):
        factors = 0.75 + 0.5 * stream.random(2)
        assert x.T @ x == pytest.approx(n * np.diag(factors**2), abs=1e-12)
        assert np.linalg.matrix_rank(np.column_stack([x, matrix]), tol=1e-9) == 2  # one span
    draw = Answers((own.sizes(3, 6, min_n=1, equal=True), np.array([1, 1, 1])), (own.seeds, 3))
    assert [x.shape for x in one_shot._designs(draw, 3, 1, EQUAL)] == [(1, 1)] * 3  # type: ignore[arg-type]
    simple = one_shot._designs(Answers(), 3, 2, SIMPLE)  # type: ignore[arg-type]
    assert [x.tolist() for x in simple] == [[[1.0, 0.0], [0.0, 1.0]]] * 3


def test_groups_are_clients_without_noise_whose_estimates_are_separated() -> None:
    estimates, truth = np.array([[1000.0, 1.0], [2000.0, 2.0], [1000.5, 3.0]]), np.array([0, 1, 0])
    found = made_of(
        one_shot._groups(SIMPLE),
        (own.separated(simple=True), {"points": estimates, "truth": truth}),
        (st.integers(0, 2147483647), 77),
        (st.permutations(range(3)), [2, 0, 1]),
    )
    assert [y.tolist() for _, y in found["clients"]] == estimates.tolist()
    assert (found["k"], found["seed"], found["truth"]) == (2, 77, truth)
    assert found["order"].tolist() == [2, 0, 1]
    ordinary = made_of(
        one_shot._groups(ANY),
        (own.separated(simple=False), {"points": estimates, "truth": truth}),
        (own.sizes(3, 6, min_n=2, equal=False), np.array([2, 3, 4])),
        (own.seeds, 3),
        (st.integers(0, 2147483647), 77),
        (st.permutations(range(3)), [2, 0, 1]),
    )
    for (x, y), estimate in zip(ordinary["clients"], estimates, strict=True):
        assert y == pytest.approx(x @ estimate, rel=1e-12)


@pytest.mark.parametrize(("responses", "most"), [([1.0, 2.0, 1.0, 5.0, 7.0], 3), ([1.0, 2.0], 2)])
def test_mixed_clients_have_no_more_clusters_than_different_estimates(
    responses: list[float], most: int
) -> None:
    m = len(responses)
    found = made_of(
        one_shot._draw_mixed(SIMPLE),
        (st.integers(1, 6), m),
        (st.integers(1, 3), 1),
        (own.seeds, 4),
        *((own.whole((1,)), np.array([y])) for y in responses),
        (st.integers(1, most), 2),
        (st.integers(0, 2147483647), 9),
    )
    assert [y.tolist() for _, y in found["clients"]] == [[y] for y in responses]
    assert (found["k"], found["seed"]) == (2, 9)


def test_mixed_clients_have_normal_responses_three_times_as_wide() -> None:
    found = made_of(
        one_shot._draw_mixed(ANY),
        (st.integers(1, 6), 2),
        (st.integers(1, 3), 1),
        (own.seeds, 4),
        (own.sizes(2, 6, min_n=1, equal=False), np.array([2, 3])),
        (own.seeds, 5),
        (st.integers(1, 2), 1),
        (st.integers(0, 2147483647), 9),
    )
    stream = np.random.default_rng(4)
    for n, (x, y) in zip((2, 3), found["clients"], strict=True):
        assert x.shape == (n, 1)
        assert y == pytest.approx(3.0 * stream.standard_normal(n), rel=1e-15)
    near = made_of(  # estimates that differ beyond the sixth digit count as one
        one_shot._draw_mixed(SIMPLE),
        (st.integers(1, 6), 3),
        (st.integers(1, 3), 1),
        (own.seeds, 4),
        *((own.whole((1,)), np.array([y])) for y in (1.0, 1.0 + 4e-7, 1.000002)),
        (st.integers(1, 2), 1),
        (st.integers(0, 2147483647), 9),
    )
    assert near["k"] == 1


# -- judges --------------------------------------------------------------------------------------


def clients_of(*estimates: float) -> Clients:
    return Clients(tuple((np.ones((2, 1)), np.full(2, e)) for e in estimates))


CASE: Case = {
    "clients": clients_of(3.0, 5.0, -20.0), "k": 2, "seed": 7, "truth": np.array([0, 0, 1]),
    "order": np.array([2, 0, 1]),
}  # fmt: skip
RIGHT = Clustered(np.array([[4.0], [-20.0]]), np.array([0, 0, 1]))


def other(models: list[list[float]] | None = None, labels: list[int] | None = None) -> Clustered:
    return Clustered(
        RIGHT.models if models is None else np.array(models),
        RIGHT.labels if labels is None else np.array(labels),
    )


def test_the_rounding_of_an_estimate_grows_with_responses_over_the_least_singular_value() -> None:
    """The sizes are 5 / 1 and root 2 * 6 / root 2, and the rows are four in two clients."""
    clients = Clients(
        (
            (np.array([[4.0, 0.0], [0.0, 1.0]]), np.array([3.0, 4.0])),
            (np.sqrt(2.0) * np.eye(2), np.array([np.sqrt(72.0), 0.0])),
        )
    )
    found, rounded = one_shot._estimates(answers(unit=0.5), clients)
    assert found == pytest.approx(np.array([[0.75, 4.0], [6.0, 0.0]]), rel=1e-14)
    assert rounded == pytest.approx(16.0 * 8.0 * (4 + 4 + 2 + 8) * 0.5 * 6.0, rel=1e-14)
    zero = Clients(((np.zeros((1, 1)), np.zeros(1)),))
    assert one_shot._estimates(answers(), zero)[1] == 0.0


def test_models_are_means_and_labels_those_of_nearest_models() -> None:
    one_shot._means_of_estimates(answers(RIGHT), CASE)
    empty = Clustered(np.array([[4.0], [-20.0], [90.0]]), RIGHT.labels)
    one_shot._means_of_estimates(answers(empty), CASE)
    for wrong, says in (
        (other(models=[[4.0], [-20.1]]), r"^model 1 is \[-20\.1\], but .* is \[-20\.0\]"),
        (other(models=[[4.5], [-20.0]]), r"^model 0 is \[4\.5\], but .* is \[4\.0\]"),
        (
            other(models=[[3.0], [-7.5]], labels=[0, 1, 1]),
            r"^client 1 has the label 1, but .* are \[4\.0, 156\.25\]: Lloyd's iteration would go",
        ),
    ):
        with pytest.raises(Violation, match=says):
            one_shot._means_of_estimates(answers(wrong), CASE)


def test_the_accuracy_is_relative_to_the_longest_estimate() -> None:
    moved = other(models=[[4.0], [-20.019]])
    one_shot._means_of_estimates(answers(moved, accuracy=0.001), CASE)
    with pytest.raises(Violation):
        one_shot._means_of_estimates(answers(moved, accuracy=0.0009), CASE)


@pytest.mark.parametrize(
    ("labels", "right"),
    [
        ([0, 0, 1], True), ([1, 1, 0], True), ([0, 1, 1], False), ([0, 0, 0], False),
        ([0, 1, 2], False),
    ],
)  # fmt: skip
def test_labels_are_those_of_groups_under_any_names(labels: list[int], right: bool) -> None:
    if right:
        one_shot._recovers(answers(other(labels=labels)), CASE)
    else:
        with pytest.raises(Violation, match=r"far apart as wide, are \[0, 0, 1\]$"):
            one_shot._recovers(answers(other(labels=labels)), CASE)


def test_in_another_order_every_client_has_its_model() -> None:
    image = other(models=[[-20.0], [4.0]], labels=[0, 1, 1])
    call = answers(RIGHT, image)
    one_shot._one_shot_order(call, CASE)
    assert call.cases[0] is CASE
    assert [y[0] for _, y in call.cases[1]["clients"]] == [-20.0, 3.0, 5.0]
    assert call.cases[1]["seed"] == 7
    with pytest.raises(Violation, match=r"in another order .* their models change by 24$"):
        one_shot._one_shot_order(answers(RIGHT, image._replace(labels=np.array([0, 1, 0]))), CASE)


def test_responses_four_times_as_large_have_models_four_times_as_large() -> None:
    image = other(models=[[-80.0], [16.0]], labels=[1, 1, 0])
    call = answers(RIGHT, image)
    one_shot._one_shot_scale(call, CASE)
    assert [y[0] for _, y in call.cases[1]["clients"]] == [12.0, 20.0, -80.0]
    for (x, _), (base, _) in zip(call.cases[1]["clients"], CASE["clients"], strict=True):
        assert x is base
    wrong = other(models=[[-80.0], [40.0]], labels=[1, 1, 0])
    with pytest.raises(Violation, match=r"a quarter of the models is off by 6$"):
        one_shot._one_shot_scale(answers(RIGHT, wrong), CASE)


def test_equal_seeds_give_equal_models() -> None:
    call = answers(RIGHT, RIGHT)
    one_shot._one_shot_repeats(call, CASE)
    assert call.cases == [CASE, CASE]
    with pytest.raises(Violation, match=r"^two calls with the seed 7 return different models$"):
        one_shot._one_shot_repeats(answers(RIGHT, other(models=[[4.0], [-20.000001]])), CASE)


def test_there_are_k_models_in_the_clients_space_and_a_label_for_each_client() -> None:
    found = one_shot._read_one_shot(([[4], [-20]], [0, 0, 1]), CASE, Border())
    assert found.models.tolist() == [[4.0], [-20.0]]
    with pytest.raises(WrongForm, match=r"^models has the shape \(1, 1\); it must be \(2, 1\)"):
        one_shot._read_one_shot(([[4]], [0, 0, 0]), CASE, Border())
    with pytest.raises(WrongForm, match=r"^labels has the shape \(2,\); it must be \(3,\)"):
        one_shot._read_one_shot(([[4], [-20]], [0, 0]), CASE, Border())
    alone: Case = {"clients": clients_of(3.0), "k": 1}
    assert one_shot._read_one_shot(([[3]], [0]), alone, Border()).models.tolist() == [[3.0]]
