"""The search finds planted counterexamples, shrinks them, and is not fooled by rounding."""

from __future__ import annotations

import importlib
import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest

from trials.checks import InvalidParameter
from verify.decisions import search
from verify.decisions.search import (
    Choice,
    Interval,
    IntRange,
    LogInterval,
    NoPoint,
    SearchResult,
    search_counterexample,
)


def test_a_false_inequality_gives_a_confirmed_small_counterexample() -> None:
    # False claim: x^2 k <= 40 + k for all x in [0, 10], k in 1..100.
    result = search_counterexample(
        lambda p: p["x"] ** 2 * p["k"] - 40 - p["k"],
        {"x": Interval(0, 10), "k": IntRange(1, 100)},
        budget=400,
        seed=1,
        recheck=lambda p: mpmath.mpf(p["x"]) ** 2 * p["k"] - 40 - p["k"],
    )
    assert result.found
    assert result.witness is not None
    x, k = result.witness["x"], result.witness["k"]
    assert x**2 * k > 40 + k
    assert k == 1 or x <= 2.0  # shrunk: the least k, or a small x
    assert float(f"{x:.2g}") == x
    assert result.rechecked is not None
    assert float(result.rechecked) > 0
    assert "counterexample at" in result.summary


@pytest.mark.parametrize("limit", [0.5, 60.0, 90.0, 99.0, 99.9, 99.999, 100.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_first_counterexample_alone_gives_the_verdict_of_the_whole_search(limit, seed):
    """From an inequality that nearly every point breaks to one that none does."""
    visited: list[dict[str, float]] = []

    def violation(point: dict[str, float]) -> float:
        visited.append(dict(point))
        return 100.0 - (point["x"] - 0.3) ** 2 - (point["y"] - 0.6) ** 2 - limit

    def search(first: bool):
        visited.clear()
        return search_counterexample(
            violation,
            {"x": Interval(-10.0, 10.0), "y": Interval(-10.0, 10.0)},
            budget=200,
            seed=seed,
            recheck=lambda point: point["x"],  # a candidate with x <= 0 is taken for rounding
            first=first,
        )

    whole, in_order = search(False), list(visited)
    alone = search(True)
    assert alone.found == whole.found
    assert whole.found or limit > 99.0
    assert not whole.found or limit < 100.0
    n_seen = len(visited)
    expected = next((p for p in in_order if violation(p) > 0.0 and p["x"] > 0.0), None)
    assert alone.witness == expected
    assert expected is None or in_order.index(expected) + 1 <= n_seen <= len(in_order)
    if expected is not None and limit <= 90.0:  # the corners and the points that fill the square
        assert alone.n_evaluations == in_order.index(expected) + 1


def test_a_true_inequality_survives_and_reports_how_tight_it_is() -> None:
    # AM-GM, with equality at a = b.  The largest violation is zero up to rounding.
    def violation(p: dict[str, float]) -> float:
        return 2 * math.sqrt(p["a"] * p["b"]) / (p["a"] + p["b"]) - 1

    def exactly(p: dict[str, float]) -> mpmath.mpf:
        a, b = mpmath.mpf(p["a"]), mpmath.mpf(p["b"])
        return 2 * mpmath.sqrt(a * b) / (a + b) - 1

    domain = {"a": LogInterval(1e-5, 1e5), "b": LogInterval(1e-5, 1e5)}
    result = search_counterexample(violation, domain, 1500, 2, recheck=exactly)
    assert not result.found
    assert result.witness is None
    assert -1e-6 < result.largest <= 0
    assert result.largest_at is not None
    assert result.largest_at["a"] == pytest.approx(result.largest_at["b"], rel=1e-2)
    assert set(result.by_method) == {
        "corners",
        "sobol",
        "differential evolution",
        "nelder-mead",
        "part by part",
        "hypothesis",
    }
    assert result.n_evaluations == sum(result.by_method.values())
    assert f"no counterexample at {result.n_evaluations} points" in result.summary


def test_rounding_is_not_mistaken_for_refutation() -> None:
    # (1 + x) - 1 - x is zero, but in floating point it is often positive.
    def violation(p: dict[str, float]) -> float:
        return ((1 + p["x"]) - 1) - p["x"]

    domain = {"x": LogInterval(1e-12, 1e-3)}
    careless = search_counterexample(violation, domain, 200, 3, tolerance=0.0)
    assert careless.found
    careful = search_counterexample(
        violation, domain, 200, 3, recheck=lambda p: (1 + mpmath.mpf(p["x"])) - 1 - p["x"]
    )
    assert not careful.found
    assert careful.n_rounding > 0
    assert careful.largest <= 0.0
    # Without a re-check the default tolerance absorbs rounding.
    assert not search_counterexample(violation, domain, 200, 3).found


def test_an_optimiser_finds_what_random_points_miss() -> None:
    # A smooth hill that rises above zero only within 1e-4 of an interior point.
    def violation(p: dict[str, float]) -> float:
        return 1e-8 - (p["x"] - 0.3123456) ** 2 - (p["y"] - 0.7654321) ** 2

    domain = {"x": Interval(0, 1), "y": Interval(0, 1)}
    result = search_counterexample(violation, domain, 3000, 4, tolerance=0.0)
    assert result.found
    assert result.by_method["differential evolution"] > 0


def test_a_trivial_maximum_does_not_hide_the_rest_of_the_domain() -> None:
    """v = -x, largest at x = 0 for every y.  With x in its upper half the ridge y = 0.8 shows."""

    def violation(p: dict[str, float]) -> float:
        return -p["x"] - 0.5 * min(p["x"], 0.25) * abs(p["y"] - 0.8)

    result = search_counterexample(violation, {"x": Interval(0, 1), "y": Interval(0, 1)}, 2000, 4)
    assert not result.found
    assert result.largest == pytest.approx(0.0, abs=1e-6)
    assert set(result.by_part) == {
        "x from 0 to 0.5",
        "x from 0.5 to 1",
        "y from 0 to 0.5",
        "y from 0.5 to 1",
    }
    assert result.by_part["x from 0.5 to 1"] == pytest.approx(-0.5, abs=5e-3)
    assert result.by_part["x from 0 to 0.5"] == pytest.approx(0.0, abs=5e-3)


def test_a_counterexample_in_one_part_is_found_beside_a_wide_trivial_maximum() -> None:
    """v is at most zero on the whole face w = 0, and positive in a ball of radius 0.07 elsewhere.

    A search of the whole domain alone ends on the face: it finds the ball in 2 of these 8 seeds.
    """
    centre = {"w": 0.8, "x": 0.9, "y": 0.1, "z": 0.7}

    def violation(p: dict[str, float]) -> float:
        away = sum((p[name] - c) ** 2 for name, c in centre.items())
        return max(-p["w"], -0.55 + 0.6 * math.exp(-away / 0.05))

    domain = dict.fromkeys(centre, Interval(0, 1))
    found = sum(search_counterexample(violation, domain, 4000, seed).found for seed in range(8))
    assert found >= 6


class Triples:
    """Three numbers of [0, 1] in one list: a domain that is no box."""

    def check(self) -> None:
        pass

    def sample(self, rng, n):  # type: ignore[no-untyped-def]
        return ({"v": list(rng.random(3))} for _ in range(n))

    def corners(self, rng, n):  # type: ignore[no-untyped-def]
        return iter([{"v": [0.0, 0.0, 0.0]}, {"v": [1.0, 1.0, 1.0]}][:n])

    def perturb(self, rng, point, size):  # type: ignore[no-untyped-def]
        step = size * rng.standard_normal(3)
        return {"v": [min(max(x + s, 0.0), 1.0) for x, s in zip(point["v"], step, strict=True)]}

    def shrink(self, point):  # type: ignore[no-untyped-def]
        for i, x in enumerate(point["v"]):
            for simpler in (0.0, round(x, 1)):
                if simpler < x:
                    yield {"v": [*point["v"][:i], simpler, *point["v"][i + 1 :]]}

    def parts(self):  # type: ignore[no-untyped-def]
        return {}

    def contains(self, point):  # type: ignore[no-untyped-def]
        return all(0 <= x <= 1 for x in point["v"])

    def names(self):  # type: ignore[no-untyped-def]
        return ()

    def fix(self, values):  # type: ignore[no-untyped-def]
        return self

    def describe(self) -> str:
        return "triples"


def test_a_structured_domain_is_searched_and_its_counterexample_shrunk() -> None:
    """False claim: x + y + z <= 2.9 on [0, 1]^3, away from the corner (1, 1, 1)."""
    result = search_counterexample(
        lambda p: sum(p["v"]) - 2.9 if p["v"] != [1.0, 1.0, 1.0] else -1.0, Triples(), 400, 1
    )
    assert result.found
    assert sum(result.witness["v"]) > 2.9  # type: ignore[index]
    assert any(x == round(x, 1) for x in result.witness["v"])  # type: ignore[index]
    assert result.by_method["local search"] > 0
    true = search_counterexample(lambda p: sum(p["v"]) - 3.01, Triples(), 400, 1)
    assert not true.found
    assert "hypothesis" not in true.by_method
    assert true.largest == pytest.approx(-0.01)


def test_a_candidate_that_high_precision_takes_back_is_never_a_shrunk_counterexample() -> None:
    """Violated for x > 1/2 only.  Below it the floating-point value alone is positive."""
    result = search_counterexample(
        lambda p: 1e-3 + max(p["x"] - 0.5, 0.0),
        {"x": Interval(0, 1)},
        200,
        3,
        recheck=lambda p: mpmath.mpf(p["x"]) - 0.5,
    )
    assert result.found
    assert result.witness["x"] > 0.5  # type: ignore[index]
    assert float(result.rechecked) > 0  # type: ignore[arg-type]


def test_hypothesis_finds_what_no_smooth_search_can() -> None:
    result = search_counterexample(
        lambda p: 1.0 if (p["n"] == 0 and p["flip"]) else -1.0,
        {"n": IntRange(-(10**9), 10**9), "flip": Choice((False, True))},
        budget=600,
        seed=5,
    )
    assert result.found
    assert dict(result.witness or {}) == {"n": 0, "flip": True}


def test_the_same_seed_gives_the_same_search() -> None:
    def run(seed: int):  # type: ignore[no-untyped-def]
        return search_counterexample(
            lambda p: -abs(p["x"] - 0.123) - 1e-3 * p["n"],
            {"x": Interval(0, 1), "n": IntRange(1, 1000, log=True)},
            budget=300,
            seed=seed,
        )

    assert run(6) == run(6)
    assert run(6).largest_at != run(7).largest_at


def test_constraints_and_undefined_points_are_counted_and_never_witnesses() -> None:
    result = search_counterexample(
        lambda p: math.nan if p["x"] < 0.2 else -p["x"],
        {"x": Interval(0, 1)},
        budget=100,
        seed=8,
        constraints=lambda p: p["x"] < 0.8,
    )
    assert not result.found
    assert result.n_outside > 0
    assert result.n_undefined > 0
    assert result.largest_at is not None
    assert 0.2 <= result.largest_at["x"] < 0.8


def test_points_without_a_value_are_not_said_to_be_tried() -> None:
    tried: list[bool] = []

    def violation(p: dict[str, float]) -> float:
        tried.append(p["x"] >= 0.9)
        return -p["x"] if tried[-1] else math.nan

    result = search_counterexample(violation, {"x": Interval(0, 1)}, budget=100, seed=8)
    with_a_value = sum(tried)
    assert result.summary == (
        f"no counterexample at {with_a_value} points; closest {result.largest:.3g}; at "
        f"{len(tried) - with_a_value} more it has no value"
    )
    every = search_counterexample(lambda p: -1.0, {"x": Interval(0, 1)}, budget=100, seed=8)
    assert every.summary == f"no counterexample at {every.n_evaluations} points; closest -1"


def test_every_range_reaches_both_its_ends_and_stays_inside() -> None:
    ranges = (Interval(-2, 3), LogInterval(1e-3, 7.0), IntRange(2, 9), IntRange(1, 10**7, log=True))
    for r in ranges:
        values = [r.at(u / 1000) for u in range(1001)]
        assert values == sorted(values)
        assert (values[0], values[-1]) == (r.low, r.high)
    assert {Choice("abc").at(u / 10) for u in range(11)} == set("abc")


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        ({}, "at least one parameter"),
        ({"x": Interval(1, 0)}, r"x: \[1, 0\] must be finite and ordered"),
        ({"x": Interval(0, math.inf)}, "must be finite"),
        ({"x": LogInterval(0, 1)}, "must be positive on a log scale"),
        ({"x": Choice(())}, "at least one value"),
    ],
)
def test_impossible_domains_are_refused(domain, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidParameter, match=message):
        search_counterexample(lambda p: 0.0, domain, 100, 0)


def test_a_search_that_meets_no_constraint_is_refused_instead_of_supporting() -> None:
    with pytest.raises(InvalidParameter, match="met the constraints"):
        search_counterexample(
            lambda p: -1.0, {"x": Interval(0, 1)}, 50, 0, constraints=lambda p: False
        )


def test_a_search_does_not_depend_on_the_modules_that_are_loaded(tmp_path, monkeypatch) -> None:
    """Hypothesis draws numbers from the loaded modules: the points tried would differ."""

    def points() -> list[tuple[float, int]]:
        tried: list[tuple[float, int]] = []

        def violation(p: dict[str, float]) -> float:
            tried.append((p["x"], int(p["k"])))
            return -abs(p["x"] - 3) - p["k"]

        domain = {"x": Interval(0, 1e6), "k": IntRange(1, 10**6)}
        search_counterexample(violation, domain, budget=2000, seed=1)
        return tried

    before = points()
    numbers = ", ".join(f"{i}, {i}.5" for i in range(1000, 1400))
    (tmp_path / "numbers_of_a_user.py").write_text(f"NUMBERS = ({numbers})\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("numbers_of_a_user")
    assert points() == before


def test_a_counterexample_is_simplified_inside_the_constraints_only() -> None:
    """The statement fails everywhere, so that only the constraints end the simplification."""
    domain = {"x": Interval(0.0, 10.0), "k": IntRange(0, 50)}
    for seed in range(3):
        result = search_counterexample(
            lambda p: 1.0 + p["x"],
            domain,
            60,
            seed,
            constraints=lambda p: p["x"] >= 2.5 and p["x"] + p["k"] >= 20,
        )
        assert result.witness is not None
        assert result.witness["x"] >= 2.5
        assert result.witness["x"] + result.witness["k"] >= 20
        free = search_counterexample(lambda p: 1.0 + p["x"], domain, 60, seed)
        assert free.witness == {"x": 0.0, "k": 0}


def test_rounding_refutes_only_where_high_precision_agrees() -> None:
    box = {"x": Interval(0.0, 1.0)}
    assert not search_counterexample(lambda _: 5e-10, box, 60, 0).found
    assert search_counterexample(lambda _: 5e-9, box, 60, 0).found
    assert search_counterexample(lambda _: 5e-10, box, 60, 0, recheck=lambda _: 5e-10).found
    assert not search_counterexample(lambda _: 5e-9, box, 60, 0, recheck=lambda _: -1e-30).found
    assert not search_counterexample(lambda _: 5e-9, box, 60, 0, tolerance=1e-8).found


def test_a_search_without_a_value_anywhere_is_refused_instead_of_supporting() -> None:
    box = {"x": Interval(-1.0, 1.0)}
    with pytest.raises(NoPoint, match="nothing was tried"):
        search_counterexample(lambda _: math.nan, box, 60, 0)
    # One point with a value is a search, and an infinite distance from a violation is a value.
    assert not search_counterexample(lambda p: -1.0 if p["x"] > 0 else math.nan, box, 60, 0).found
    result = search_counterexample(lambda _: -math.inf, box, 60, 0)
    assert not result.found
    assert result.n_undefined == 0


def test_a_part_without_a_start_does_not_hide_the_parts_behind_it() -> None:
    """All starts lie in the second half."""
    state = search._Search(lambda point: point["x"] - 1.0, None, None, 0.0)
    domain = search.as_domain({"x": Interval(0.0, 1.0)})
    rng, starts = np.random.default_rng(0), [(-0.4, {"x": 0.6})]
    assert list(domain.parts()) == ["x from 0 to 0.5", "x from 0.5 to 1"]
    found = search._part_by_part(state, domain, 400, rng, starts)
    assert list(found) == ["x from 0.5 to 1"]
    assert -0.05 < found["x from 0.5 to 1"] <= 0.0


def test_a_search_that_was_not_made_saw_no_point_and_came_close_to_nothing() -> None:
    none = SearchResult.none()
    assert none.summary == "no counterexample at 0 points; closest -inf"
    equal = replace(none, n_evaluations=2, largest=-0.0)
    assert equal.summary == "no counterexample at 2 points; closest 0"
    assert (none.found, none.witness, none.violation, none.rechecked) == (False, None, None, None)
    assert (none.by_method, none.by_part, none.largest_at) == ({}, {}, None)
    assert none.n_evaluations == none.n_outside == none.n_undefined == none.n_rounding == 0


def test_a_counterexample_in_general_position_is_kept_whatever_the_violation_of_others() -> None:
    """Whole numbers are special here.  Of two points of one kind the larger one is kept."""

    def is_general(point):
        return point["x"] % 1 != 0

    state = search._Search(lambda point: point["x"], None, None, 0.0, is_general)
    kept = []
    for x in (2.0, 1.0, 3.0, 0.5, 4.0, 0.25, 0.75):
        state.evaluate({"x": x}, "by hand")
        assert state.best is not None
        kept.append(state.best[1]["x"])
    assert kept == [2.0, 2.0, 3.0, 0.5, 0.5, 0.5, 0.75]
    assert state.largest == 4.0


def test_an_optimiser_is_not_drawn_to_where_the_statement_says_nothing() -> None:
    """A hill above zero within 1e-3 of a point, and seven eighths of the domain outside.

    Most points of the evolution are inside all the same.
    """
    top = {"x": 0.3123456, "y": 0.4654321, "z": 0.2718281}

    def violation(p: dict[str, float]) -> float:
        return 1e-6 - sum((p[name] - at) ** 2 for name, at in top.items())

    result = search_counterexample(
        violation,
        dict.fromkeys(top, Interval(0, 1)),
        4000,
        5,
        tolerance=0.0,
        constraints=lambda p: max(p.values()) < 0.5,
    )
    assert result.found
    assert result.by_method["differential evolution"] > result.n_outside


@pytest.mark.parametrize("budget", [512, 2048])
def test_the_parts_of_a_domain_have_evaluations_of_their_own(budget: int) -> None:
    """The starts, a power of two and corners, are more than half of these budgets."""
    box = {"x": Interval(0.0, 1.0), "y": Interval(0.0, 1.0)}
    peak = (0.137, 0.719)  # in the lower half of x and the upper one of y

    def violation(point: dict[str, float]) -> float:
        return -1.0 - abs(point["x"] - peak[0]) - abs(point["y"] - peak[1])

    found = search_counterexample(violation, box, budget, 3)
    assert budget // 16 < found.by_method["part by part"] <= budget // 8
    assert set(found.by_part) == set(search.as_domain(box).parts())
    for name, least in (("x from 0.5 to 1", 0.363), ("y from 0 to 0.5", 0.219)):
        # no point of these halves is closer
        assert found.by_part[name] <= -1.0 - least + 1e-12


def test_a_part_is_never_said_to_be_farther_from_an_equality_than_its_closest_point() -> None:
    """A part was said to hold by 0.063 where the same page named a point of it with 0.0025."""
    parts = {"x from 0 to 0.5": -0.3, "x from 0.5 to 1": -0.2}
    state = search._Search(lambda point: -abs(point["x"] - 0.1), None, None, 0.0)
    for x in (0.9, 0.2, 0.4):
        state.evaluate({"x": x}, "by hand")
    domain = search.as_domain({"x": Interval(0.0, 1.0)})
    found = search._with_largest(state, domain, parts)
    assert found == {"x from 0 to 0.5": pytest.approx(-0.1), "x from 0.5 to 1": -0.2}
    assert search._with_largest(state, domain, {}) == {}
    near = {"x from 0 to 0.5": -0.05, "x from 0.5 to 1": -0.2}
    assert search._with_largest(state, domain, near) == near
