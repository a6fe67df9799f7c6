"""Experiments on Phase 2 of Su, Xu & Yang against slow twins, exact laws and other solvers."""

import itertools
import math
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from scipy import stats
from scipy.optimize import linprog

from trials.checks import InvalidParameter
from trials.experiments.sxy import clients as clients_module
from trials.experiments.sxy import deviation, refinement, spectrum, subsets, two_phases
from trials.experiments.sxy.clients import (
    LOCAL,
    _grams_of_rows,
    _stacked,
    draw_clients,
    draw_gram_trials,
    draw_grams,
    stability_of,
    step_size,
    step_sizes,
)
from trials.mixed_regression.anchor_groups import group_anchors
from trials.mixed_regression.batches import MomentBatch
from trials.mixed_regression.fed_regression import local_spectra, run_fed_regression
from trials.mixed_regression.fed_regression_kernels import filter_value
from trials.mixed_regression.gram_rounds import (
    GramSpectra,
    client_steps,
    gram_labels,
    gram_rounds,
    gram_spectra,
)
from trials.mixed_regression.moment_descent import DescentOptions, run_moment_descent
from trials.models.clients import ClientData
from trials.models.matching import bottleneck_distances
from trials.run.experiment import experiment

RAGGED = {"M": 9, "n": 4, "d": 3, "sizes": "zipf", "alpha": 0.5, "beta": 2.0, "gamma": 0.7}


def drawn(seed=0, **changes):
    params = LOCAL.check({**RAGGED, **changes})
    clients = draw_clients(params, np.random.default_rng(seed))
    return params, clients, local_spectra(clients.data)


def dense_p(phi, eta, s):
    """P of one client by its definition, s = 0 for FedProx."""
    gram = phi @ phi.T / len(phi)
    if s == 0:
        return np.linalg.inv(np.eye(len(phi)) + eta * gram)
    return sum(np.linalg.matrix_power(np.eye(len(phi)) - eta * gram, i) for i in range(s))


def each(clients):
    """Features, responses, noise and label of every client."""
    offsets = clients.data.offsets
    for i, label in enumerate(clients.labels):
        rows = slice(offsets[i], offsets[i + 1])
        yield clients.data.features[rows], clients.data.responses[rows], clients.noise[rows], label


@pytest.mark.parametrize(("rule", "s"), [("fedavg", 1), ("fedavg", 4), ("fedprox", 0)])
@pytest.mark.parametrize("d", [1, 3, 8])
def test_cluster_matrices_are_the_sums_of_their_definition(rule, s, d):
    params, clients, spectra = drawn(rule=rule, s=max(s, 1), d=d)
    eta = step_size(params, spectra)
    matrices, pulls = spectrum.cluster_matrices(clients, spectra, eta, s)
    slow, noise = np.zeros_like(matrices), np.zeros_like(pulls)
    for phi, _, zeta, label in each(clients):
        p = dense_p(phi, eta, s)
        slow[label] += phi.T @ p @ phi / clients.sizes.sum()
        noise[label] += phi.T @ p @ zeta / clients.sizes.sum()
    np.testing.assert_allclose(matrices, slow, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(pulls, noise, rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize(("rule", "s"), [("fedavg", 1), ("fedavg", 7), ("fedprox", 1)])
def test_a_cells_kappa_and_step_are_those_of_the_data(rule, s):
    params, _, spectra = drawn(rule=rule, s=s)
    gamma = step_size(params, spectra) * spectra.largest.max()
    assert gamma == pytest.approx(params["gamma"], rel=1e-12)
    least = filter_value(gamma, 0 if rule == "fedprox" else s)  # the smallest eigenvalue of P
    assert s / stability_of(params) == pytest.approx(least, rel=1e-12)


def test_gamma_of_inverts_kappa():
    gamma = refinement.gamma_of(1.1, 10)
    assert stability_of({"rule": "fedavg", "gamma": gamma, "s": 10}) == pytest.approx(1.1)


@pytest.mark.parametrize(("rule", "s"), [("fedavg", 3), ("fedprox", 0)])
def test_the_clustering_pull_is_the_norm_of_the_signed_sum(rule, s):
    params, clients, spectra = drawn(rule=rule, s=max(s, 1), sigma=3.0, M=30)
    eta = step_size(params, spectra)
    models = np.random.default_rng(1).standard_normal(clients.theta_star.shape)
    labels = refinement.nearest_labels(clients, models)
    sums, share = np.zeros_like(models), np.zeros(len(models))
    for i, (phi, y, _, truth) in enumerate(each(clients)):
        assert labels[i] == np.argmin([np.sum((y - phi @ m) ** 2) for m in models])
        for j in range(len(models)):
            sign = float(labels[i] == j) - float(truth == j)
            sums[j] += sign * phi.T @ dense_p(phi, eta, s) @ (phi @ models[j] - y)
            share[j] += abs(sign) * len(y)
    pull, largest = refinement.clustering_pull(clients, models, eta, s)
    total = clients.sizes.sum()
    assert (labels != clients.labels).any()
    assert largest == pytest.approx(share.max() / total)
    assert pull == pytest.approx(np.linalg.norm(sums, axis=1).max() / total / max(s, 1))


def test_starts_lie_at_their_distance_and_the_rounds_contract():
    params = refinement.RUNS.check({"M": 60, "n": 30, "d": 2, "near": 0.1, "gamma": 0.9, "s": 3})
    table = refinement.REFINEMENT.simulate(params, np.random.default_rng(0), 4)
    columns = refinement.REFINEMENT.columns
    np.testing.assert_allclose(table[:, columns.index("err_0")], 0.1, rtol=1e-12)
    last, oracle = (table[:, columns.index(name)] for name in ("err_40", "oracle"))
    # no label is wrong, so that the run ends where the true labels do
    np.testing.assert_allclose(last, oracle, rtol=1e-3)


def test_what_is_told_about_the_sizes_of_clients_follows_from_the_sizes():
    """Sizes by Zipf's law: the divergence, the smallest cluster, and the mean of p_e."""
    cell = {"M": 60, "n": 20, "sizes": "zipf", "d": 2, "k": 3, "rate": 0.15, "near": 0.1}
    params = refinement.RUNS.check(cell)
    clients = draw_grams(params, np.random.default_rng(1))
    (row,) = refinement.REFINEMENT.simulate(params, np.random.default_rng(1), 1)
    told = dict(zip(refinement.REFINEMENT.columns, row, strict=True))
    shares = clients.sizes / clients.sizes.sum()
    assert told["skew"] == pytest.approx(60 * np.sum(shares**2))
    assert told["skew"] > 2.0
    failures = [min(1.0, 4 * 3 * math.exp(-0.15 * size)) for size in clients.sizes]
    assert told["expected"] == pytest.approx(np.dot(shares, failures))
    own = [shares[clients.labels == j].sum() for j in range(3)]
    assert told["smallest"] == pytest.approx(min(own))


# -- weights on V points ---------------------------------------------------------------------------


def test_the_supremum_over_all_subsets_and_its_mean_are_exact():
    params = deviation.WEIGHTED_SUP.check({"M": 4, "V": 3, "n": 2, "n_many": 1, "n_large": 5})
    sizes = deviation.sizes_of(params)
    sups = []
    for where in itertools.product(range(3), repeat=4):
        weight = np.bincount(where, sizes, 3) - sizes.sum() / 3
        subsets_of = itertools.product((0, 1), repeat=3)
        sups.append(max(abs(weight @ np.array(f)) for f in subsets_of))
    assert deviation.expected_supremum(params) == pytest.approx(np.mean(sups), rel=1e-12)
    table = deviation.WEIGHTED_SUP.simulate(params, np.random.default_rng(0), 4000)
    assert set(np.round(table[:, 0], 9)) <= set(np.round(sups, 9))
    np.testing.assert_allclose(table[:, 2], math.sqrt(5**2 + 3 * 2**2))
    # 5 standard errors: false alarms below 1e-6
    assert abs(table[:, 1].mean()) < 5 * np.std(sups) / math.sqrt(4000)


def test_the_law_of_the_supremum_on_two_points_is_that_of_all_ways_to_place_the_clients():
    params = deviation.WEIGHTED_SUP.check({"M": 9, "V": 2, "n": 2, "n_many": 2, "n_large": 5})
    sizes = deviation.sizes_of(params)
    places = np.array(list(itertools.product((0, 1), repeat=9)))
    sups = np.abs(places @ sizes - sizes.sum() / 2)
    beyond = [-1.0, 0.3, 2.0, float(sups.max() - sups.mean()) - 0.1]
    for limit in beyond:
        found = deviation.log_tail_on_two_points(params, limit)
        assert math.exp(found) == pytest.approx(np.mean(sups - sups.mean() > limit), rel=1e-12)
    assert deviation.log_tail_on_two_points(params, 100.0) == -80.0


# -- one feature, two clusters ---------------------------------------------------------------------


def test_a_clients_preferred_side_has_the_students_law():
    """r of drawn rows against the law that the experiment uses; false alarms 1e-6."""
    rng = np.random.default_rng(3)
    x, noise = rng.standard_normal((2, 4000, 3))
    r = np.sum(x * noise, axis=1) / np.sum(x**2, axis=1)
    assert stats.kstest(math.sqrt(3) * r, stats.t(3).cdf).pvalue > 1e-6


@pytest.mark.parametrize("sizes", [{"n": 3}, {"n": 3, "n_many": 2000, "n_large": 9}])
def test_clients_on_a_line_have_students_law_about_their_optimum(sizes):
    """Equal clients and clients of two sizes, each cluster and size; false alarms 1e-6."""
    params = deviation.BALL.check({"M": 4000, "Delta": 2.0, "sigma": 0.7, **sizes})
    rows, labels, r = deviation._draw_sides(params, np.random.default_rng(5))
    assert labels.sum() == 2000
    for j, n in itertools.product((0, 1), np.unique(rows)):
        own = r[(labels == j) & (rows == n)]
        centred = math.sqrt(n) / 0.7 * (own - (-1.0, 1.0)[j])
        assert stats.kstest(centred, stats.t(n).cdf).pvalue > 2e-7


def test_the_limits_of_the_deviation_hold_the_supremum_on_a_fine_grid():
    params = deviation.BALL.check({"M": 12, "n": 1, "n_many": 3, "n_large": 6, "sigma": 0.7})
    for seed in range(5):
        lower, upper = deviation._one_supremum(params, np.random.default_rng(seed))
        # the same draws again
        sizes, labels, r = deviation._draw_sides(params, np.random.default_rng(seed))
        optima = np.where(labels == 0, -0.5, 0.5)
        c = np.linspace(-30, 30, 200_001)
        wrong = np.where(labels == 0, r >= c[:, None], r <= c[:, None])
        cdf = stats.t(sizes).cdf(np.sqrt(sizes) / 0.7 * (c[:, None] - optima))
        expected = np.where(labels == 0, 1 - cdf, cdf)
        largest = np.abs((wrong - expected) @ sizes).max() / sizes.sum()
        assert lower <= largest + 1e-3  # the grid may miss a jump
        assert largest <= upper + 1e-12


def largest_in_the_ball(params, rng):
    """The largest share of wrong rows over all middles in the ball, from places of all clients."""
    sizes, labels, r = deviation._draw_sides(params, rng)
    reach = params["near"] * params["Delta"]
    c = np.concatenate([[-reach, reach], r[np.abs(r) <= reach]])[:, None]
    wrong = np.where(labels == 0, r >= c, r <= c)  # the supremum is reached at a client
    return (wrong @ sizes).max() / sizes.sum()


@pytest.mark.parametrize(
    "cell",
    [
        {"M": 41, "n": 3, "near": 0.3},
        {"M": 40, "n": 2, "n_many": 9, "n_large": 5, "near": 0.2, "sigma": 0.7},
        {"M": 400, "n": 30, "near": 0.45, "Delta": 3.0},  # most points of the interval are lost
        {"M": 60, "n": 1, "near": 0.5},  # the ball ends at the optima
    ],
)
def test_the_clients_in_a_ball_have_the_law_of_clients_that_are_all_drawn(cell):
    """Against places of all clients, two samples; false alarms 1e-6 for each cell."""
    params, rng = deviation.BALL.check(cell), np.random.default_rng(11)
    new = [deviation._largest_in_ball(params, rng)[0] for _ in range(600)]
    old = [largest_in_the_ball(params, rng) for _ in range(600)]
    assert stats.ks_2samp(new, old).pvalue > 5e-7
    assert stats.ttest_ind(new, old).pvalue > 5e-7


def test_the_places_in_an_interval_have_students_law_given_the_interval():
    """Kept uniform points, and inversion where most would be lost; false alarms 1e-6."""
    rng = np.random.default_rng(12)
    for n, low, high in ((1.0, 0.0, 0.5), (7.0, 1.0, 1.6), (40.0, 0.5, 30.0)):
        law = stats.t(n)
        found = law.cdf(deviation._between(rng, n, low, high, 2000))
        inside = stats.uniform(law.cdf(low), law.cdf(high) - law.cdf(low))
        assert len(found) == 2000
        assert stats.kstest(found, inside.cdf).pvalue > 3e-7


def test_a_ball_without_a_width_holds_nobody():
    params = deviation.BALL.check({"M": 30, "n": 4, "near": 0.0})
    found = [deviation._largest_in_ball(params, np.random.default_rng(s))[0] for s in range(200)]
    wrong = stats.binom(30, stats.t(4).sf(1.0))  # all clients on the wrong side of the middle
    assert np.mean(found) * 30 == pytest.approx(wrong.mean(), abs=6 * wrong.std() / math.sqrt(200))


@pytest.mark.parametrize(
    "cell",
    [
        {"M": 3, "d": 1},
        {"M": 6, "d": 2, "n_many": 2, "n_large": 3},
        {"M": 60, "d": 25, "n_many": 5, "n_large": 9},
    ],
)
def test_a_direction_that_the_data_choose_has_the_law_of_drawn_vectors(cell):
    """Numbers of clients with a wrong label, rounded to twelve classes at most; each at 3e-7."""
    params = deviation.DIRECTION.check(cell)
    sizes, rng = deviation.sizes_of(params), np.random.default_rng(3)
    ours = deviation.DIRECTION.simulate(params, rng, 6000)[:, 0]
    z = rng.standard_normal((6000, params["M"], params["d"]))
    wrong = np.einsum("tmd,td->tm", z, np.einsum("m,tmd->td", sizes, z)) >= 0
    drawn = np.abs((wrong - 0.5) @ sizes) / sizes.sum()
    ends = np.unique(np.quantile(drawn.round(9), np.linspace(0, 1, 13)[1:-1]))
    counts = [np.bincount(np.searchsorted(ends, x.round(9)), minlength=12) for x in (ours, drawn)]
    kept = np.array(counts)[:, np.sum(counts, axis=0) > 0]
    assert kept.shape[1] > 1
    assert stats.chi2_contingency(kept).pvalue > 3e-7


def test_the_skewness_is_the_divergence_plus_one():
    params = deviation.SIZES.check({"M": 10, "n": 2, "n_many": 3, "n_large": 7})
    shares = deviation.sizes_of(params) / deviation.sizes_of(params).sum()
    assert deviation.skewness(params) == pytest.approx(10 * np.sum(shares**2), rel=1e-12)
    with pytest.raises(InvalidParameter, match=r"n_many=11 must be <= M=10"):
        deviation.SIZES.check({"M": 10, "n_many": 11})


# -- subsets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [0.5, 3.0, 7.3, 100.0])
def test_the_best_share_is_the_linear_programs(budget):
    rng = np.random.default_rng(5)
    sizes, squares = rng.integers(1, 5, 12).astype(float), rng.random(12)
    program = linprog(-squares, A_ub=sizes[None], b_ub=[budget], bounds=(0, 1))
    assert subsets.best_share(squares, sizes, budget) == pytest.approx(-program.fun, rel=1e-9)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_the_features_found_are_a_lower_limit_that_small_cases_nearly_reach(d):
    """Three of 12 clients, all tried.  The search begins at the largest singular value."""
    params = subsets.SUBSETS.check({"M": 12, "n": 2, "d": d, "nu": 0.25})
    sizes = deviation.sizes_of(params)
    shares = []
    for seed in range(20):
        found = subsets._largest_features(params, sizes, np.random.default_rng(seed))
        x = np.random.default_rng(seed).standard_normal((12, 2, d))
        grams = np.einsum("ind,ine->ide", x, x)
        threes = np.array(list(itertools.combinations(range(12), 3)))
        best = np.linalg.eigvalsh(grams[threes].sum(axis=1))[:, -1].max()
        shares.append(found / best)
    assert max(shares) <= 1 + 1e-12
    assert np.mean(shares) > 0.95
    assert np.mean(np.array(shares) > 0.999) >= 0.5


# -- both phases -----------------------------------------------------------------------------------


def test_both_phases_reach_the_optima_and_random_starts_fill_the_ball():
    params = two_phases.PHASES.check(
        {"M": 60, "n": 20, "d": 3, "fresh": 2000, "anchors": 8, "pairs": 40, "rounds_1": 7}
    )
    table = two_phases.PHASES.simulate(params, np.random.default_rng(0), 2)
    assert (table[:, :2] < (0.05, 0.25)).all()
    rng = np.random.default_rng(1)
    models = np.vstack([two_phases.random_models(np.eye(2), rng) for _ in range(2000)])
    inside = np.linalg.norm(models, axis=1) ** 2  # uniform in the unit disc: squares are uniform
    assert stats.kstest(inside, "uniform").pvalue > 1e-6


def plain_descent(params, theta_star, rng, batches, steps=None):
    """Phase 1 by the driver on given batches, with other numbers of ``steps`` where they are."""
    half_steps, power_steps = steps or (8, 12)
    options = DescentOptions(
        alpha=1.0, beta=1.0, threshold=0.1 * params["Delta"], n_rounds=params["rounds_1"],
        subspace_iterations=half_steps, power_iterations=power_steps,
    )  # fmt: skip
    start = theta_star[0] if params["start"] == "optimum" else np.zeros(theta_star.shape[1])
    k = len(theta_star)
    return run_moment_descent(draw=batches, k=k, start=start, options=options, rng=rng).theta


@pytest.mark.parametrize("d", [2, 3])
def test_phase_one_of_many_trials_has_the_law_of_the_driver_on_plain_data(d):
    """The largest and smallest error after Phase 1, each at 5e-7: false alarms 1e-6.

    The driver's clients have random labels.  Where k = d ours are not drawn.
    """
    cell = {"k": 2, "d": d, "fresh": 60, "anchors": 4, "pairs": 8, "rounds_1": 2, "sigma": 0.3}
    params = two_phases.PHASES.check(cell)
    theta_star = np.array([[0.5, 0.2, 0.1], [-0.5, 0.4, 0.0]])[:, :d]
    rng = np.random.default_rng(2)

    def batch(_t):
        labels = rng.integers(0, 2, 60)
        x = rng.standard_normal((2, 60, d))
        y = (x * theta_star[labels]).sum(axis=2) + 0.3 * rng.standard_normal((2, 60))
        rows = rng.standard_normal((4, 16, d))
        answers = (rows * theta_star[np.array([0, 1, 0, 1])][:, None]).sum(axis=2)
        return MomentBatch(
            first=x[0], second=x[1], first_y=y[0], second_y=y[1], anchor_features=rows,
            anchor_responses=answers + 0.3 * rng.standard_normal((4, 16)),
        )  # fmt: skip

    def centres(anchors):
        found = np.zeros((2, d))
        groups = group_anchors(anchors, 1.0).centres[:2]
        found[: len(groups)] = groups
        return found

    plain = [centres(plain_descent(params, theta_star, rng, batch)) for _ in range(150)]
    ours = two_phases.phase_one(params, theta_star, np.random.default_rng(1), 450)
    for end in (np.max, np.min):
        few, many = (
            end(np.linalg.norm(np.array(found) - theta_star, axis=2), axis=1)
            for found in (plain, ours)
        )
        assert stats.ks_2samp(few, many).pvalue > 5e-7


@pytest.mark.parametrize("d", [2, 3])
def test_phase_one_is_that_of_the_driver_on_the_same_data(monkeypatch, d):
    """With so many steps that their starts do not matter.  Two of the four anchors stop at once."""
    monkeypatch.setattr(two_phases, "_HALF_STEPS", 400)
    monkeypatch.setattr(two_phases, "_POWER_STEPS", 400)
    cell = {"k": 2, "d": d, "fresh": 50, "anchors": 4, "pairs": 9, "rounds_1": 3, "sigma": 0.0}
    params = two_phases.PHASES.check({**cell, "start": "optimum"})
    theta_star = np.array([[0.5, 0.2, 0.1], [-0.5, 0.4, 0.0]])[:, :d]
    (ours,) = two_phases.descend(params, theta_star, np.random.default_rng(4), 1)
    rng = np.random.default_rng(4)

    def batch(t):  # the numbers that `descend` draws, in its order
        x, y = np.ones((2, 50, d)), np.ones((2, 50))
        if d == 3:
            ends = np.cumsum(rng.multinomial(50, [0.5, 0.5]))
            x = rng.standard_normal((2, 50, d))
            y = x @ theta_star[0]
            rng.standard_normal((2, 50))
            y[:, ends[0] :] = x[:, ends[0] :] @ theta_star[1]
            rng.standard_normal((d, 2))
        rng.standard_normal(2)
        moving = np.arange(4) if t == 0 else np.array([1, 3])
        rows = np.ones((4, 18, d))
        rows[moving] = rng.standard_normal((len(moving), 18, d))
        rng.standard_normal((len(moving), 18))
        answers = (rows @ theta_star[[0, 1, 0, 1], :, None])[:, :, 0]
        return MomentBatch(
            first=x[0], second=x[1], first_y=y[0], second_y=y[1],
            anchor_features=rows, anchor_responses=answers,
        )  # fmt: skip

    others = np.random.default_rng(5)
    expected = plain_descent(params, theta_star, others, batch, (400, 400))
    np.testing.assert_allclose(ours, expected, atol=1e-7)
    np.testing.assert_array_equal(ours[0], theta_star[0])
    assert np.linalg.norm(ours[1] - theta_star[1]) < 0.5 * np.linalg.norm(np.subtract(*theta_star))


@pytest.mark.parametrize("s", [1, 5])
def test_phase_two_on_gram_matrices_ends_where_it_ends_on_rows(monkeypatch, s):
    """Two data sets, and three starts on each."""
    cell = {"M": 24, "n": 12, "d": 3, "k": 3, "s": s, "rounds_2": 25, "sigma": 0.3, "Delta": 2.0}
    params = two_phases.PHASES.check(cell)
    rng = np.random.default_rng(8)
    clients = [draw_clients(params, rng) for _ in range(2)]
    grams = _stacked([_grams_of_rows(each) for each in clients])
    monkeypatch.setattr(two_phases, "draw_gram_trials", lambda *_: grams)
    starts = two_phases.random_models(grams.theta_star, rng, (2, 3))
    found = two_phases.end_errors(params, starts, rng)
    for t, i in itertools.product(range(2), range(3)):
        spectra = local_spectra(clients[t].data)
        error = two_phases.refine(params, clients[t], spectra, starts[t, i], s)
        assert found[t, i] == pytest.approx(error, rel=1e-9)
    assert len(set(found.ravel().round(6))) > 2


def test_in_many_dimensions_phase_two_runs_on_rows():
    """One cluster whose labels are right: the end is the least squares solution of all rows."""
    cell = {"M": 12, "n": 40, "d": 17, "k": 1, "s": 1, "rounds_2": 900, "sigma": 0.3}
    params = two_phases.ONE_START.check(cell)
    found = two_phases.end_errors(params, np.ones((1, 1, 1, 17)), np.random.default_rng(9))
    clients = draw_clients(params, np.random.default_rng(9))
    solution = np.linalg.lstsq(clients.data.features, clients.data.responses)[0]
    assert found[0, 0] == pytest.approx(np.linalg.norm(solution), rel=1e-6)


def test_large_runs_end_where_known_labels_end():
    """The rounds are as many as the slowest direction needs, and no label is wrong."""
    cell = refinement.LARGE.check({"M": 90, "n": 12, "d": 6, "k": 3, "sigma": 0.05, "shrink": 1e-6})
    rng = np.random.default_rng(5)
    for start, end, known, wrong, rounds in refinement.LARGE.simulate(cell, rng, 4):
        assert start == pytest.approx(0.1)
        assert end == pytest.approx(known, abs=2e-6)
        assert wrong == 0.0
        assert 10 < rounds < refinement.MOST_ROUNDS


def test_large_runs_refuse_data_beyond_memory():
    with pytest.raises(InvalidParameter, match="features M n d=800000000 must be <= 400000000"):
        refinement.LARGE.check({"M": 100_000, "n": 16, "d": 500})


def test_phase_two_takes_nine_tenths_of_the_longest_stable_local_step(monkeypatch):
    """The largest curvature of a client is 4: its two rows are (2, 2) and zero."""
    rows = np.array([[2.0, 2.0], [0.0, 0.0], [1.0, 0.0]])
    data = ClientData(features=rows, responses=np.zeros(3), offsets=np.array([0, 2, 3]))
    taken = {}

    def stand_in(**arguments):
        taken.update(arguments)
        return SimpleNamespace(models=np.array([[3.0, 0.0]]))

    monkeypatch.setattr(two_phases, "run_fed_regression", stand_in)
    clients = SimpleNamespace(data=data, theta_star=np.zeros((1, 2)))
    params = {"rounds_2": 7, "Delta": 1.5}
    start = np.ones((1, 2))
    distance = two_phases.refine(params, clients, local_spectra(data), start, 5)
    assert distance == pytest.approx(2.0)
    assert taken["step_size"] == pytest.approx(0.9 / 4.0, rel=1e-12)
    assert (taken["n_rounds"], taken["n_local_steps"], taken["update"]) == (7, 5, "fedavg")
    assert taken["start"] is start


@pytest.mark.parametrize(
    "n", [1.0, 2.0, 3.0, 8.0, 11.0, 12.0, 13.0, 80.0, 82.0, 2000.0, 640_000.0, 1e9]
)
def test_students_distribution_function_against_mpmath(n):
    t = np.concatenate([np.linspace(-12.0, 12.0, 37), [-1e6, -50.0, 50.0, 1e6]])
    for x, found in zip(t, deviation.student_cdf(n, t), strict=True):
        with mpmath.workdps(40):
            tail = mpmath.betainc(n / 2, 0.5, 0, n / (n + mpmath.mpf(x) ** 2), regularized=True) / 2
            exact = float(1 - tail if x > 0 else tail)
        assert found == pytest.approx(exact, abs=1e-14 if n < 1e4 else 1e-10)


@pytest.mark.parametrize("n", [3.0, 11.0, 12.0, 20.0, 200.0])
def test_students_distribution_function_has_its_limits_at_any_distance(n):
    """From 1e155 on it was one half: a noise level of 1e-200 beside a distance of 1."""
    far = np.array([1e100, 1e154, 1e155, 1e200, 1.7e308, math.inf])
    np.testing.assert_array_equal(deviation.student_cdf(n, far), 1.0)
    np.testing.assert_allclose(deviation.student_cdf(n, -far), 0.0, atol=1e-18)


@pytest.mark.parametrize(("rule", "s"), [("fedavg", 1), ("fedavg", 3), ("fedprox", 1)])
def test_clients_whose_features_are_all_zero_teach_nothing(rule, s):
    """Their largest curvature is 0.  An infinite step times nothing was NaN, or raised."""
    cell = {"M": 2, "n": 1, "d": 1, "k": 2, "features": "sparse", "rule": rule, "s": s}
    params = refinement.RUNS.check({**cell, "near": 0.1})
    grams = draw_gram_trials(params, np.random.default_rng(0), 16).grams
    empty = (grams == 0.0).all(axis=(1, 2, 3))
    assert 0 < empty.sum() < 16
    table = refinement.REFINEMENT.simulate(params, np.random.default_rng(0), 16)
    assert not np.isnan(table).any()
    oracle = refinement.REFINEMENT.columns.index("oracle")
    np.testing.assert_allclose(table[empty, :oracle], 0.1)
    assert (table[empty, oracle] == math.inf).all()
    params = LOCAL.check(cell)
    table = spectrum.ROUND_MATRICES.simulate(params, np.random.default_rng(0), 16)
    told = dict(zip(spectrum.COLUMNS, table[empty].T, strict=True))
    for name in ("smallest", "largest", "pull", "decrease"):
        assert (told[name] == 0.0).all()
    assert (told["floor_squared"] == math.inf).all()
    if rule == "fedavg":
        params = refinement.LOCAL_STEPS.parameters.check({**cell, "s": 3})
        assert np.isfinite(
            refinement.LOCAL_STEPS.simulate(params, np.random.default_rng(0), 16)
        ).all()


# -- Gram matrices in the place of rows ------------------------------------------------------------


@pytest.mark.parametrize(
    "cell",
    [
        {"M": 30, "n": 12, "d": 3, "k": 3, "s": 4, "sigma": 0.5},
        {"M": 30, "n": 12, "d": 3, "k": 3, "rule": "fedprox", "sizes": "zipf", "sigma": 0.5},
        {"M": 40, "n": 3, "d": 6, "s": 5, "alpha": 0.5, "beta": 2.0, "sigma": 1.0},
        {"M": 40, "n": 30, "d": 14, "s": 5, "sigma": 1.0},  # beyond the kernel of small matrices
    ],
)
def test_rounds_on_gram_matrices_are_those_on_rows(cell):
    """Labels change in most of these runs, and clients have fewer and more rows than features."""
    params = refinement.RUNS.check({**cell, "near": 0.05, "gamma": 0.9})
    s = params["s"] if params["rule"] == "fedavg" else 0
    clients = draw_clients(params, np.random.default_rng(3))
    spectra, grams = local_spectra(clients.data), _grams_of_rows(clients)
    decomposed = gram_spectra(grams)
    eta = step_size(params, spectra)
    assert step_size(params, decomposed) == pytest.approx(eta, rel=1e-12)
    start = refinement.start_models(params, clients, np.random.default_rng(4))
    found = run_fed_regression(
        data=clients.data,
        start=start,
        update=params["rule"],
        step_size=eta,
        n_rounds=40,
        n_local_steps=params["s"],
        reference=clients.theta_star,
    )
    steps = client_steps(grams, decomposed, eta, s)
    path = gram_rounds(grams, steps, start, eta, 40)
    np.testing.assert_allclose(path[-1], found.models, atol=1e-13)
    distances = bottleneck_distances(path, clients.theta_star)
    np.testing.assert_allclose(distances, found.distances, rtol=1e-12)
    pull, share = refinement.clustering_pull(clients, start, eta, s)
    assert refinement.gram_pull(grams, steps, start, s) == pytest.approx((pull, share), rel=1e-12)
    for of_grams, of_rows in zip(
        spectrum.true_sums(grams, steps),
        spectrum.cluster_matrices(clients, spectra, eta, s),
        strict=True,
    ):
        np.testing.assert_allclose(of_grams, of_rows, rtol=1e-10, atol=1e-14)
    spread = sum(steps.covariances[grams.labels == 0])
    exact = np.zeros_like(spread)
    for phi, _, _, truth in each(clients):
        p = dense_p(phi, eta, s)
        exact += (truth == 0) * (phi.T @ p @ p.T @ phi)
    np.testing.assert_allclose(spread, exact, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("n", "sizes"), [(2, "balanced"), (3, "balanced"), (9, "balanced"), (4, "zipf")]
)
def test_gram_matrices_are_drawn_from_the_law_of_rows(n, sizes):
    """Entries, eigenvalues and pulls of one client, n_i below, at and above d; false alarms 2e-6.

    Twenty comparisons at 1e-7 each.  The columns are functions of (W, b) whose laws differ in
    degrees of freedom, in the covariance's root and in the noise.
    """
    params = LOCAL.check(
        {"M": 4000, "n": n, "d": 3, "alpha": 0.5, "beta": 2.0, "sigma": 0.7, "k": 1, "sizes": sizes}
    )
    seeds = np.random.default_rng(11), np.random.default_rng(11)  # one root: the first draws agree
    drawn = [_grams_of_rows(draw_clients(params, seeds[0])), draw_grams(params, seeds[1])]

    def columns(grams):
        values = np.linalg.eigvalsh(grams.grams)
        determined = np.linalg.pinv(grams.grams, rcond=1e-9, hermitian=True)
        fitted = np.einsum("ma,mab,mb->m", grams.pulls, determined, grams.pulls)
        return [
            grams.grams[:, 0, 0],
            grams.grams[:, 0, 2],
            values[:, -1],
            grams.pulls[:, 1],
            fitted,
        ]

    for of_rows, of_law in zip(*map(columns, drawn), strict=True):
        assert stats.ks_2samp(of_rows, of_law).pvalue > 1e-7


@pytest.mark.parametrize(
    ("m", "n", "d"), [(1, 4, 3), (50, 1, 1), (300, 2, 6), (200, 64, 7), (40, 10, 20)]
)
@pytest.mark.parametrize("unit", [1e-70, 1.0, 1e70])
def test_the_largest_curvature_needs_few_decompositions(m, n, d, unit):
    rows = unit * np.random.default_rng(d).standard_normal((m, n, d))
    spectra = GramSpectra(scaled=rows.transpose(0, 2, 1) @ rows / n)
    every = np.linalg.eigvalsh(spectra.scaled)[:, -1]
    assert spectra.largest == pytest.approx(every.max(), rel=1e-12)
    assert "_decomposed" not in vars(spectra)
    assert spectra.values[:, -1] == pytest.approx(every, rel=1e-9)


def test_clients_without_features_have_no_curvature():
    assert GramSpectra(scaled=np.zeros((2, 3, 3))).largest == 0.0


def test_each_trial_has_a_largest_curvature_of_its_own():
    """Trials of different units, the first without features."""
    rows = np.random.default_rng(3).standard_normal((4, 50, 6, 4))
    rows *= np.array([0.0, 1e-9, 1.0, 1e5])[:, None, None, None]
    scaled = rows.swapaxes(-1, -2) @ rows / 6
    every = np.linalg.eigvalsh(scaled)[..., -1].max(axis=1)
    searched, decomposed = GramSpectra(scaled=scaled), GramSpectra(scaled=scaled)
    decomposed.decompose()
    np.testing.assert_allclose(searched.largest, every, rtol=1e-12)
    np.testing.assert_allclose(decomposed.largest, every, rtol=1e-12)
    assert "_decomposed" not in vars(searched)


def test_a_run_on_gram_matrices_that_diverges_keeps_its_last_models():
    params = LOCAL.check({"M": 6, "n": 5, "d": 2, "gamma": 0.9})
    grams = draw_grams(params, np.random.default_rng(0))
    spectra = gram_spectra(grams)
    eta = 1e9 / spectra.largest
    path = gram_rounds(grams, client_steps(grams, spectra, eta, 1), np.ones((2, 2)), eta, 5)
    assert np.abs(path).max() <= 1e12
    np.testing.assert_array_equal(path[-1], path[-2])


# -- the experiments, trial by trial, against their definitions ------------------------------------


def largest_curvature(clients):
    """The largest eigenvalue of any X'X / n."""
    ends = zip(clients.grams, clients.sizes, strict=True)
    return max(np.linalg.eigvalsh(gram)[-1] / n for gram, n in ends)


def gram_terms(clients, eta, s):
    """X'PX, X'P zeta and X'P^2 X of each client by powers of its Gram matrix, s = 0 for FedProx."""
    one = np.eye(clients.grams.shape[1])
    for gram, pull, n in zip(clients.grams, clients.pulls, clients.sizes, strict=True):
        part = one - eta / n * gram
        if s == 0:
            p = np.linalg.inv(one + eta / n * gram)
        else:
            p = sum(np.linalg.matrix_power(part, i) for i in range(s))
        yield p @ gram, p @ pull, p @ p @ gram


@pytest.mark.parametrize(("rule", "s"), [("fedavg", 1), ("fedavg", 4), ("fedprox", 1)])
def test_the_columns_of_round_matrices_are_those_of_their_definition(rule, s):
    cell = {**RAGGED, "M": 14, "n": 6, "k": 3, "rule": rule, "s": s, "sigma": 2.0, "ratio": 3.0}
    params = LOCAL.check({**cell, "profile": "geometric"})
    found = spectrum.ROUND_MATRICES.simulate(params, np.random.default_rng(1), 1)[0]
    clients = draw_grams(params, np.random.default_rng(1))
    largest = largest_curvature(clients)
    eta, total = params["gamma"] / largest, clients.sizes.sum()
    rows = []
    for j in range(3):
        terms = gram_terms(clients, eta, 0 if rule == "fedprox" else s)
        own = [t for t, label in zip(terms, clients.labels, strict=True) if label == j]
        matrix, pull, noise = (sum(parts) / total for parts in zip(*own, strict=True))
        ends = np.linalg.eigvalsh(matrix)[[0, -1]]
        n_j = clients.sizes[clients.labels == j].sum()
        inverse = np.linalg.inv(matrix)
        rows.append(
            [
                *(ends * total / n_j),
                pull @ pull * total / s / ends[1],
                np.linalg.norm(pull),
                eta * ends[0],
                4.0 * np.trace(inverse @ (noise / total) @ inverse),
                n_j / 3,
            ]
        )
    low, high, worst, pull, decrease, floor, n_rows = np.array(rows).T
    expected = [
        low.min(), high.max(), worst.max(), pull.max(), decrease.min(), floor[0], n_rows.min(), eta
    ]  # fmt: skip
    assert np.argmax(n_rows) != np.argmin(n_rows)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_signs_as_features_of_one_dimension_give_the_matrices_in_closed_form():
    """All squares are one, so that P is one number f.  Rows are drawn, not Gram matrices."""
    cell = {"M": 7, "n": 5, "d": 1, "features": "rademacher", "sigma": 3.0, "s": 4, "gamma": 0.4}
    params = LOCAL.check(cell)
    found = spectrum.ROUND_MATRICES.simulate(params, np.random.default_rng(2), 1)[0]
    clients = draw_clients(params, np.random.default_rng(2))
    f = sum(0.6**i for i in range(4))
    owner = np.repeat(clients.labels, clients.sizes)
    sums = np.array(
        [clients.noise[owner == j] @ clients.data.features[owner == j, 0] for j in (0, 1)]
    )
    n_j = np.bincount(owner)
    pulls = f * np.abs(sums) / 35
    expected = [
        f, f, (pulls**2 * 35 / (4 * f * n_j / 35)).max(), pulls.max(), 0.4 * f * n_j.min() / 35,
        9.0 / n_j[0], n_j.min(), 0.4,
    ]  # fmt: skip
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(("rule", "s"), [("fedavg", 1), ("fedavg", 4), ("fedprox", 1)])
@pytest.mark.parametrize("start", ["adversarial", "random", "translation"])
def test_runs_of_many_trials_are_those_of_their_definition(rule, s, start):
    """Two trials with clients of different sizes, round by round from the clients' matrices."""
    cell = {"M": 14, "n": 6, "d": 3, "k": 3, "rule": rule, "s": s, "start": start, "near": 0.1}
    params = refinement.RUNS.check({**cell, "sizes": "zipf", "spread": 0.5, "sigma": 0.5})
    found = refinement.REFINEMENT.simulate(params, np.random.default_rng(6), 2)
    rng = np.random.default_rng(6)
    trials = draw_gram_trials(params, rng, 2)
    starts = refinement.start_trials(params, trials, rng, 2)
    ones = rng.integers(14, size=2)
    columns = refinement.REFINEMENT.columns
    for t, row in enumerate(found):
        clients, models, path = trials.trial(t), starts[t], [starts[t]]
        gaps = models - clients.theta_star
        np.testing.assert_allclose(np.linalg.norm(gaps, axis=1), 0.1, rtol=1e-12)
        largest = largest_curvature(clients)
        eta, total = params["gamma"] / largest, clients.sizes.sum()
        terms = [*gram_terms(clients, eta, 0 if rule == "fedprox" else s)]
        for _ in range(40):
            moved, labels = models.copy(), gram_labels(clients, models)
            for i, truth in enumerate(clients.labels):
                errors = models - clients.theta_star[truth]
                losses = [e @ clients.grams[i] @ e - 2.0 * clients.pulls[i] @ e for e in errors]
                assert labels[i] == np.argmin(losses)
                moved[labels[i]] += eta / total * (terms[i][1] - terms[i][0] @ errors[labels[i]])
            models = moved
            path.append(models)
        told = dict(zip(columns, row, strict=True))
        np.testing.assert_allclose(
            row[:41], bottleneck_distances(np.array(path), clients.theta_star), rtol=1e-7
        )
        chosen = gram_labels(clients, models)[ones[t]]
        own = clients.theta_star[clients.labels[ones[t]]]
        assert told["client"] == pytest.approx(np.linalg.norm(models[chosen] - own), rel=1e-7)
        assert told["step"] == pytest.approx(eta, rel=1e-12)
        ends = []
        for j in range(3):
            mine = [term for term, z in zip(terms, clients.labels, strict=True) if z == j]
            matrix, pull = sum(term[0] for term in mine), sum(term[1] for term in mine)
            ends.append(np.linalg.norm(np.linalg.solve(matrix, pull)))
        assert told["oracle"] == pytest.approx(max(ends), rel=1e-9)


def test_simulations_in_parts_are_those_of_the_parts(monkeypatch):
    params = refinement.RUNS.check({"M": 6, "n": 5, "d": 2})
    monkeypatch.setattr(clients_module, "_AT_ONCE", 2 * 6 * 4)
    found = refinement.REFINEMENT.simulate(params, np.random.default_rng(2), 5)
    rng = np.random.default_rng(2)
    parts = [refinement._simulate_runs(params, rng, part) for part in (2, 2, 1)]
    np.testing.assert_array_equal(found, np.concatenate(parts))


def test_clients_of_unequal_sizes_belong_to_any_cluster():
    """Three rows for two clients of five, two for the others: of each cluster as often.

    The first cluster has three clients, and each one is large with probability 2/5.  Deviations
    of five standard errors have a false alarm of 6e-7.
    """
    params = LOCAL.check({"M": 5, "n": 2.4, "d": 1, "k": 2, "ratio": 1.5, "profile": "geometric"})
    sizes = draw_gram_trials(params, np.random.default_rng(5), 4000).sizes
    np.testing.assert_array_equal(np.sort(sizes, axis=1), np.tile([2, 2, 2, 3, 3], (4000, 1)))
    shares = (sizes == 3).mean(axis=0)
    assert (np.abs(shares - 0.4) < 5 * math.sqrt(0.24 / 4000)).all()


@pytest.mark.parametrize(
    "cell",
    [
        {"k": 3, "d": 7, "n": 5, "sizes": "lognormal", "spread": 0.5},
        {"k": 4, "d": 9, "n": 2},  # fewer rows than dimensions of the optima
        {"k": 5, "d": 3, "n": 3},  # optima on a line
    ],
)
def test_wrong_labels_in_the_dimensions_of_the_optima_have_the_law_of_all_dimensions(cell):
    """Share and pull at 1e-7 each: false alarms 6e-7."""
    params = refinement.RUNS.check({**cell, "M": 20, "sigma": 1.5, "near": 0.2})
    few = refinement.CLUSTERING_ERROR.simulate(params, np.random.default_rng(1), 600)
    rng = np.random.default_rng(2)
    many = np.array([refinement._one_round(params, rng) for _ in range(200)])
    for ours, all_of_them in zip(few.T, many.T, strict=True):
        assert stats.ks_2samp(ours, all_of_them).pvalue > 1e-7


def test_where_the_optima_fill_the_space_wrong_labels_are_those_of_the_gram_matrices():
    params = refinement.RUNS.check({"k": 3, "d": 2, "n": 4, "M": 30, "sigma": 1.5, "near": 0.3})
    found = refinement.CLUSTERING_ERROR.simulate(params, np.random.default_rng(7), 1)[0]
    clients = draw_grams(params, np.random.default_rng(7))
    spectra = gram_spectra(clients)
    steps = client_steps(clients, spectra, float(step_sizes(params, spectra)), 1)
    start = refinement.start_trials(params, clients, np.random.default_rng(), 1)[0]
    pull, share = refinement.gram_pull(clients, steps, start, 1)
    assert share > 0.0
    np.testing.assert_allclose(found, [share, pull], rtol=1e-10)


@pytest.mark.parametrize(("rule", "s"), [("fedavg", 3), ("fedprox", 1)])
@pytest.mark.parametrize("d", [2, 18])
def test_the_wrong_labels_of_one_round_have_the_share_and_pull_of_their_definition(rule, s, d):
    """From 17 dimensions on a client of few rows is handled row by row."""
    cell = {"M": 12, "n": 6, "d": d, "k": 3, "rule": rule, "s": s, "sigma": 2.0, "near": 0.5}
    cell |= {"sizes": "zipf", "spread": 0.5}
    params = refinement.RUNS.check(cell)
    found = refinement.CLUSTERING_ERROR.simulate(params, np.random.default_rng(3), 1)[0]
    rng = np.random.default_rng(3)
    if d > 16:
        clients = draw_clients(params, rng)
        grams = _grams_of_rows(clients)
    else:
        clients = grams = draw_grams(params, rng)
    models, optima = refinement.start_models(params, clients, rng), grams.theta_star
    largest = largest_curvature(grams)
    terms = [*gram_terms(grams, params["gamma"] / largest, 0 if rule == "fedprox" else s)]
    share, sums = np.zeros(3), np.zeros((3, d))
    for i, truth in enumerate(grams.labels):
        errors = models - optima[truth]
        losses = [e @ grams.grams[i] @ e - 2.0 * grams.pulls[i] @ e for e in errors]
        for j in range(3):
            sign = float(np.argmin(losses) == j) - float(truth == j)
            share[j] += abs(sign) * grams.sizes[i]
            sums[j] += sign * (terms[i][0] @ errors[j] - terms[i][1])
    total = grams.sizes.sum()
    assert 0.0 < share.max() < total
    pull = np.linalg.norm(sums, axis=1).max() / total / s
    np.testing.assert_allclose(found, [share.max() / total, pull], rtol=1e-9)


def test_three_choices_of_local_steps_are_compared_on_the_same_clients_and_start():
    params = refinement.LOCAL_STEPS.check({"M": 12, "n": 8, "d": 2, "s": 5, "near": 0.2})
    found = refinement.LOCAL_STEPS.simulate(params, np.random.default_rng(4), 1)[0]
    rng = np.random.default_rng(4)
    clients = draw_grams(params, rng)
    start, total = refinement.start_models(params, clients, rng), clients.sizes.sum()
    largest = largest_curvature(clients)
    # kappa = gamma s / (1 - (1 - gamma)^s) = 1.1 by bisection
    low, high = 1e-9, 1.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if 5 * middle / (1 - (1 - middle) ** 5) < 1.1 else (low, middle)
    expected = []
    for s, gamma in ((1, 0.95), (5, low), (5, 0.95)):
        eta, models = gamma / largest, start.copy()
        terms = [*gram_terms(clients, eta, s)]
        for _ in range(10):
            moved = models.copy()
            for i, truth in enumerate(clients.labels):
                errors = models - clients.theta_star[truth]
                losses = [e @ clients.grams[i] @ e - 2.0 * clients.pulls[i] @ e for e in errors]
                j = int(np.argmin(losses))
                moved[j] += eta / total * (terms[i][1] - terms[i][0] @ errors[j])
            models = moved
        gap = [np.linalg.norm(m - clients.theta_star, axis=1).max() for m in (start, models)]
        expected.append(gap[1] / gap[0])
    assert len({round(x, 6) for x in expected}) == 3
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_columns_of_subsets_scale_with_the_noise_and_hold_all_rows_at_the_share_one():
    def table(**changes):
        cell = subsets.SUBSETS.check({"M": 20, "n": 5, "n_large": 5, **changes})
        return subsets.SUBSETS.simulate(cell, np.random.default_rng(6), 160)

    one, three = table(nu=1.0), table(nu=1.0, sigma=3.0)
    np.testing.assert_allclose(three, one * [9.0, 1.0], rtol=1e-12)
    # 100 rows: chi-squared over 100, of mean 1 and variance 0.02
    assert (np.abs(one.mean(axis=0) - 1.0) < 5 * np.sqrt(0.02 / 160)).all()
    assert (np.abs(one.var(axis=0) / 0.02 - 1.0) < 0.6).all()
    few = table(nu=0.1)
    assert (few < one).all()
    # With a budget below a client's rows no client is whole, and a part of one is the supremum.
    tiny = table(nu=0.02, d=2)
    assert (tiny[:, 1] == 0.0).all()
    assert (tiny[:, 0] > 0.0).all()


@pytest.mark.parametrize(
    "cell",
    [
        {"M": 4, "n": 1, "d": 3},
        {"M": 6, "n": 2, "d": 8},
        {"M": 12, "n": 2, "d": 5, "profile": "geometric", "ratio": 5.0},  # 4 rows and 20
    ],
)
def test_runs_of_fewer_rows_than_dimensions_have_no_end(cell):
    """Some direction of a model never moves.  Before, the end was infinite or any number, as
    rounding had it.
    """
    table = refinement.REFINEMENT.simulate(refinement.RUNS.check(cell), np.random.default_rng(0), 8)
    assert np.isposinf(table[:, refinement.REFINEMENT.columns.index("oracle")]).all()
    for seed in range(4):
        with pytest.raises(InvalidParameter, match="must give each cluster rows in all d="):
            refinement.LARGE.simulate(refinement.LARGE.check(cell), np.random.default_rng(seed), 1)
    enough = refinement.RUNS.check({**cell, "n": 40})
    table = refinement.REFINEMENT.simulate(enough, np.random.default_rng(0), 2)
    assert np.isfinite(table).all()


@pytest.mark.parametrize("name", ["sxy.refinement", "sxy.large", "sxy.two-phases"])
def test_a_ratio_of_equal_shares_is_refused_before_a_trial(name):
    check = experiment(name).check
    assert check({"ratio": 2.0, "profile": "geometric"})["ratio"] == 2.0
    for shares in ({"profile": "equal"}, {"profile": "geometric", "k": 1}):
        with pytest.raises(InvalidParameter, match="ratio=2 must be 1 for equal clusters"):
            check({"ratio": 2.0, **shares})


@pytest.mark.parametrize("name", ["sxy.refinement", "sxy.large", "sxy.local-steps"])
def test_a_start_without_a_direction_is_refused_before_a_trial(name):
    check = experiment(name).check
    assert check({"k": 1, "start": "random"})["k"] == 1
    assert check({"d": 1, "start": "translation"})["d"] == 1
    with pytest.raises(InvalidParameter, match="k=1 must be >= 2 for start='adversarial'"):
        check({"k": 1})
    with pytest.raises(InvalidParameter, match="d=1 must be >= 2 for start='orthogonal'"):
        check({"d": 1, "start": "orthogonal"})


def test_phase_one_has_room_for_its_directions_or_is_refused_before_a_trial():
    check = experiment("sxy.two-phases").check
    assert check({"d": 3, "k": 3})["d"] == 3
    assert experiment("sxy.one-start").check({"d": 2, "k": 3})["d"] == 2  # without Phase 1
    with pytest.raises(InvalidParameter, match="k=3 must be <= d=2"):
        check({"d": 2, "k": 3})


def test_a_start_at_the_optima_has_no_distance_to_compare_with():
    assert experiment("sxy.refinement").check({"near": 0.0})["near"] == 0.0
    with pytest.raises(InvalidParameter, match=r"near=0.0 must be a finite number in \(0, 0.5\]"):
        experiment("sxy.local-steps").check({"near": 0.0})
