"""What the searches of moment descent compute, against values worked out by another way."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy
import sympy as sp

from bounds.statement import evaluate
from bounds.sxy.descent import PROP_2_21
from bounds.sxy.local_steps import LEMMA_1, P_SPECTRUM_LOWER
from bounds.sxy.subspace import LEMMA_5_AS_PRINTED
from verify.claims.sxy import (
    anchors,
    descent,
    deviation,
    expectation,
    label_errors,
    local_spectrum,
    local_steps,
    moments,
    subspace,
    wrong_labels,
)
from verify.papers import catalogue
from verify.procedures.base import PROFILES
from verify.procedures.search import Search

QUICK = PROFILES["quick"]


# -- descent -------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("pairs", [1, 2, 3])
def test_no_decay_is_counted_over_all_signs(pairs: int, factor: float) -> None:
    """A pair's two products are 1 + s or 1 - s with probability one half each."""
    noise, bad = 0.7, 0
    for signs in itertools.product((1 + noise, 1 - noise), repeat=2 * pairs):
        mean = sum(signs[2 * i] * signs[2 * i + 1] for i in range(pairs)) / pairs
        bad += (1 - math.sqrt(mean) / 2) ** 2 > factor
    found = descent._no_decay(pairs, noise, factor)
    assert found == pytest.approx(bad / 4**pairs, rel=1e-12)


def test_the_next_square_is_that_of_the_vectors() -> None:
    """v = c r + s r' and Sigma r = a r + b r', in the coordinates r and r'."""
    point = {"ratio": 0.25, "beta": 3.0, "sign": -1.0, "reach": 0.6, "turn": 0.8, "v": 2.0}
    point |= {name: share.high for name, share in descent.ESTIMATES.items()}
    sine, length = descent.estimates(point, math, evaluate)
    reach = 0.6 * (3.0 - 0.75) / 2
    moved = np.array([(3.0 + 0.75) / 2 - reach * math.cos(0.8), reach * math.sin(0.8)])
    step = 0.75 * (length * 2.0) / (2 * 3.0**2) / 2.0
    after = np.array([-math.sqrt(1 - sine**2), sine]) - step * moved
    right = 4.0 * float(after @ after)
    assert descent._after(PROP_2_21, point, math, evaluate) == pytest.approx(right, rel=1e-12)


def test_exact_moments_on_three_eigenvalues() -> None:
    """alpha = 1/2, beta = 2, weights 0.2, 0.3 and 0.8 over their sum, on 1/2, 2 and 0.8."""
    search = descent.prop_2_factor.build(QUICK)
    point = {"ratio": 0.25, "beta": 2.0, "v": 7.0, "middle": 0.2, "low": 0.2, "high": 0.3}
    step = 0.5 / (2 * 4.0)
    values, weights = (0.5, 2.0, 0.8), (0.2, 0.3, 0.8)
    right = sum(w * (1 - step * x) ** 2 for w, x in zip(weights, values, strict=True)) / 1.3
    assert search.sides(point)[0] == pytest.approx(49 * right, rel=1e-12)
    assert search.sides({**point, "v": 1e-3})[0] == pytest.approx(1e-6 * right, rel=1e-12)
    assert search.sides({**point, "low": 1.0, "high": 0.0})[0] == pytest.approx(
        49 * (1 - step * 0.5) ** 2, rel=1e-9
    )


V = np.array([1.0, -2.0, 2.0])


@pytest.mark.parametrize("style", ["erase", "turn", "skew", "random"])
def test_deviations_have_the_norm_one_and_their_shape(style: str) -> None:
    made = descent._deviation(style, V, np.random.default_rng(2))
    e = V / 3.0
    assert np.linalg.norm(made, 2) == pytest.approx(1.0, rel=1e-12)
    if style == "erase":  # v is lost, and another direction gains as much
        assert made @ e == pytest.approx(-e)
        assert sorted(np.linalg.eigvalsh(made)) == pytest.approx([-1.0, 0.0, 1.0], abs=1e-12)
    elif style in ("turn", "skew"):
        other = made.T @ e
        assert abs(other @ e) < 1e-12
        assert np.linalg.norm(other) == pytest.approx(1.0)
        sign = 1.0 if style == "turn" else -1.0
        assert made == pytest.approx(sign * made.T, abs=1e-12)
        assert np.linalg.matrix_rank(made, tol=1e-9) == 2


@pytest.mark.parametrize("style", ["erase", "turn", "skew"])
def test_in_one_dimension_a_deviation_can_only_erase(style: str) -> None:
    made = descent._deviation(style, np.array([2.0]), np.random.default_rng(2))
    assert made.tolist() == [[-1.0]]


# -- subspace ------------------------------------------------------------------------------------


def test_an_iterated_line_in_the_plane_has_the_known_tangent() -> None:
    point = {"seed": 5, "k": 1, "more": 1, "q": 0.7, "gamma_0": 1.2, "t": 3, "unit": 1e3}
    tangent = 0.7**3 * math.tan(1.2)
    right = tangent / math.hypot(1.0, tangent)
    assert subspace._iterate(point) == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize(("k", "more"), [(2, 3), (3, 2), (4, 1)])
def test_an_iterated_subspace_starts_at_its_angle_and_keeps_to_the_ratio(k: int, more: int) -> None:
    point = {"seed": 5, "k": k, "more": more, "q": 0.7, "gamma_0": 1.2, "unit": 1.0}
    distances = [subspace._iterate({**point, "t": t}) for t in range(7)]
    assert distances[0] == pytest.approx(math.sin(1.2), rel=1e-12)
    for t, distance in enumerate(distances):
        assert distance <= math.sin(math.atan(0.7**t * math.tan(1.2))) * (1 + 1e-12)
    assert distances[6] > 1e-6


@pytest.mark.parametrize(("d", "height"), [(2, 1e-3), (2, 1e3), (3, 1e3)])
def test_a_line_misses_where_its_sine_exceeds_the_stated_share(d: int, height: float) -> None:
    """The sine of a uniform line's angle: arcsin law in the plane, a uniform cosine in space."""
    at = {"d": float(d), "k": 1.0, "N": 10.0, "H": height, "epsilon": 0.3 * height**2}
    full = {**at, **subspace.GENEROUS}
    share = float(evaluate(LEMMA_5_AS_PRINTED.expr, full)) / height
    rounds = float(evaluate(next(iter(LEMMA_5_AS_PRINTED.definitions.values())), full))
    found = subspace._line_misses(LEMMA_5_AS_PRINTED, at)
    if rounds > 0 or share >= 1:
        assert found == 0.0
    elif d == 2:
        assert found == pytest.approx(1 - 2 / math.pi * math.asin(share), rel=1e-9)
    else:
        assert found == pytest.approx(math.sqrt(1 - share**2), rel=1e-9)


def test_some_line_misses() -> None:
    """H = 1000 and epsilon = H d N: no iteration, and a sine above sqrt(epsilon)/H is too much."""
    at = {"d": 2.0, "k": 1.0, "N": 10.0, "H": 1e3, "epsilon": 2e4}
    assert 0.5 < subspace._line_misses(LEMMA_5_AS_PRINTED, at) < 1.0


def test_the_tail_of_a_lines_cosine_in_space_is_the_cosine() -> None:
    search = subspace.lemma_15_line.build(QUICK)
    cosine = 0.1 / (math.sqrt(3) + math.log(10))
    left, right = search.sides({"d": 3, "delta_f": 0.1})
    assert left == pytest.approx(cosine, rel=1e-9)
    assert left < right
    assert search.violation({"d": 3, "delta_f": 0.1}) == pytest.approx(math.log(left / right))
    flat = 0.1 / (math.sqrt(2) + math.log(10))
    plane, _ = search.sides({"d": 2, "delta_f": 0.1})
    assert plane == pytest.approx(2 / math.pi * math.asin(flat), rel=1e-9)


# -- anchors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("start", "target"), [(1.0, 0.3), (1.0, 0.75), (2.0, 0.4), (1.0, 1.0)])
@pytest.mark.parametrize("rounds", [1, 2, 5, 8])
def test_an_anchor_that_rests_is_counted_path_by_path(
    rounds: int, start: float, target: float
) -> None:
    away = 0
    for path in itertools.product((Fraction(1, 2), Fraction(3, 2)), repeat=rounds):
        length = Fraction(start)
        for factor in path:
            if length > Fraction(target):
                length *= factor
        away += length > Fraction(target)
    assert anchors.not_arrived(rounds, start, target) == Fraction(away, 2**rounds)


@pytest.mark.parametrize("place", ["line", "simplex", "far", "random"])
@pytest.mark.parametrize(("k", "d"), [(3, 1), (3, 2), (3, 4), (1, 2)])
def test_the_closest_models_are_one_apart(place: str, k: int, d: int) -> None:
    centres = anchors._centres(place, k, d, np.random.default_rng(1))
    assert centres.shape == (k, d)
    gaps = np.linalg.norm(centres[:, None] - centres, axis=2)[np.triu_indices(k, 1)]
    if k == 1:
        return
    assert gaps.min() == pytest.approx(1.0)
    if place == "line" or d == 1:
        assert centres[:, 0].tolist() == [0.0, 1.0, 2.0]
        assert not centres[:, 1:].any()
    elif place == "simplex" and d >= k:
        assert gaps == pytest.approx(np.ones(3))
    elif place == "far":
        lengths = np.linalg.norm(centres, axis=1)
        assert lengths[2] > 50 * lengths[:2].max()


@pytest.mark.parametrize("unit", [1.0, 1e6])
@pytest.mark.parametrize("k", [1, 3])
def test_one_anchor_a_model_errs_by_its_whole_move(k: int, unit: float) -> None:
    point = {"seed": 2, "k": k, "d": 4, "place": "simplex", "more": 0, "together": 0}
    point |= {"unit": unit, "epsilon": 0.2}
    assert anchors._group_error(point) == pytest.approx(0.2 * (1 - 1e-9), rel=1e-9)


def test_single_anchors_that_move_together_err_by_their_whole_move() -> None:
    """On a line the move of a model leads straight to a neighbour, or straight away from it."""
    point = {"seed": 2, "k": 3, "d": 1, "place": "line", "more": 0, "together": 1, "unit": 1.0}
    assert anchors._group_error({**point, "epsilon": 0.1}) == pytest.approx(
        0.1 * (1 - 1e-9), rel=1e-9
    )


# -- local steps ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "s"), [("fedavg", 1), ("fedavg", 2), ("fedavg", 13), ("fedprox", 9)]
)
@pytest.mark.parametrize("seed", [4, 6])
def test_the_spectrum_of_p_is_a_geometric_sum_at_each_eigenvalue(
    rule: str, s: int, seed: int
) -> None:
    """Seed 6 has dependent rows, and so the eigenvalue zero, at which P is s or one."""
    point = {"rule": rule, "n": 3, "d": 2, "s": s, "gamma": 0.4, "unit": 1e3, "seed": seed}
    phi = np.random.default_rng(seed).standard_normal((3, 2))
    if seed == 6:
        phi[-1] = phi[0]
    gram = phi @ phi.T
    x = np.maximum(0.4 * np.linalg.eigvalsh(gram) / np.linalg.norm(gram, 2), 0.0)
    right = [
        1 / (1 + each) if rule == "fedprox" else sum((1 - each) ** i for i in range(s))
        for each in x
    ]
    assert local_spectrum._spectrum_of_p(point) == pytest.approx(np.sort(right), rel=1e-9)


def test_kappa_is_that_of_the_rule() -> None:
    point = {"gamma": 0.4, "s": 3, "rule": "fedavg"}
    right = 0.4 * 3 / (1 - 0.6**3)
    assert local_spectrum._kappa(P_SPECTRUM_LOWER, point) == pytest.approx(right)
    assert local_spectrum._kappa(P_SPECTRUM_LOWER, {**point, "rule": "fedprox"}) == pytest.approx(
        1.4
    )


@pytest.mark.parametrize("rule", ["fedavg", "fedprox"])
@pytest.mark.parametrize("unit", [1.0, 1e6])
def test_a_drawn_round_has_the_stated_step_and_hard_labels(rule: str, unit: float) -> None:
    point = {"rule": rule, "M": 3, "n": 4, "d": 2, "k": 3, "s": 5, "gamma": 0.7, "unit": unit}
    r = local_steps._draw_round({**point, "seed": 8}, soft=False)
    assert r.s == (5 if rule == "fedavg" else 1)
    curvatures = [np.linalg.eigvalsh(phi.T @ phi / len(phi)).max() for phi in r.features]
    assert r.eta * max(curvatures) == pytest.approx(0.7, rel=1e-12)
    for phi, y, weight in zip(r.features, r.responses, r.weights, strict=True):
        assert 1 <= len(y) <= 4
        losses = [((y - phi @ theta) ** 2).sum() for theta in r.models]
        assert weight.tolist() == [float(j == int(np.argmin(losses))) for j in range(3)]
    soft = local_steps._draw_round({**point, "seed": 8}, soft=True)
    assert soft.weights.sum(axis=1) == pytest.approx(np.ones(3))
    assert 0 < soft.weights.min() < soft.weights.max() < 1


@pytest.mark.parametrize("soft", [False, True])
def test_local_steps_on_numbers_shrink_the_distance_to_their_fixed_point(soft) -> None:
    """A step is a shrinkage by 1 - step x about moment / x, and the proximal one a division."""
    at = {"start": 3, "moment": 2, "lambda_ij": sp.Rational(1, 3), "x": 4, "eta": sp.Rational(1, 5)}
    step = at["eta"] * (at["lambda_ij"] if soft else 1)
    fixed, shrink = sp.Rational(at["moment"], at["x"]), 1 - step * at["x"]
    for n_steps in (0, 3, 1, 7):
        model = local_steps._local_model("fedavg", n_steps, soft)
        assert model.subs(at) == fixed + (at["start"] - fixed) * shrink**n_steps
    near = local_steps._local_model("fedprox", 1, soft).subs(at)
    assert near == fixed + (at["start"] - fixed) / (1 + step * at["x"])


def test_local_steps_by_hand() -> None:
    """One feature, two clients of one and two rows.  The weights are 1 and 1/2."""
    r = local_steps._Round(
        features=[np.array([[2.0]]), np.array([[1.0], [3.0]])],
        responses=[np.array([1.0]), np.array([2.0, -1.0])],
        weights=np.array([[1.0], [0.5]]),
        models=np.array([[4.0]]),
        eta=0.1,
        s=2,
        rule="fedavg",
    )
    first = second = 4.0
    for _ in range(2):
        first -= 0.1 * (4.0 * first - 2.0)
        second -= 0.1 * 0.5 * (5.0 * second + 0.5)
    assert local_steps._local_models(r)[0, 0] == pytest.approx((first + 2 * second) / 3)
    prox = local_steps._Round(**{**vars(r), "rule": "fedprox"})
    first = (4.0 + 0.1 * 2.0) / (1 + 0.1 * 4.0)
    second = (4.0 + 0.05 * -0.5) / (1 + 0.05 * 5.0)
    assert local_steps._local_models(prox)[0, 0] == pytest.approx((first + 2 * second) / 3)
    p = [1 + (1 - 0.1 * 4.0), np.eye(2) + np.eye(2) - 0.1 * np.array([[1, 3], [3, 9.0]]) / 2]
    pull = 2.0 * p[0] * (1.0 - 8.0)
    pull += 0.5 * np.array([1.0, 3.0]) @ p[1] @ (np.array([2.0, -1.0]) - np.array([4.0, 12.0]))
    found = local_steps._recursion(r, LEMMA_1)
    assert found[0, 0] == pytest.approx(pull / 3, rel=1e-12)


# -- wrong labels --------------------------------------------------------------------------------


def test_a_drawn_client_has_the_nearest_label_and_its_own_response() -> None:
    point = {"build": "random", "k": 3, "n": 2, "tau": 0.1, "sigma": 0.0, "unit": 1e3, "seed": 3}
    drawn = wrong_labels._draw_clients(point)
    assert drawn.features.shape[:2] == (8, 2)
    assert 1 <= drawn.features.shape[2] <= 3
    for i in range(8):
        own = drawn.features[i] @ drawn.optima[drawn.truth[i]]
        assert drawn.responses[i] == pytest.approx(own, abs=1e-9)
        losses = [((drawn.responses[i] - drawn.features[i] @ m) ** 2).sum() for m in drawn.models]
        assert drawn.labels[i] == int(np.argmin(losses))
    wrong = [i for i in range(8) if (drawn.truth[i] == 0) != (drawn.labels[i] == 0)]
    assert drawn.wrong.tolist() == wrong
    residual = drawn.features @ drawn.models[1] - drawn.responses
    assert drawn.residuals(1) == pytest.approx(residual)


def test_the_residuals_of_wrong_labels_and_their_limit_client_by_client() -> None:
    point = {"build": "axes", "k": 3, "n": 2, "tau": 0.1, "sigma": 1.0, "unit": 10.0, "seed": 3}
    drawn = wrong_labels._draw_clients(point)
    left, right = wrong_labels.RESIDUALS[1].build(QUICK).sides(point)
    total = noise = 0.0
    squares = dict.fromkeys(range(3), 0.0)
    for i in drawn.wrong:
        total += float(((drawn.features[i] @ drawn.models[0] - drawn.responses[i]) ** 2).sum())
        noise += float((drawn.noise[i] ** 2).sum())
        # the rows of a built client are equal, in a coordinate of its own
        squares[int(drawn.truth[i])] += 2 * 10.0**2
    distance = max(np.linalg.norm(m - o) for m, o in zip(drawn.models, drawn.optima, strict=True))
    assert left == pytest.approx(total, rel=1e-12)
    limit = 2 * (distance * math.sqrt(sum(squares.values())) + math.sqrt(noise)) ** 2
    assert right == pytest.approx(limit, rel=1e-12)


# -- deviation and the rest ----------------------------------------------------------------------


@pytest.mark.parametrize(("d", "k"), [(1, 2), (3, 2), (2, 5)])
def test_the_largest_shattered_size_is_the_last_one_below_the_count(d: int, k: int) -> None:
    def possible(m: int) -> bool:
        return 2.0**m <= (100 * m * (k - 1) / (d * k)) ** (d * k)

    found = deviation._largest_shattered(d, k)
    assert possible(found)
    assert not any(possible(m) for m in range(found + 1, found + 40))


def test_patterns_are_counted_over_models() -> None:
    """With one client of two clusters there are at most two, and in one dimension no more."""
    point = {"seed": 1, "m": 1, "k": 2, "d": 3, "n": 2}
    assert deviation._patterns(point) == 2
    assert deviation._patterns(point, n_models=1) == 1
    more = deviation._patterns({**point, "m": 4, "k": 3})
    assert 2 < more <= 64


def test_the_rank_of_exact_vectors() -> None:
    one, two, three = ([Fraction(x) for x in v] for v in ((1, 2, 3), (2, 4, 6), (0, 1, 1)))
    zero = [Fraction(0)] * 3
    assert expectation.rank_of([one]) == 1
    assert expectation.rank_of([one, two]) == 1
    assert expectation.rank_of([zero, three, one]) == 2
    assert expectation.rank_of([zero]) == 0
    assert expectation.rank_of([three, one, [Fraction(x) for x in (0, 0, 5)]]) == 3


def test_the_rank_of_vectors_of_small_whole_numbers_is_that_of_sympy() -> None:
    """Columns without a pivot, zero vectors and multiples of others are frequent among these."""
    rng = np.random.default_rng(20261128)
    ranks = set()
    for _ in range(100):
        shape = rng.integers(1, 5, 2)
        drawn = rng.integers(-1, 2, shape) * rng.integers(0, 2, shape[1])
        vectors = [[Fraction(int(x)) for x in row] for row in drawn]
        rank = int(sp.Matrix(drawn).rank())
        assert expectation.rank_of(vectors) == rank, drawn
        ranks.add(rank)
    assert ranks >= {0, 1, 2, 3}


def test_a_rival_is_preferred_by_the_law_of_two_normals() -> None:
    """alpha = beta: the frame does not matter.  Errors of 0.2 at 0.3 and of 0.2 at 2 rad."""
    point = {"condition": 1.0, "axis": 0.7, "turn_a": 0.3, "turn_b": 2.0, "k": 2, "n": 5}
    point |= {"Delta": 2.0, "near": 0.6, "snr": 16 / 9, "alpha": 4.0}  # epsilon 0.4, sigma 3
    own = 0.2 * np.array([math.cos(0.3), math.sin(0.3)])
    rival = np.array([1 + 0.2 * math.cos(2.0), 0.2 * math.sin(2.0)])
    noise = (3.0 / (2.0 * 2.0)) ** 2
    covariance = np.array([[own @ own, own @ rival], [own @ rival, rival @ rival]]) + noise
    weights = np.linalg.eigvals(covariance @ np.diag([1.0, -1.0])).real
    right = float(scipy.stats.f.logsf(-weights.min() / weights.max(), 5, 5))
    assert label_errors._log_error(point) == pytest.approx(right, rel=1e-8)
    many = label_errors._log_error({**point, "k": 4, "axis": 0.1})
    assert many == pytest.approx(min(right + math.log(3), 0.0), rel=1e-8)


def test_the_sizes_at_which_half_of_the_spike_shows_are_in_the_logarithm() -> None:
    """d log(2 (16 d/p^2 + l)) at the place of the dimension."""
    search = moments.threshold_m.build(PROFILES["full"])
    for cell in search.cells:
        rows = 32.0 * cell["d"] / cell["p"] ** 2 + 4.0
        assert cell["l"] == 2
        right = {"d": cell["d"] * math.log(rows), "p": cell["p"], "C": 1.0}
        assert search.values(cell) == pytest.approx(right, rel=1e-12)


def test_the_error_of_known_labels_is_that_of_the_smallest_cluster() -> None:
    """Its rows are rho M n: fewer rows would make the bound easier, more would make it harder."""
    search = catalogue()["sxy.dominated-bound"].build(PROFILES["quick"])
    assert isinstance(search, Search)
    points = search.visited(6)
    assert len({point["k"] for point in points}) > 1
    for point in points:
        rows = point["balance"] / point["k"] * point["M"] * point["n"]
        assert search.sides(point)[0] == pytest.approx(math.sqrt(point["d"] / rows), rel=1e-12)
