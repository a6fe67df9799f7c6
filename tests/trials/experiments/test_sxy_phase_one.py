"""The experiments on Phase 1: units, exact cases, and runs that arrive where the law says."""

import numpy as np
import pytest
from scipy import stats

from trials.checks import InvalidParameter
from trials.experiments.sxy import chosen_start, iteration, moments
from trials.experiments.sxy.descents import DESCENT, N_ROUNDS
from trials.experiments.sxy.iteration import CROSSING, PROJECTION, _crossings, lengths
from trials.experiments.sxy.moments import ANCHOR, ROUND


def table(experiment, n_trials=4, seed=0, **cell):
    rows = experiment.simulate(experiment.check(cell), np.random.default_rng(seed), n_trials)
    return {name: rows[:, i] for i, name in enumerate(experiment.columns)}


@pytest.mark.parametrize(
    ("experiment", "cell"),
    [(ROUND, {"m": 50, "l": 10, "d": 3}), (ANCHOR, {"k": 3, "l": 20}), (DESCENT, {"m": 200})],
)
def test_the_unit_of_the_models_does_not_matter(experiment, cell):
    one = table(experiment, **cell)
    for unit in (1e-6, 1e6):
        other = table(experiment, unit=unit, **cell)
        for name in experiment.columns:
            assert np.allclose(one[name], other[name], rtol=1e-6, atol=1e-9), name


@pytest.mark.parametrize(
    "cell",
    [
        {"d": 6, "k": 2, "m": 40, "short": 0.5, "p": 0.3},
        {"d": 30, "k": 2, "m": 7, "short": 0.7},  # fewer clients than dimensions: Bartlett's factor
        {"d": 9, "k": 3, "m": 14, "short": 0.5},  # between the two: rows of both halves
        {"d": 3, "k": 3, "m": 20, "short": 0.6, "sigma": 0.2},  # no dimension beyond the errors
        {"d": 4, "k": 1, "m": 12, "sigma": 0.0},  # the residual is the direction's first number
        {"d": 4, "k": 2, "m": 12, "p": 0.1, "sigma": 0.0},
    ],
)
def test_a_round_in_few_coordinates_has_the_law_of_one_in_all(cell):
    """Six columns in six cells, each at 2.5e-8: false alarms 1e-6."""
    params = ROUND.check({"l": 5, **cell})
    shares, tables = moments.shares_of(params), []
    for seed, draw in enumerate((moments.draw_round, moments.draw_isotropic_round)):
        rng = np.random.default_rng(seed)
        rounds = [draw(params, rng) for _ in range(1500)]
        bases, deviations = moments._subspaces(rounds, shares, rng)
        u, spectra = (np.array([each[place][-1] for each in rounds]) for place in (0, 1))
        steps = moments._anchor_steps(u, spectra, bases, params, rng)
        kept = [
            ((each.v @ basis) ** 2).sum(axis=1) for each, basis in zip(rounds, bases, strict=True)
        ]
        traces = [float((each.matrix**2).sum()) for each in rounds]
        columns = np.column_stack([deviations, steps, np.array(kept)[:, [0, -1]], traces])
        tables.append(columns.round(9))  # with k = d all is kept
    for of_all, of_few in zip(tables[0].T, tables[1].T, strict=True):
        assert stats.ks_2samp(of_all, of_few).pvalue > 2.5e-8


@pytest.mark.parametrize(
    "cell", [{"k": 1, "l": 4}, {"k": 3, "l": 4, "outside": 0.7, "sigma": 0.3}, {"k": 5, "l": 30}]
)
def test_pairs_from_half_of_the_numbers_have_the_law_of_all(cell, monkeypatch):
    """Three numbers in three cells, each at 1e-7: false alarms 1e-6."""
    few = table(ANCHOR, 1500, seed=1, **cell)
    monkeypatch.setattr(moments, "draw_gaussian_pairs", moments.draw_pairs)
    full = table(ANCHOR, 1500, seed=2, **cell)
    for name in ("deviation", "kept"):
        assert stats.ks_2samp(few[name].round(9), full[name].round(9)).pvalue > 1e-7, name
    right = [int(each["right_sign"].sum()) for each in (few, full)]
    counts = [right, [1500 - n for n in right]]
    assert stats.fisher_exact(counts).pvalue > 1e-7


def assert_mean(values, expected):
    """A mean within six standard errors."""
    error = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values) - expected) < 6 * error, (np.mean(values), expected, error)


def test_the_entries_of_a_rounds_matrix_have_the_second_moments_of_gaussian_clients():
    """E (r x_a)^2 = tau^2 + 2 |u_j|^2 where u_j is along a, and tau^2 elsewhere (Isserlis)."""
    params = ROUND.check({"d": 31, "k": 2, "m": 1000, "short": 0.5, "p": 0.3, "sigma": 0.7})
    rng = np.random.default_rng(4)
    drawn = np.array([moments.draw_isotropic_round(params, rng).matrix for _ in range(1000)])
    lengths, shares = np.array([1.0, 0.5]), np.array([0.7, 0.3])
    spreads = lengths**2 + 0.49
    for a in range(2):
        expected = shares @ (spreads * (spreads + 2 * lengths**2 * (np.arange(2) == a))) / 1000
        assert_mean((drawn[:, a, 2:] ** 2).mean(axis=1), expected)
        assert_mean((drawn[:, 2:, a] ** 2).mean(axis=1), expected)
    assert_mean((drawn[:, 2:, 2:] ** 2).mean(axis=(1, 2)), shares @ spreads**2 / 1000)


def test_few_clients_have_the_products_of_gaussian_rows_in_all_dimensions(monkeypatch):
    """Rows of b normal numbers: products of two have the variance b, and squares b(b + 2)."""
    seen = []

    def keep(_u, _spectra, x, params, _rng):
        beyond = x[:, :, params["k"] :]
        seen.append(beyond @ beyond.transpose(0, 2, 1))

    monkeypatch.setattr(moments, "_clients", keep)
    params = ROUND.check({"d": 9, "k": 2, "m": 3})
    rng, b = np.random.default_rng(6), 7
    for _ in range(1000):
        moments.draw_isotropic_round(params, rng)
    grams = np.array(seen)
    for i in range(3):
        assert_mean(grams[:, :, i, i].mean(axis=1), b)
        assert_mean((grams[:, :, i, i] ** 2).mean(axis=1), b * (b + 2))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert_mean(grams[:, :, i, j].mean(axis=1), 0.0)
        assert_mean((grams[:, :, i, j] ** 2).mean(axis=1), b)


def test_the_entries_of_an_anchors_matrix_have_the_second_moments_of_gaussian_pairs():
    params = ANCHOR.check({"k": 30, "l": 200, "sigma": 0.6, "outside": 0.8})  # tau^2 = 2
    rng = np.random.default_rng(5)
    drawn = [moments.draw_gaussian_pairs(params, rng) for _ in range(600)]
    matrices = np.array([each.moments for each in drawn])
    pulls = np.array([each.pull for each in drawn])
    for entries in (matrices[:, 0, 1:], matrices[:, 1:, 0]):
        assert_mean((entries**2).mean(axis=1), 2 * 4 / 200)
    assert_mean((matrices[:, 1:, 1:] ** 2).mean(axis=(1, 2)), 4 / 200)
    assert_mean(pulls[:, 0], 400.0)
    assert_mean((pulls[:, 0] - 400.0) ** 2, 400 * 3.0)  # E a^2 x^2 - 1 = tau^2 + 1
    assert_mean((pulls[:, 1:] ** 2).mean(axis=1), 400 * 2.0)


def test_a_formed_moment_matrix_gives_what_its_rows_give(monkeypatch):
    """The subspaces by the singular vectors, the norms by another algorithm on the rows."""
    params = ROUND.check({"d": 12, "k": 3, "m": 90, "short": 0.5, "p": 0.2, "condition": 0.3})
    shares = moments.shares_of(params)
    formed = [moments.draw_round(params, np.random.default_rng(seed)) for seed in range(4)]
    monkeypatch.setattr(moments, "LARGEST_FORMED", 1)
    kept = [moments.draw_round(params, np.random.default_rng(seed)) for seed in range(4)]
    assert kept[0].matrix is None
    assert formed[0].rows is None
    for each, other in zip(formed, kept, strict=True):
        (first, second), weights = other.rows
        slow = np.einsum("p,pa,pb->ab", weights, first, second) / 90
        np.testing.assert_allclose(each.matrix, slow, rtol=1e-12, atol=1e-14)
    one, two = (moments._subspaces(r, shares, np.random.default_rng(5)) for r in (formed, kept))
    np.testing.assert_allclose(one[1], two[1], rtol=1e-9)
    for of_matrix, of_rows in zip(one[0], two[0], strict=True):
        np.testing.assert_allclose(of_matrix @ of_matrix.T, of_rows @ of_rows.T, atol=1e-9)


def test_signs_without_noise_in_one_dimension_have_no_deviation():
    found = table(ROUND, d=1, k=1, m=3, l=2, sigma=0.0, features="rademacher")
    assert np.allclose(found["deviation"], 0.0, atol=1e-12)
    assert np.allclose(found["length_error"], 0.0, atol=1e-12)
    assert np.allclose(found["after"], 0.25)  # the step halves the residual
    assert np.allclose(found["kept"], 1.0)


def test_an_anchor_with_many_pairs_finds_its_residual():
    found = table(ANCHOR, k=2, l=200_000, sigma=0.1)
    assert found["deviation"].max() < 0.05
    assert found["kept"].min() > 0.99
    assert found["right_sign"].all()


def test_more_half_steps_than_the_crossing_arrive_and_fewer_do_not():
    cell = {"d": 200, "k": 3}
    crossing = table(CROSSING, n_trials=64, **cell)["crossing"]
    assert np.isfinite(crossing).all()
    late = 2 * int(np.ceil(crossing.max() / 2))
    assert table(PROJECTION, n_trials=64, half_steps=late, **cell)["projection"].max() <= 3.0
    assert table(PROJECTION, n_trials=64, half_steps=0, **cell)["projection"].min() > 3.0


def test_noiseless_descent_halves_the_error_each_round():
    found = table(DESCENT, d=1, m=400, l=4000, sigma=0.0, epsilon=0.0, start="zero")
    errors = np.column_stack([found[f"err_{t}"] for t in range(N_ROUNDS + 1)])
    # sigma_hat^2 is a mean of 4,000 products with relative variance 8: five errors are 0.22
    assert np.all(np.abs(errors[:, 1] / errors[:, 0] - 0.5) < 0.07)


def test_the_kept_share_of_a_start_is_that_of_the_matrix_of_all_clients():
    rng = np.random.default_rng(5)
    x, noise = rng.standard_normal((2, 30, 6)), rng.standard_normal((2, 30))
    errors, z = rng.standard_normal((2, 6)), rng.integers(0, 2, 30)
    moments = np.zeros((6, 6))
    for i in range(30):
        first, second = (x[row, i] @ errors[z[i]] + noise[row, i] for row in (0, 1))
        moments += np.outer(first * x[0, i], second * x[1, i]) / 30
    left = np.linalg.svd(moments)[0][:, :2]
    shares = [np.sum((left.T @ u) ** 2) / (u @ u) for u in errors]
    assert chosen_start._find_kept_share(x, noise, errors, z) == pytest.approx(
        min(shares), rel=1e-9
    )


def test_a_start_that_the_data_choose_hides_the_residual():
    """At d = 100 and m = 10 d, in each of ten rounds (the shares are near .64 and .37)."""
    cell = chosen_start.CHOSEN_START.check({"d": 100, "m": 1000})
    for seed in range(10):
        drawn, chosen = chosen_start._round(cell, np.random.default_rng(seed))
        assert drawn - chosen > 0.1


@pytest.mark.parametrize("experiment", [PROJECTION, CROSSING])
def test_a_block_that_does_not_fit_into_memory_is_drawn_in_groups(experiment, monkeypatch):
    """k = 4 and room for 100 numbers: groups of 6, 6 and 3 trials from one stream."""
    cell = experiment.check({"d": 10**6, "k": 4})
    rng = np.random.default_rng(3)
    parts = [experiment.simulate(cell, rng, n) for n in (6, 6, 3)]
    monkeypatch.setattr(iteration, "MAX_DRAWN", 100)
    whole = experiment.simulate(cell, np.random.default_rng(3), 15)
    assert np.array_equal(whole, np.concatenate(parts))


def test_a_cell_whose_one_trial_does_not_fit_into_memory_is_refused():
    assert PROJECTION.check({"d": 10**4, "k": 3162})["k"] == 3162
    with pytest.raises(InvalidParameter, match="k=3163"):
        PROJECTION.check({"d": 10**4, "k": 3163})


def test_a_trial_that_never_crosses_leaves_the_crossings_of_the_others_alone():
    """Errors c exp(-r t).  Before, such a trial ended the search of its whole block: a start that
    is good had the crossing 1 and not 0, and the others that of their first bracket.
    """
    c = np.array([2.0, 30.0, 3e3, 4.0, 3.5, 3e9])
    r = np.array([0.0, 0.7, 0.01, 0.0, 5.0, 0.0203])
    with np.errstate(divide="ignore"):
        exact = np.where(c <= 3.0, 0.0, 2.0 * np.log(c / 3.0) / r)
    found = _crossings(lambda t: c * np.exp(-r * t), 6)
    assert exact[3] == np.inf
    np.testing.assert_allclose(found, exact, rtol=1e-6)
    one = [_crossings(lambda t, i=i: c[i] * np.exp(-r[i] * t), 1)[0] for i in range(6)]
    np.testing.assert_array_equal(found, one)


@pytest.mark.parametrize(
    ("family", "expected"),
    [("ladder", [16.0, 8.0, 4.0, 2.0]), ("cliff", [16.0, 2, 2, 2]), ("equal", [16.0] * 4)],
)
def test_the_lengths_of_a_family(family, expected):
    cell = {"k": 4, "d": 9, "top": 16.0, "low": 2.0, "family": family}
    np.testing.assert_allclose(lengths(cell), expected, rtol=1e-14)
    np.testing.assert_array_equal(lengths({**cell, "k": 1}), [16.0])
    # Before the first half step no error exceeds the longest length times the largest sine.
    table = PROJECTION.simulate(
        PROJECTION.check({**cell, "half_steps": 0}), np.random.default_rng(0), 40
    )
    assert (table[:, 1] > 0.0).all()
    assert (table[:, 1] <= 4.0 * np.sqrt(1.0 - table[:, 0] ** 2) * (1 + 1e-9)).all()


@pytest.mark.parametrize("start", ["zero", "model", "edge"])
def test_anchors_start_where_the_cell_says(start):
    """Two models on a line, half a unit from zero: all distances are known."""
    cell = {"k": 2, "d": 1, "m": 30, "l": 3, "anchors": 2, "start": start, "unit": 2.0}
    table = DESCENT.simulate(DESCENT.check(cell), np.random.default_rng(1), 12)
    first = table[:, DESCENT.columns.index("err_0")]
    if start == "zero":
        np.testing.assert_allclose(first, 0.5, rtol=1e-12)
    else:
        assert set(first.round(12)) == {0.0, 1.0}
