"""The inputs that checks are tried on: their sizes reach both ends of what is written here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from verify.testing import strategies as own
from verify.testing.check import Scope
from verify.testing.subjects import (
    assignment,
    convex_clustering,
    fedx,
    kmeans,
    one_shot,
    orthogonal_iteration,
    points,
    rounds,
)

RARE = settings(
    max_examples=5000, derandomize=True, database=None, deadline=None,
    phases=[Phase.generate], suppress_health_check=list(HealthCheck),
)  # fmt: skip
ANY, EQUAL, SIMPLE = Scope(), Scope(equal_sizes=True), Scope(simple=True)


def drawn(strategy: st.SearchStrategy[Any], count: int = 120) -> list[Any]:
    """Always the same cases of a strategy."""
    found: list[Any] = []

    @settings(
        max_examples=count, derandomize=True, database=None, deadline=None,
        phases=[Phase.generate], suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def run(case: Any) -> None:
        found.append(case)

    run()
    return found


def clients(case: Any) -> dict[str, int]:
    sizes = case["clients"].sizes
    return {"m": len(sizes), "d": case["clients"].pairs[0][0].shape[1], "n": int(sizes.max())}


def models(case: Any) -> dict[str, int]:
    return clients(case) | {"k": len(case["models"])}


def clustered(case: Any) -> dict[str, int]:
    return clients(case) | {"k": case["k"]}


def centred(case: Any) -> dict[str, int]:
    m, d = case["points"].shape
    return {"m": m, "d": d, "k": len(case["centres"])}


def paired(case: Any) -> dict[str, int]:
    d, k = case["start"].shape
    return {"m": len(case["first"]), "d": d, "k": k, "steps": case["n_steps"]}


def grouped(case: Any) -> dict[str, int]:
    each = np.bincount(case["truth"])
    return {"d": case["points"].shape[1], "k": len(each), "each": int(each.max())}


def shape(points: Any) -> dict[str, int]:
    return {"m": points.shape[0], "d": points.shape[1]}


Sizes = Callable[[Any], dict[str, int]]
CASES: dict[str, tuple[st.SearchStrategy[Any], Sizes, dict[str, tuple[int, int]]]] = {
    "groups": (
        one_shot._groups(EQUAL), clustered, {"k": (1, 3), "d": (1, 3), "n": (1, 6)},
    ),
    "mixed": (
        one_shot._draw_mixed(EQUAL), clustered,
        {"m": (1, 6), "k": (1, 3), "d": (1, 3), "n": (1, 6)},
    ),
    "starts": (kmeans._starts(ANY), centred, {"m": (1, 9), "k": (1, 4), "d": (1, 3)}),
    "assignments": (
        assignment._assignments(ANY), centred, {"m": (1, 8), "k": (1, 4), "d": (1, 3)},
    ),
    "ties": (assignment._assignment_ties(ANY), centred, {"m": (1, 5), "k": (2, 4), "d": (1, 2)}),
    "centres alone": (
        assignment._centres_alone(ANY), centred, {"m": (1, 5), "k": (1, 5), "d": (1, 3)},
    ),
    "pairs": (
        orthogonal_iteration._pairs(ANY), paired,
        {"m": (1, 6), "d": (2, 4), "k": (1, 3), "steps": (0, 4)},
    ),
    "simple pairs": (orthogonal_iteration._pairs(SIMPLE), paired, {"m": (1, 6), "d": (2, 4)}),
    "full rank": (fedx._full_rank(EQUAL, 100), clients, {"m": (1, 4), "d": (1, 3), "n": (1, 6)}),
    "lattice": (
        rounds._lattice(ANY, None), models, {"m": (1, 4), "d": (1, 2), "k": (2, 3), "n": (1, 4)},
    ),
    "rounds": (
        own.federated(equal=True), models, {"m": (1, 6), "d": (1, 3), "k": (1, 3), "n": (1, 5)},
    ),
    "penalised": (
        convex_clustering._draw_penalised(ANY), lambda c: shape(c["points"]),
        {"m": (2, 6), "d": (1, 3)},
    ),
    "points": (own.point_sets(), shape, {"m": (1, 8), "d": (1, 3)}),
    "separated": (own.separated(), grouped, {"d": (1, 3), "k": (1, 3), "each": (1, 3)}),
    "mixtures": (
        own.mixtures(), lambda x: {"k": x.k, "d": x.d},
        {"k": (2, 6), "d": (2, 12)},
    ),
    "schedules": (own.schedules(), lambda s: {"rounds": s[1]}, {"rounds": (1, 5)}),
    "whole": (
        own.whole((2,)), lambda x: {"low": int(x.min()), "high": int(x.max())},
        {"low": (-4, 4), "high": (-4, 4)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_sizes_reach_both_ends_and_no_further(name: str) -> None:
    """What is drawn changes with every constant of the program, so a rare end is looked for."""
    strategy, sizes, ends = CASES[name]
    found = [sizes(case) for case in drawn(strategy, 60)]
    for size, (low, high) in ends.items():
        seen = {each[size] for each in found}
        assert low <= min(seen) <= max(seen) <= high, size
        for end in {low, high} - seen:
            find(strategy, lambda case, s=size, e=end: sizes(case)[s] == e, settings=RARE)


@pytest.mark.parametrize(
    "draw",
    [
        lambda scope: fedx._full_rank(scope, 7),
        one_shot._draw_mixed,
        lambda scope: rounds.rounds(scope, None),
    ],
)
def test_clients_have_unequal_sizes_unless_equal_ones_are_asked_for(
    draw: Callable[[Scope], st.SearchStrategy[Any]],
) -> None:
    """A mean without the clients' weights is right where all have equal sizes."""
    unequal = [len(set(case["clients"].sizes)) > 1 for case in drawn(draw(ANY), 60)]
    assert sum(unequal) >= 6
    assert all(len(set(case["clients"].sizes)) == 1 for case in drawn(draw(EQUAL), 60))


def test_local_work_is_drawn_to_its_end() -> None:
    assert {c["n_local_steps"] for c in drawn(fedx._full_rank(ANY, 7), 20)} == {7}
    assert {c["step_size"] for c in drawn(fedx._full_rank(ANY, 7), 20)} == {0.5}
    assert {c["step_size"] for c in drawn(fedx._full_rank(ANY, None), 20)} == {2.0**30}


def test_clients_of_full_rank_have_orthogonal_columns_of_length_root_n() -> None:
    for case in drawn(fedx._full_rank(ANY, 7), 40):
        for x, y in case["clients"]:
            d = x.shape[1]
            assert x.T @ x / len(y) == pytest.approx(np.eye(d), abs=1e-12)


def test_designs_of_one_shot_determine_estimates_to_a_factor_below_two() -> None:
    """The scaled columns are 0.75 to 1.25 times as long as root n, so the condition is 5/3."""
    for case in drawn(one_shot._groups(ANY), 60):
        for x, y in case["clients"]:
            lengths = np.linalg.svd(x / np.sqrt(len(y)), compute_uv=False)
            assert 0.75 - 1e-12 <= lengths.min() <= lengths.max() <= 1.25 + 1e-12
    for case in drawn(one_shot._groups(SIMPLE), 20):
        assert all(x.tolist() == np.eye(x.shape[1]).tolist() for x, _ in case["clients"])


def test_penalties_are_shares_of_what_fuses_all_points() -> None:
    cases = drawn(convex_clustering._draw_penalised(ANY))
    shares = {
        round(c["penalty"] * len(c["points"]) / convex_clustering._spread(c["points"]), 9)
        for c in cases
    }
    assert shares == {0.01, 0.125, 0.5, 1.0, 2.0}


def test_the_far_centre_of_an_empty_start_is_nearest_to_no_point() -> None:
    added = 0
    for case in drawn(kmeans._empty_starts(ANY)):
        points_, centres = case["points"], case["centres"]
        far = centres[-1]
        if not (points_ == far).all(axis=1).any() and np.ptp(far) == 0 and far[0] > 0:
            gaps = np.linalg.norm(points_[:, None] - centres, axis=2)
            if far[0] > 7 * np.abs(points_).max():
                added += 1
                assert (gaps[:, -1] > gaps[:, :-1].min(axis=1)).all()
                assert far[0] == 2.0 ** round(np.log2(far[0]))
    assert added > 30


def test_frames_have_units_of_powers_of_two_and_whole_shifts() -> None:
    frames = drawn(points.frames(np.zeros((3, 2))))
    assert {f["unit"] for f in frames} == {1.0, -1.0, 2.0**10, 2.0**-10}
    assert {tuple(sorted(f["order"].tolist())) for f in frames} == {(0, 1, 2)}
    assert all((f["move"] == np.round(f["move"])).all() for f in frames)


def test_pairs_are_those_of_one_set_or_of_two() -> None:
    cases = drawn(orthogonal_iteration._pairs(ANY))
    same = [np.array_equal(c["first"], c["second"]) for c in cases]
    assert 12 < sum(same) < 108
    for case in cases:
        k = case["start"].shape[1]
        assert case["start"].T @ case["start"] == pytest.approx(np.eye(k), abs=1e-12)
        assert len(case["first"]) >= k


def test_noiseless_rounds_have_a_model_that_made_the_data() -> None:
    for case in drawn(rounds._draw_solved(ANY, None), 60):
        for x, y in case["clients"]:
            errors = [np.abs(x @ model - y).max() for model in case["models"]]
            scale = 1e-300 + np.abs(x).max() * np.abs(case["models"]).max()
            assert min(errors) <= 1e-12 * scale
