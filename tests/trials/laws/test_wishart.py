"""Label counts: thinning and direct Wishart draws against per-client twins and real data."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import stats

from trials.laws import pairwise as pw
from trials.laws import wishart
from trials.laws.wishart import _conditional_bartlett, label_counts
from verify.testing.strategies import initialisations, seeds

CAP = 1e9
# every chi-square test below: false alarm 1e-5, seed fixed, at most 20 of them in this file
LEVEL = 1e-5


def draw_counts(theta, theta_star, sizes, sigma, n, seed, cap=CAP):
    k = len(theta)
    counts = np.empty((k, k), np.int64)
    rng = np.random.default_rng(seed)
    # Writable copies: the compiler has another type for read-only arrays.
    centres, members = np.array(theta_star), np.array(sizes)
    ok = label_counts(theta, centres, members, float(sigma), n, cap, rng, counts)
    return counts if ok else None


def labels_by_data(theta, theta_star_a, sigma, n, size, rng):
    """The obvious way: draw the data, compute the losses, take the argmin."""
    x = rng.standard_normal((size, n, theta.shape[1]))
    y = x @ theta_star_a + sigma * rng.standard_normal((size, n))
    return np.mean((y[..., None] - x @ theta.T) ** 2, axis=1).argmin(axis=1)


def labels_by_wishart(theta, theta_star_a, sigma, n, size, rng):
    """The diagonal of a Wishart matrix, from n Gaussian residual vectors."""
    u = theta - theta_star_a
    values, vectors = np.linalg.eigh(u @ u.T + sigma**2)
    root = vectors * np.sqrt(np.maximum(values, 0))
    return np.sum((rng.standard_normal((size, n, len(theta))) @ root.T) ** 2, axis=1).argmin(axis=1)


def same_law(ours, theirs):
    table = np.array([ours, theirs])
    table = table[:, table.sum(axis=0) > 0]
    rare = table.sum(axis=0) < 20
    if rare.any() and not rare.all():
        table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
        table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] < 2:
        return True
    return stats.chi2_contingency(table, correction=False).pvalue > LEVEL


def case(name):
    rng = np.random.default_rng(11)
    k, d, n, spread, sigma = {
        "rare errors": (4, 3, 5, 0.35, 0.3),
        "frequent errors": (4, 3, 5, 1.5, 1.0),
        "n below k": (5, 4, 2, 0.3, 0.2),
        "one sample": (3, 2, 1, 0.15, 0.1),
        "noiseless": (4, 2, 3, 0.3, 0.0),
        "many models": (12, 6, 8, 0.4, 0.4),
    }[name]
    theta_star = rng.standard_normal((k, d))
    return theta_star + spread * rng.standard_normal((k, d)), theta_star, sigma, n


@pytest.mark.statistical
@pytest.mark.parametrize(
    "name",
    ["rare errors", "frequent errors", "n below k", "one sample", "noiseless", "many models"],
)
def test_counts_have_the_law_of_the_data(name):
    theta, theta_star, sigma, n = case(name)
    k, size = len(theta), 20_000
    counts = draw_counts(theta, theta_star, np.full(k, 10 * size), sigma, n, 1)
    assert np.all(counts.sum(axis=1) == 10 * size)
    rng = np.random.default_rng(2)
    for a in (0, k - 1):
        data = labels_by_data(theta, theta_star[a], sigma, n, size, rng)
        wishart = labels_by_wishart(theta, theta_star[a], sigma, n, 2 * size, rng)
        both = np.bincount(data, minlength=k) + np.bincount(wishart, minlength=k)
        assert same_law(counts[a], both)


def draw_joining(theta, theta_star, sizes, sigma, n, seed, cap=CAP):
    counts = np.empty((len(theta), len(theta)), np.int64)
    rng = np.random.default_rng(seed)
    return wishart.count_joining(theta, theta_star, sizes, sigma, n, cap, rng, counts), counts[
        1:, 0
    ]


@pytest.mark.statistical
@pytest.mark.parametrize(
    "name", ["rare errors", "frequent errors", "n below k", "one sample", "noiseless"]
)
def test_the_clients_that_join_a_model_have_the_law_of_the_data(name):
    theta, theta_star, sigma, n = case(name)
    k, size = len(theta), 20_000
    done, joining = draw_joining(theta, theta_star, np.full(k, 5 * size), sigma, n, 6)
    assert done
    rng = np.random.default_rng(7)
    for a in range(1, k):
        data = np.sum(labels_by_data(theta, theta_star[a], sigma, n, size, rng) == 0)
        ours = joining[a - 1]
        assert same_law([ours, 5 * size - ours], [data, size - data])


def test_certain_preferences_for_the_joined_model_are_those_of_the_label_counts():
    """Equal models, a certain tie, and a client that is certain to prefer model 0."""
    centres, sizes = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 500.0]]), np.array([5, 6, 7])
    for theta in (
        np.zeros((3, 2)),
        np.array([[2.0, 0.0], [0.0, 0.0], [0.0, 500.0]]),
        np.array([[1.5, 0.0], [3.0, 0.0], [0.0, 500.0]]),
    ):
        _, joining = draw_joining(theta, centres, sizes, 0.0, 3, 8)
        expected = draw_counts(theta, centres, sizes, 0.0, 3, 8)
        np.testing.assert_array_equal(joining, expected[1:, 0])
        assert joining[0] == 6


def test_too_many_candidates_to_join_a_model_are_refused():
    theta, theta_star, sigma, n = case("frequent errors")
    done, _ = draw_joining(theta, theta_star, np.full(4, 10**6), sigma, n, 9, cap=1e4)
    assert not done


def test_of_two_models_any_number_of_clients_joins_one():
    """Their number is one binomial draw, with the F law's probability.  8 deviations: p < 1e-14."""
    theta_star, theta = np.array([[0.0], [1.0]]), np.array([[0.25], [0.9]])
    x, _ = pw.margin(theta[1], theta[0], theta_star[1], 1.0)
    p, size = math.exp(pw.log_tail(x, 9.0)), 10**9
    assert 0.1 < p < 0.5
    done, joining = draw_joining(theta, theta_star, np.array([1, size]), 1.0, 9, 10, cap=1e3)
    assert done
    assert abs(joining[0] - size * p) < 8 * math.sqrt(size * p)


@pytest.mark.parametrize("copies", [1, 3])
def test_all_clients_that_passed_an_exact_limit_are_wrong(copies):
    """Their chance was that of a wrong label, which is below the limits from distances."""
    centres = np.array([[0.0, 0.0], *[[2.0, 0.0]] * copies])
    theta = centres + np.array([[0.3, 0.2], *[[0.0, -0.4]] * copies])
    k, n, sigma = len(theta), 12, 0.8
    x, _ = pw.margin(theta[0], theta[1], centres[0], sigma)
    chances = np.array([math.exp(pw.log_tail(x, float(n))), *[1.0] * copies])
    assert 1e-6 < chances[0] < 1e-3
    counts, rng = np.empty((k, k), np.int64), np.random.default_rng(1)
    sizes, passed = np.full(k, 10**6), np.array([500, *[0] * copies])
    assert wishart.thinned_label_counts(
        theta, centres, sizes, sigma, n, CAP, rng, chances, passed, counts
    )
    np.testing.assert_array_equal(counts[0, :2], [10**6 - 500, 500])


@pytest.mark.statistical
def test_thinning_and_direct_draws_agree():
    """A duplicate of each model changes nothing but forces Q over the branch point or not."""
    theta, theta_star, sigma, n = case("rare errors")
    rng = np.random.default_rng(3)
    margins = [pw.margin(theta[0], theta[j], theta_star[0], sigma)[0] for j in (1, 2, 3)]
    total = sum(math.exp(pw.log_tail(x, float(n))) for x in margins)
    assert 0 < total < 0.5  # the thinning branch is the one under test
    counts = draw_counts(theta, theta_star, np.full(4, 400_000), sigma, n, 4)
    direct = np.bincount(
        labels_by_wishart(theta, theta_star[0], sigma, n, 100_000, rng), minlength=4
    )
    assert same_law(counts[0], direct)


@pytest.mark.statistical
def test_two_models_are_binomial_with_the_f_law():
    theta_star = np.array([[0.0, 0.0], [1.0, 0.0]])
    theta = np.array([[0.0, 0.4], [0.6, 0.0]])
    x, _ = pw.margin(theta[0], theta[1], theta_star[0], 0.5)
    p = math.exp(pw.log_tail(x, 20.0))
    moved = [draw_counts(theta, theta_star, [1000, 1], 0.5, 20, s)[0, 1] for s in range(2000)]
    assert stats.binomtest(int(np.sum(moved)), 2_000_000, p).pvalue > LEVEL
    # dispersion: sample variance over the binomial one is chi-square, both tails
    ratio = 1999 * np.var(moved, ddof=1) / (1000 * p * (1 - p))
    assert LEVEL < stats.chi2.cdf(ratio, 1999) < 1 - LEVEL


@settings(deadline=None, max_examples=40)
@given(initialisations(), seeds)
def test_counts_conserve_the_clients(drawn, seed):
    mixture, _, _, theta = drawn
    counts = draw_counts(
        theta, mixture.theta_star, mixture.cluster_sizes, mixture.sigma, mixture.n_samples, seed
    )
    assert np.all(counts >= 0)
    np.testing.assert_array_equal(counts.sum(axis=1), mixture.cluster_sizes)


def test_equal_models_are_labelled_by_the_first():
    theta_star = np.eye(3)
    theta = np.array([[1.0, 0, 0], [0, 0, 1.0], [0, 0, 1.0]])
    counts = draw_counts(theta, theta_star, [50, 50, 50], 0.1, 40, 1)
    assert counts[:, 2].sum() == 0
    np.testing.assert_array_equal(counts[2], [0, 50, 0])
    all_equal = draw_counts(np.ones((3, 3)), theta_star, [5, 6, 7], 0.1, 4, 1)
    np.testing.assert_array_equal(all_equal, [[5, 0, 0], [6, 0, 0], [7, 0, 0]])


@pytest.mark.parametrize("own", [0, 1, 2])
@pytest.mark.parametrize("d", [1, 3])
def test_a_certain_tie_goes_to_the_smaller_index(own, d):
    """Without noise, two models on opposite sides of a centre have equal losses on all data.

    The third model is far away.  Rows of whole numbers make the losses of the twin exact.  No
    client of a centre that lies at its own model, or ties with a later one alone, has to be drawn.
    """
    rival, far = (own + 1) % 3, (own + 2) % 3
    theta = np.zeros((3, d))
    theta[own, 0], theta[rival, 0], theta[far, 0] = 1.0, -1.0, 64.0
    theta_star = np.where(np.arange(3)[:, None] == own, 0.0, theta)
    x = np.random.default_rng(0).integers(1, 5, (5, d)).astype(float)
    losses = np.mean((x @ (theta_star[:, None] - theta).swapaxes(1, 2)) ** 2, axis=1)
    expected = np.zeros((3, 3))
    size = 10**9 if own < rival else 9
    expected[range(3), losses.argmin(axis=1)] = size
    np.testing.assert_array_equal(
        draw_counts(theta, theta_star, [size] * 3, 0.0, 5, 1, cap=1e6), expected
    )


def test_noiseless_perfect_models_make_no_error():
    counts = draw_counts(np.eye(5), np.eye(5), np.full(5, 10**9), 0.0, 1, 1)
    np.testing.assert_array_equal(counts, np.diag(np.full(5, 10**9)))


def test_cost_is_capped_not_the_law():
    theta, theta_star, sigma, n = case("frequent errors")
    assert draw_counts(theta, theta_star, np.full(4, 10**9), sigma, n, 1, cap=1e5) is None


def test_a_billion_clients_with_rare_errors():
    theta_star = 10 * np.eye(4)
    theta = theta_star + 0.5
    counts = draw_counts(theta, theta_star, np.full(4, 10**9), 4.0, 12, 1)
    margins = [pw.margin(theta[0], theta[j], theta_star[0], 4.0)[0] for j in (1, 2, 3)]
    expected = 1e9 * sum(math.exp(pw.log_tail(x, 12.0)) for x in margins)
    assert 100 < expected < 1e7
    moved = counts[0, 1:].sum()
    # between the largest single error and the union bound, within 8 standard deviations: p < 1e-14
    assert expected / 3 - 8 * math.sqrt(expected) < moved < expected + 8 * math.sqrt(expected)


def near_the_threshold(rng):
    """Two models, the second about so far from a centre that its label is impossible, in any
    units.
    """
    d, n = int(rng.integers(1, 40)), int(np.exp(rng.uniform(math.log(3), math.log(1e15))))
    coins = rng.integers(0, 2, 3)
    centre = rng.standard_normal(d) * 10.0 ** rng.uniform(-3, 8) * coins[0]
    own = centre + rng.standard_normal(d) * 10.0 ** rng.uniform(-8, 4) * coins[1]
    sigma = 10.0 ** rng.uniform(-8, 4) * coins[2]
    away = rng.standard_normal(d)
    if rng.random() < 0.5:  # opposite models: the margin cancels most digits
        away = 1e-9 * away - (own - centre)
    away /= np.linalg.norm(away)
    radius = math.sqrt(sigma**2 + np.sum((own - centre) ** 2))
    gap = math.sqrt(math.expm1(1600 / n)) * 10.0 ** rng.uniform(-1, 1) * radius
    return centre, own, centre + (np.linalg.norm(own - centre) + gap) * away, sigma, n


def test_limits_from_distances_are_above_the_probabilities():
    rng, passed = np.random.default_rng(1), 0
    for _ in range(20_000):
        centre, own, rival, sigma, n = near_the_threshold(rng)
        squares = np.empty(2)
        wishart._squared_distances(np.column_stack([own, rival]), centre[None], 0, squares)
        rounding = 1e-15 * (len(own) + 10)
        limit = wishart._log_tail_limit(*squares, rounding, sigma, n)
        x, _ = pw.margin(own, rival, centre, sigma)
        log_p = pw.log_tail(x, float(n))
        if limit == -math.inf:
            passed += 1
            assert x > 0
            assert math.exp(log_p) == 0.0
        elif limit < 0.0:
            assert log_p <= limit + 1e-11 * abs(limit)
    assert 3_000 < passed < 17_000  # both sides of the threshold were tried


def test_the_limit_is_chernoffs_where_the_models_and_the_centre_lie_on_a_line():
    """The own model between the others: x is exact, and the limit is that of the tail alone."""
    own, rival, sigma, n = 0.3, 2.0, 0.7, 12
    x, _ = pw.margin(np.array([own]), np.array([rival]), np.zeros(1), sigma)
    assert x == pytest.approx((own + rival) / (2 * sigma))
    at_the_centre = wishart._log_tail_limit(0.0, rival**2, 0.0, sigma, n)
    chernoff = -0.5 * n * math.log1p((rival / (2 * sigma)) ** 2) - math.log(2)
    assert at_the_centre == pytest.approx(chernoff, rel=1e-14)
    assert wishart._log_tail_limit(rival**2, own**2, 0.0, sigma, n) == 0.0


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("k", "copies", "n", "far"), [(2, 0, 6, 1.0), (4, 0, 8, 1.0), (5, 2, 8, 1.0), (5, 0, 8, 1.4)]
)
def test_thinning_by_limits_changes_no_law(monkeypatch, k, copies, n, far):
    """The kernel beside its text without the limits, where some clients pass the first thinning."""
    rng = np.random.default_rng(2)
    centres = 2.0 * np.eye(k) * math.sqrt(0.5)
    centres[2:] *= far  # two centres are nearer to each other than the rest
    theta = centres + 0.05 * rng.standard_normal((k, k))
    theta[:copies] = theta[0]
    sizes, sigma = np.full(k, 300), 1.0
    limits, tail = [], np.empty(k)
    for a in range(copies, k):
        squares = np.sum((theta - centres[a]) ** 2, axis=1)
        limits.append(wishart._limit_tails(np.arange(k), a, squares, 0.0, sigma, n, tail))
    assert max(limits) < wishart._DRAW_ALL
    assert min(limits) > 1e-2

    def draw(first):
        return sum(draw_counts(theta, centres, sizes, sigma, n, first + i) for i in range(300))

    found = draw(0)

    called = []

    def no_limit(_alive, own, _squares, _rounding, _sigma, _n, tail):
        called.append(own)
        tail[:] = 1.0
        return float(k)

    monkeypatch.setattr(wishart, "_limit_tails", no_limit)
    monkeypatch.setattr(wishart, "_log_tail_limit", lambda *_: 0.0)
    thinned = wishart.thinned_label_counts
    monkeypatch.setattr(wishart, "thinned_label_counts", getattr(thinned, "py_func", thinned))
    monkeypatch.setitem(globals(), "label_counts", getattr(label_counts, "py_func", label_counts))
    plain = draw(10_000)
    assert len(called) == 300 * k
    for a in range(k):
        assert found[a].sum() - found[a].max() > 100
        assert same_law(found[a], plain[a])


def test_the_angle_of_the_pair_that_decides_has_its_beta_law():
    """The cosine of two independent n-vectors has square Beta(1/2, (n-1)/2), whatever the margin.

    Mean 1/n, standard deviation at most 0.36.  Five standard errors: a false alarm in 1e6.
    """
    rng, draws = np.random.default_rng(5), 4000
    for n, margin in ((2, -0.3), (2, 0.4), (5, 0.0)):
        squares = np.empty(draws)
        factor = np.zeros((3, 3))
        for i in range(draws):
            _conditional_bartlett(margin, n, rng, factor)
            squares[i] = factor[1, 0] ** 2 / (factor[1, 0] ** 2 + factor[1, 1] ** 2)
        assert abs(squares.mean() - 1 / n) < 5 * 0.36 / np.sqrt(draws)


@pytest.mark.parametrize("seed", range(3))
def test_without_noise_opposite_models_tie_and_the_first_is_taken(seed):
    """Models at c + u and c - u have one loss for a client at c: argmin takes the smaller index.

    The numbers are multiples of 1/8, so that the losses are equal without rounding.
    """
    rng = np.random.default_rng(seed)
    for _ in range(60):
        centre, own = rng.integers(-8, 9, 2) / 8, int(rng.integers(4))
        u = rng.integers(1, 9, 2) / 8
        order = rng.permutation(4)
        theta, theta_star = np.empty((4, 2)), rng.integers(40, 80, (4, 2)) / 8.0
        theta[order] = [centre + u, centre - u, centre + 9.0, centre - 11.0]
        theta_star[own] = centre
        sizes = np.ones(4, np.int64)
        sizes[own] = 20
        counts = draw_counts(theta, theta_star, sizes, 0.0, 3, seed)
        assert counts[own, min(order[:2])] == 20, (theta, theta_star)


def test_rivals_that_tie_share_no_clients():
    """The own model is nearest for most clients, and two opposite rivals tie behind it."""
    u1, u2 = np.array([0.25, 1.125, -0.5]), np.array([3.375, -0.625, 2.875])
    theta_star = np.array([[0.125, 0.5, 0.75], [90.0, 0.0, 0.0], [0.0, 90.0, 0.0]])
    theta = theta_star[0] + np.array([u1, u2, -u2])
    counts = draw_counts(theta, theta_star, [40_000, 1, 1], 0.0, 5, 5)
    chance = math.exp(
        float(pw.log_misidentification_probability(u1 @ u1, u1 @ u2, u2 @ u2, 0.0, 5))
    )
    assert 2.0 * chance < 0.5  # the clients are not drawn one by one
    assert counts[0, 2] == 0
    assert stats.binomtest(int(counts[0, 1]), 40_000, chance).pvalue > LEVEL


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_without_noise_a_model_nearer_on_the_same_line_takes_every_client(side):
    """The losses differ by the factor (1 + e)^2 for all data, down to e of about 1e-13."""
    rng = np.random.default_rng(3)
    for e in np.logspace(-13.0, -3.0, 40):
        v = rng.standard_normal(3)
        theta = np.array([v * (1.0 + e), side * v, 50.0 * v + 7.0])
        theta_star = np.array([[0.0] * 3, [900.0] * 3, 50.0 * v + 7.0])
        counts = draw_counts(theta, theta_star, [50, 1, 1], 0.0, 3, 1)
        assert counts[0].tolist() == [0, 50, 0]


def test_clients_that_join_a_model_are_not_shared_with_its_opposite():
    """Model 0 ties with model 2, and the smaller index is taken: no other model is near."""
    u, v = np.array([1.375, -0.625, 0.875]), np.array([0.25, 1.125, -0.5])
    theta_star = np.array([[90.0, 0.0, 0.0], [0.125, 0.5, 0.75], [0.0, 90.0, 0.0]])
    theta = theta_star[1] + np.array([u, v, -u])
    sizes, counts = np.array([1, 20_000, 1]), np.zeros((3, 3), np.int64)
    rng = np.random.default_rng(5)
    assert wishart.count_joining(theta, theta_star, sizes, 0.0, 3, CAP, rng, counts)
    chance = math.exp(float(pw.log_misidentification_probability(v @ v, u @ v, u @ u, 0.0, 3)))
    assert stats.binomtest(int(counts[1, 0]), 20_000, chance).pvalue > LEVEL


def test_opposite_models_in_rounded_coordinates_keep_every_client():
    """Their losses tie up to rounding, which other sums may see in other ways."""
    rng = np.random.default_rng(7)
    for _ in range(300):
        theta_star = rng.standard_normal((4, 3))
        u = rng.standard_normal(3) * 10.0 ** rng.integers(-3, 2)
        order = rng.permutation(4)
        theta = theta_star[order[3]] + rng.standard_normal((4, 3))
        theta[order[0]], theta[order[1]] = theta_star[order[3]] + u, theta_star[order[3]] - u
        counts = draw_counts(theta, theta_star, [9, 9, 9, 9], 0.0, 3, 1)
        assert counts.min() >= 0
        assert counts.sum(axis=1).tolist() == [9] * 4
