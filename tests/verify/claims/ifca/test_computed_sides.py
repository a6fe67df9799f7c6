"""What IFCA's searches and figures compute, against values worked out by another way."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy

from bounds.ifca import strongly_convex_run as sr
from bounds.ifca import strongly_convex_step as ss
from bounds.ifca.correct_clients import EQ_2, HALF_CORRECT
from bounds.ifca.identity import LEMMA_1
from bounds.ifca.symbols import T
from bounds.statement import evaluate
from trials.experiments.ifca.data_run import DATA_RUN
from trials.run.store import Table
from verify.claims.ifca import (
    cells,
    correct_clients,
    figure_3,
    identity,
    labels,
    optimality,
    rounds,
    strongly_convex_run,
    strongly_convex_step,
)
from verify.procedures.base import PROFILES, Observed

QUICK = PROFILES["quick"]


def table(**columns: list[float]) -> Table:
    values = np.array(list(columns.values()), dtype=float).T
    failed = np.zeros(len(values), dtype=bool)
    return Table(columns=tuple(columns), values=values, failed=failed, reasons=())


# -- labels --------------------------------------------------------------------------------------


def log_preferred(a: float, cross: float, b: float, noise: float, n: int) -> float:
    """Log P(the sum of n squares of the first of two normals is at least that of the second).

    The squares' difference has the weights of S diag(1, -1), and their ratio Fisher's law.
    """
    covariance = np.array([[a + noise, cross + noise], [cross + noise, b + noise]])
    weights = np.linalg.eigvals(covariance @ np.diag([1.0, -1.0])).real
    return float(scipy.stats.f.logsf(-weights.min() / weights.max(), n, n))


def exponent(a: float, cross: float, b: float, noise: float) -> float:
    """Chernoff's exponent of one sample: the largest log det(I - 2 t S diag(1, -1)) / 2."""
    gram = (a + noise) * (b + noise) - (cross + noise) ** 2
    return 0.5 * math.log1p((b - a) ** 2 / (4.0 * gram))


def vectors(init: str, delta: float, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """The two models, from the optimum of the client.  The rival's comes straight towards it."""
    own = {
        "adversarial": [radius, 0.0],
        "orthogonal": [0.0, radius],
        "translation": [-radius, 0.0],
    }[init]
    return np.array(own), np.array([delta - radius, 0.0])


@pytest.mark.parametrize("init", ["adversarial", "orthogonal", "translation"])
def test_products_and_the_larger_variance_are_those_of_the_models(init: str) -> None:
    params = {"Delta": 2.0, "alpha": 0.2, "init": init, "sigma": 3.0}
    u_a, u_b = vectors(init, 2.0, 0.6)
    a, cross, b = float(u_a @ u_a), float(u_a @ u_b), float(u_b @ u_b)
    assert identity.pairwise_products(params) == pytest.approx((a, cross, b, 9.0), abs=1e-12)
    covariance = np.array([[a + 9.0, cross + 9.0], [cross + 9.0, b + 9.0]])
    weights = np.linalg.eigvals(covariance @ np.diag([1.0, -1.0])).real
    assert identity.larger_variance(params) == pytest.approx(weights.max(), rel=1e-10)


def test_the_worst_exponent_is_the_smallest_over_all_directions() -> None:
    """A finer grid, with the exponent in closed form, finds none that is 1 % smaller."""
    alpha, rho = 0.2, 0.5
    a, b = np.meshgrid(np.linspace(0, 2 * math.pi, 241), np.linspace(0, 2 * math.pi, 241))
    along, across = 1 + 0.3 * np.cos(b), 0.3 * np.sin(b)
    cross = 0.3 * (np.cos(a) * along + np.sin(a) * across)
    products = np.broadcast_arrays(0.09, cross, along**2 + across**2)
    best = min(exponent(*p, 1 / rho) for p in zip(*(x.ravel() for x in products), strict=True))
    assert identity._worst_exponent(alpha, rho) == pytest.approx(best, rel=0.01)
    assert identity._worst_exponent(alpha, rho) >= best * (1 - 1e-9)


RIVALS = labels._AlikeRivals(own=0.4, rival=0.6, cosine=0.5, noise=0.25)
CROSS = 0.4 * 0.6 * 0.5


@pytest.mark.parametrize("n", [1, 7, 60])
def test_one_rival_is_preferred_as_often_as_fishers_law_says(n: int) -> None:
    right = log_preferred(0.16, CROSS, 0.36, 0.25, n)
    assert RIVALS.log_one(n) == pytest.approx(right, rel=1e-9)


def test_two_rivals_are_both_preferred_at_most_as_often_as_chernoff_says() -> None:
    """The moment of the own square less the mean of the rivals', 60 degrees apart, at its best."""
    between = 0.36 / 2 + 0.25
    covariance = np.array(
        [
            [0.16 + 0.25, CROSS + 0.25, CROSS + 0.25],
            [CROSS + 0.25, 0.36 + 0.25, between],
            [CROSS + 0.25, between, 0.36 + 0.25],
        ]
    )

    def log_moment(t: float) -> float:
        found = np.linalg.det(np.eye(3) - 2 * t * covariance @ np.diag([1.0, -0.5, -0.5]))
        return -0.5 * math.log(found) if found > 0 else math.inf

    best = scipy.optimize.minimize_scalar(log_moment, bounds=(0.0, 0.7), method="bounded").fun
    for n in (1, 10):
        assert n * best <= RIVALS.log_two(n) <= n * best * 0.99


@pytest.mark.parametrize("others", [1, 4, 100])
@pytest.mark.parametrize(
    ("own", "cosine"), [(0.0, 1.0), (0.3, -0.9), (0.3, 0.0), (0.3, 0.6)], ids=str
)
def test_the_limit_for_some_rival_with_one_sample_lies_below_the_integral(
    own: float, cosine: float, others: int
) -> None:
    """Given the shared residual and the own one, the rivals fail independently."""
    rivals = labels._AlikeRivals(own=own, rival=0.7, cosine=cosine, noise=0.04)
    shared, cross = 0.04 + 0.49 / 2, own * 0.7 * cosine + 0.04
    left = math.sqrt(own**2 + 0.04 - cross**2 / shared)
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    c = math.sqrt(shared) * nodes[:, None]
    length = np.abs(cross / shared * c + left * nodes)
    shorter = scipy.stats.norm(c, math.sqrt(0.49 / 2))
    fails = 1 - (shorter.cdf(length) - shorter.cdf(-length))
    right = 1 - weights @ fails**others @ weights / weights.sum() ** 2
    found = math.exp(rivals.log_some_at_one(others))
    assert right - 0.08 < found < right + 0.004  # the integrand has a kink, the grid a width


def test_the_labels_of_drawn_clients_with_one_sample_lie_within_the_limits() -> None:
    """5 clusters, own model across the rivals, 40,000 clients: five standard errors are .0125."""
    k, alpha, rho = 5, 0.2, 1.0
    rng = np.random.default_rng(8)
    optima = np.eye(k, k + 1) / math.sqrt(2)  # the last axis is orthogonal to all segments
    errors = (1 - (0.5 - alpha)) * (optima - optima[0])
    errors[0, k] = 0.5 - alpha
    noise = rng.standard_normal(40_000)[:, None] / math.sqrt(rho)
    losses = (noise - rng.standard_normal((40_000, k + 1)) @ errors.T) ** 2
    share = float((losses.argmin(axis=1) != 0).mean())
    point = {
        "k": k,
        "alpha": alpha,
        "rho": rho,
        "n": 1,
        "start": "orthogonal",
        "seed": 0,
        "tilt": 0,
    }
    found = labels.wrong_label(point)
    assert math.exp(found.lower) - 0.0125 < share < math.exp(found.upper) + 0.0125
    assert math.exp(found.lower) > math.exp(labels.wrong_label({**point, "k": 2}).lower) + 0.2


def test_few_rivals_nearer_than_the_own_model_leave_no_limit() -> None:
    """Residuals that no shared part can have."""
    odd = labels._AlikeRivals(own=0.9, rival=0.5, cosine=1.0, noise=0.01)
    assert odd.log_some_at_one(1) == labels.LOWEST


def test_many_rivals_that_point_away_leave_no_limit_below_one() -> None:
    """Rivals nearer than the own model: the limit for both is one, and its log zero."""
    near = labels._AlikeRivals(own=0.6, rival=0.1, cosine=0.0, noise=0.25)
    assert near.log_two(5) == 0.0


def test_random_rivals_have_lengths_from_a_simplex_and_a_random_direction_each() -> None:
    point = {"seed": 3, "rho": 4.0, "n": 6}
    drift = np.random.default_rng(3).standard_normal((3, 6))
    models = np.zeros((3, 6))
    for j in range(3):
        models[j, j] = math.sqrt(0.5)  # optima one apart
        models[j] += 0.3 * drift[j] / math.sqrt(float(drift[j] @ drift[j]))
    own = models[0] - math.sqrt(0.5) * np.eye(6)[0]
    rivals = [m - math.sqrt(0.5) * np.eye(6)[0] for m in models[1:]]
    right = [log_preferred(own @ own, own @ r, r @ r, 0.25, 6) for r in rivals]
    assert labels._random_rivals(point, 3, 0.3) == pytest.approx(right, rel=1e-9)


@pytest.mark.parametrize("beyond", [1.0, 7.5])
def test_a_client_has_beyond_times_the_samples_that_the_assumption_asks_for(beyond: float) -> None:
    """n' >= C_n ((rho + 1)/(alpha rho))^2 log m, of which the hidden constant is three here."""
    point = {"alpha": 0.2, "rho": 3.0, "m": 500, "beyond": beyond}
    found = labels.in_regime(HALF_CORRECT, {"C_n": 3.0})(point)
    need = 3.0 * (4.0 / (0.2 * 3.0)) ** 2 * math.log(500)
    assert found == {**point, "n": math.ceil(beyond * need)}


def test_some_of_many_independent_clients() -> None:
    limits = labels.some_client(labels.Limits(lower=math.log(1e-3), upper=math.log(0.5)), 100)
    assert math.exp(limits.lower) == pytest.approx(1 - 0.999**100, rel=1e-12)
    assert limits.upper == pytest.approx(math.log(1 - 0.5**100), abs=1e-15)
    tiny = labels.some_client(labels.Limits(lower=-90.0, upper=-1e-13), 100)
    assert tiny.lower == pytest.approx(-90.0 + math.log(100), rel=1e-14)
    assert tiny.upper == 0.0


# -- the figures of Lemma 1 ----------------------------------------------------------------------


def figure(presentation: object, name: str) -> dict[str, dict[float, float]]:
    """Label -> x -> y of a figure's curves."""
    (found,) = [f for f in presentation.figures if f.name == name]  # type: ignore[attr-defined]
    return {s.label: dict(zip(s.x, s.y, strict=True)) for s in found.series}


def test_the_curves_of_lemma_1_are_the_law_and_the_bounds() -> None:
    """alpha = 0.1, rho = 4: both models move by 0.4, and the noise is 1/4 of Delta squared."""
    shown = identity._figures(LEMMA_1)
    curves = figure(shown, "misidentification")
    rate = 7 / 4 * (0.1 * 4 / 5) ** 2
    starts = {
        "client's model across the segment": "orthogonal",
        "both models towards each other": "adversarial",
        "both models moved alike": "translation",
    }
    for label, init in starts.items():
        u_a, u_b = vectors(init, 1.0, 0.4)
        products = (float(u_a @ u_a), float(u_a @ u_b), float(u_b @ u_b), 0.25)
        assert {1, 2} <= set(curves[label])
        for n, y in curves[label].items():
            assert math.log(y) == pytest.approx(log_preferred(*products, int(n)), rel=1e-8)
            assert y > 1e-16
    for n, y in curves["Chernoff bound, moved alike"].items():
        assert y == pytest.approx(math.exp(-n * exponent(0.16, -0.24, 0.36, 0.25)), rel=1e-9)
    for n, y in curves["Lemma 1"].items():
        assert y == pytest.approx(0.5 * math.exp(-rate * n), rel=1e-9)
    rates = figure(shown, "exponents")
    assert min(rates["Lemma 1"]) == pytest.approx(1e-3)
    assert max(rates["Lemma 1"]) == pytest.approx(1e3)
    for rho, y in rates["Lemma 1"].items():
        assert y == pytest.approx(7 / 4 * (0.1 * rho / (rho + 1)) ** 2, rel=1e-9)
    for rho, y in rates["exact, worst direction"].items():
        assert y == pytest.approx(identity._worst_exponent(0.1, rho), rel=1e-9)
        assert y >= rates["sharpened"][rho] * (1 - 1e-9)
    ratio = {
        rho: identity._worst_exponent(0.1, rho) / rates["Lemma 1"][rho] for rho in rates["Lemma 1"]
    }
    (words,) = shown.sharpness
    assert f"is {ratio[max(ratio)]:.3g} at $\\rho=10^3$, {ratio[min(ratio)]:.3g} at" in words


def test_the_data_of_the_pairwise_law_have_three_standard_errors() -> None:
    def observed(n: int, rates: list[float], **more: float | str) -> Observed:
        params = {"d": 2, "alpha": 0.1, "init": "translation", "Delta": 1.0, "sigma": 1.0, "n": n}
        return Observed(params={**params, **more}, table=table(pairwise=rates))

    few = observed(40, [0.25, 0.15])
    shown = identity._pairwise_figure(
        [
            few,
            observed(10, [0.5, 0.25, 0.0, 0.25]),
            observed(5, [0.9], d=3),
            observed(6, [0.9], alpha=0.2),
            observed(7, [0.9], init="random"),
        ]
    )
    data, law, lemma = shown.figures[0].series
    assert data.x == law.x == lemma.x == [10.0, 40.0]
    assert data.y == pytest.approx([0.25, 0.2])
    widths = [3 * math.sqrt(0.25 * 0.75 / 4), 3 * math.sqrt(0.2 * 0.8 / 2)]
    assert data.lower == pytest.approx([1e-6, 1e-6])
    assert data.upper == pytest.approx([0.25 + widths[0], 0.2 + widths[1]])
    right = [math.exp(log_preferred(0.16, -0.24, 0.36, 1.0, n)) for n in (10, 40)]
    assert law.y == pytest.approx(right, rel=1e-9)
    assert lemma.y == pytest.approx([0.5 * math.exp(-7 / 4 * 0.05**2 * n) for n in (10, 40)])


# -- correct clients -----------------------------------------------------------------------------


def test_both_sides_of_the_triangle_inequality_row_by_row() -> None:
    point = {"N": 3, "d": 2, "a": 0.7, "err": 2.0, "sigma": 0.5, "seed": 4}
    x, noise, u = (v.tolist() for v in correct_clients._step_data(point))
    assert math.hypot(*u) == pytest.approx(2.0)
    left, pulled = list(u), [0.0, 0.0]
    for row, e in zip(x, noise, strict=True):
        along = row[0] * u[0] + row[1] * u[1]
        for i in range(2):
            left[i] -= 0.7 / 3 * row[i] * (along - e)
            pulled[i] += row[i] * e / 3
    gram = [[sum(r[i] * r[j] for r in x) / 3 - (i == j) for j in range(2)] for i in range(2)]
    norm = max(abs(np.linalg.eigvalsh(np.array(gram))))
    right = abs(1 - 0.7) * 2.0 + 0.7 * norm * 2.0 + 0.7 * math.hypot(*pulled)
    search = correct_clients.triangle(EQ_2, QUICK)
    assert search.sides(point) == pytest.approx((math.hypot(*left), right), rel=1e-12)


# -- strongly convex losses ----------------------------------------------------------------------


def test_the_noise_that_is_left_is_a_sum_over_the_steps() -> None:
    point = {"v": 2.0, "L": 5.0, "condition": 4.0, "p_j": 0.3, "m": 10.0, "n": 7.0, "steps": 6.0}
    step = 0.3 / 4.0
    one = 0.3 * 2.0**2 / (5.0**2 * 10.0 * 7.0)
    left = sum(one * (1 - step) ** (2 * i) for i in range(6))
    found, bound = strongly_convex_run.final_noise.build(QUICK).sides(point)
    assert found == pytest.approx(left, rel=1e-12)
    assert bound >= found
    all_in_one = {**point, "p_j": 1.0, "condition": 1.0}  # a step that forgets the start
    assert strongly_convex_run.final_noise.build(QUICK).sides(all_in_one)[0] == pytest.approx(
        2.0**2 / (5.0**2 * 10.0 * 7.0), rel=1e-12
    )


def test_the_errors_of_a_run_that_halves_them_in_closed_form() -> None:
    """The distance of the error from twice the floor halves in each step."""
    for n_steps, floor in ((1, 0.5), (3, 0.01), (30, 1e-6)):
        point = {"alpha": 0.1, "floor": floor, "T": n_steps}
        found, _ = rounds.recursion.build(QUICK).sides(point)
        assert found == pytest.approx(2 * floor + (0.4 - 2 * floor) / 2**n_steps, rel=1e-12)


@pytest.mark.parametrize("start", [None, 0.25])
def test_the_recursion_step_by_step(start: float | None) -> None:
    point = {"L": 2.0, "condition": 3.0, "p": 0.5, "Delta": 10.0, "alpha_0": 0.1, "floor": 0.01}
    at = strongly_convex_run._run(point)
    shrink = 0.5 / (8 * 3.0)  # p lambda / (8 L)
    assert float(evaluate(sr.A, at)) == pytest.approx(shrink, rel=1e-12)
    assert at["lam"] == pytest.approx(2.0 / 3.0)
    assert at["varepsilon"] == pytest.approx(2 * at["epsilon_0"] / shrink, rel=1e-12)
    if start is not None:
        at["alpha_0"] = start
    error = float(evaluate(sr.START, at))
    for _ in range(math.ceil(float(evaluate(sr.ENOUGH.definitions[T], at)))):
        error = (1 - shrink) * error + at["epsilon_0"]
    found, _ = strongly_convex_run.recursion(sr.ENOUGH, QUICK, start=start).sides(point)
    assert found == pytest.approx(error, rel=1e-9)


def test_the_accuracy_of_a_run_is_the_floor_of_its_steps_over_the_contraction() -> None:
    """16 L/(p lambda) times Theorem 2's floor, each step with its share of delta.

    Theorem 2 holds with 8 before the statistical term and 48 before the strangers' (its claim).
    """
    at = {"v": 2.0, "L": 3.0, "lam": 0.5, "p": 0.2, "m": 700.0, "n": 90.0, "k": 4.0}
    at |= {"delta": 0.1, "eta": 1.3, "Delta": 0.8}
    product = at["m"] * at["n"]
    share = at["p"] * at["lam"] * at["delta"] / (8 * at["k"] * at["L"] * math.log(product))
    many = 16 * at["L"] / (at["p"] * at["lam"])
    floor = 8 * at["v"] / (share * at["L"] * math.sqrt(at["p"] * product))
    strangers = 48 * (at["eta"] / (at["lam"] * at["Delta"] ** 2)) ** 2 / (share * at["n"])
    constants = strongly_convex_run.CONSTANTS
    right = constants["c_1"] * float(evaluate(sr.ACCURACY_1, at))
    assert right == pytest.approx(many * floor, rel=1e-12)
    right = constants["c_2"] * float(evaluate(sr.ACCURACY_2, at))
    assert right == pytest.approx(many * strangers, rel=1e-12)
    assert constants["c_3"] == 0.0


@pytest.mark.parametrize(
    ("claim", "gain"),
    list(zip(strongly_convex_run.COROLLARY_2, (2.0, 0.5), strict=True)),
    ids=["journal", "conference"],
)
def test_a_run_makes_the_stated_number_of_steps_rounded_up(claim: Any, gain: float) -> None:
    """8 L / (p lambda) log(gain Delta / epsilon), at least one."""
    rounded = 0
    for cell in claim.build(QUICK).cells:
        at = {**strongly_convex_run.run_symbols(cell), **strongly_convex_run.CONSTANTS}
        accuracy = float(evaluate(claim.statement.expr, at))
        stated = 8 * at["L"] / (at["p"] * at["lam"]) * math.log(gain * at["Delta"] / accuracy)
        assert cell["T"] == max(math.ceil(stated), 1)
        rounded += stated > 1 and stated != round(stated)
    assert rounded


@pytest.mark.parametrize(
    ("angle", "along", "across"),
    [
        (0.0, 1 - 0.25 * 2.0, 0.0),  # the gradient of curvature lambda
        (math.pi, 1 - 0.25 * 6.0, 0.0),  # and that of curvature L
        (math.pi / 2, 1 - 0.25 * 4.0, 0.25 * 2.0),
    ],
)
def test_a_gradient_lies_on_the_sphere_of_the_curvatures(
    angle: float, along: float, across: float
) -> None:
    """lambda = 2, L = 6, gamma = 1/4, that is 1.5 times 1/L, and an error of 3."""
    search = strongly_convex_step.step(ss.EQ_22, QUICK)
    point = {"lam": 2.0, "condition": 3.0, "err": 3.0, "angle": angle, "share": 1.5}
    assert search.sides(point)[0] == pytest.approx(3.0 * math.hypot(along, across), rel=1e-12)


def test_a_step_has_the_share_and_the_deltas_of_its_cluster() -> None:
    params = {"m": 1200, "n": 50, "k": 2, "d": 2, "ratio": 4.0, "Delta": 2.0, "lam": 1.0, "L": 3.0}
    params |= {"eta": 0.5, "v": 0.7, "alpha": 0.2, "delta": 0.24}
    for cluster, share in (("smallest", 0.2), ("largest", 0.8)):
        at = strongly_convex_step.step_symbols({**params, "cluster": cluster})
        right = {"p": 0.2, "p_j": share, "theta_max": 2.0 * math.sqrt(1 / 4)}
        right |= {"delta_0": 0.06, "delta_1": 0.03, "delta_2": 0.06, "C_n": 4.0, "C_p": 8.0}
        right |= {name: float(params[name]) for name in ("m", "n", "k", "d", "Delta", "L", "eta")}
        assert {name: at[name] for name in right} == pytest.approx(right, rel=1e-12)
        assert at["delta"] == 0.24


# -- rounds, cells and the rest ------------------------------------------------------------------


def test_the_variance_of_least_squares_error_is_that_of_fishers_law() -> None:
    """sigma^2 chi2_d / chi2_{N-d+1} is sigma^2 d/(N-d+1) times an F variable."""
    known = optimality._squared_error({"N": 30, "d": 4, "sigma": 3.0})
    scale = 9.0 * 4 / 27
    assert known.low == 0.0
    assert known.variance == pytest.approx(scale**2 * scipy.stats.f(4, 27).var(), rel=1e-12)
    few, enough = ({"N": n, "d": 4, "sigma": 3.0} for n in (7, 8))
    assert optimality._squared_error(few).variance == math.inf
    assert optimality._squared_error(enough).variance == pytest.approx(
        (9.0 * 4 / 5) ** 2 * scipy.stats.f(4, 5).var(), rel=1e-12
    )


def test_the_table_of_halvings_says_what_they_leave() -> None:
    for claim in rounds.HALVING:
        built = claim.build(QUICK)
        (shown,) = built.present(None).tables
        assert [row[0] for row in shown.rows] == [1e3, 1e6, 1e9, 1e12]
        for gain, halvings, left in shown.rows:
            point = {"gain": gain, "epsilon": 1.0}
            assert left == pytest.approx(gain / 2**halvings, rel=1e-12)
            assert built.sides(point)[0] == pytest.approx(left, rel=1e-6)


def test_starts_within_a_quarter_get_the_samples_of_the_conference() -> None:
    """16 C_n ((rho + 1)/rho)^2 log m with C_n = 2, and a thousandth more."""
    params = {"Delta": 0.5, "sigma": 0.25, "m": 1000, "alpha": 0.1, "n": 100}
    need = 32 * 1.25**2 * math.log(1000)
    found = cells.within_a_quarter([params, {**params, "alpha": 0.3, "n": 10**6}])
    assert found[0] == {**params, "alpha": 0.25, "n": math.ceil(1.001 * need)}
    assert found[1] == {**params, "alpha": 0.3, "n": 10**6}


def test_cells_of_two_clusters_have_a_twentieth_more_samples_than_they_need() -> None:
    """2 ((rho + 1)/(alpha rho))^2 log m, where C_n = 2, and each start once with unequal sizes."""
    found = cells.TWO_CLUSTERS_CELLS
    assert len(found) == 2 * 5 * 4
    assert {c["alpha"] for c in found} == {0.01, 0.02, 0.05}
    for c in found:
        rho = (c["Delta"] / c["sigma"]) ** 2
        need = 2 * ((rho + 1) / (c["alpha"] * rho)) ** 2 * math.log(c["m"])
        assert c["n"] == round(1.05 * need)
        assert (c["profile"], c.get("ratio")) in (("equal", None), ("geometric", 1.9))


def test_the_starts_of_a_trial_are_counted_by_the_texts_or_the_codes_distance() -> None:
    """A failed trial has no successful start."""
    values = np.zeros((3, len(DATA_RUN.columns)))
    values[:, DATA_RUN.columns.index("n_starts_successful")] = [0, 2, 10]
    values[:, DATA_RUN.columns.index("n_starts_nearest")] = [1, 3, 9]
    failed = np.array([False, False, True])
    trials = Table(columns=DATA_RUN.columns, values=values, failed=failed, reasons=("", "", "x"))
    for scaling, counted in (("norm", [0, 2, 0]), ("coordinate", [1, 3, 0])):
        observed = Observed(params={"scaling": scaling}, table=trials)
        assert figure_3._successful_starts(observed).tolist() == counted
