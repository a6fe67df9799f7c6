"""Cells with a given share of wrong labels, against the law that finds the share by a root."""

import numpy as np
import pytest

from trials.experiments.ifca import strongly_convex
from trials.laws.spike import wrong_label
from verify.claims.ifca import ruling_cells
from verify.claims.ifca.ruling_cells import with_wrong


@pytest.mark.parametrize("wrong", [1e-9, 1e-4, 0.02, 0.3])
@pytest.mark.parametrize("k", [2, 3, 17])
@pytest.mark.parametrize("n", [1, 40, 10**6])
def test_the_deviation_of_a_probability_has_that_probability(wrong, k, n):
    cell = {"k": k, "d": k, "m": 10**5, "n": n, "eta": 1.0}
    found = strongly_convex.SC_STEP.check(with_wrong(cell, wrong))
    law = wrong_label(strongly_convex.gap(found), found["eta"], n, k)
    assert law == pytest.approx(wrong, rel=3e-3)  # four digits of eta, squared and a little more


def trials_of(cell, n_trials=1):
    """Column -> the values of trials of one step."""
    values = strongly_convex.SC_STEP.simulate(
        strongly_convex.SC_STEP.check(cell), np.random.default_rng(0), n_trials
    )
    return dict(zip(strongly_convex.SC_STEP.columns, values.T, strict=True))


@pytest.mark.parametrize("cell", list(ruling_cells.draw(6, 1)), ids=range(6))
def test_the_decrease_is_what_a_step_without_noise_takes_off_the_error(cell):
    """All labels are right with probability 1 - 1e-7."""
    found = trials_of({**ruling_cells.with_changes(cell, 1e-7), "v": 1e-12 * cell["L"]})
    assert found["right"][0] == pytest.approx(ruling_cells.own_share(cell) * cell["m"], rel=1e-15)
    assert found["strangers"][0] == 0
    taken = (found["before"] - found["after"])[0]
    assert taken == pytest.approx(ruling_cells.decrease(cell), rel=1e-6, abs=1e-13)


@pytest.mark.parametrize("cell", list(ruling_cells.draw(6, 1)), ids=range(6))
def test_strangers_and_lost_clients_are_as_many_as_asked_for(cell):
    """Means of the binomial law, at a tenth of a client and at three."""
    counts = strongly_convex.sizes(strongly_convex.SC_STEP.check(cell))
    own = counts[-1 if cell["cluster"] == "largest" else 0]
    for mean in (0.1, 3.0):
        for build, of in (
            (ruling_cells.with_strangers, lambda lost, strangers: strangers),
            (ruling_cells.with_changes, max),
        ):
            full = strongly_convex.SC_STEP.check(build(cell, mean))
            gap = strongly_convex.gap(full)
            wrong = wrong_label(gap, full["eta"], full["n"], full["k"])
            strangers = (cell["m"] - own) * wrong / (full["k"] - 1)
            assert of(own * wrong, strangers) == pytest.approx(mean, rel=3e-3)


@pytest.mark.parametrize("share", [0.3, 2.0])
def test_a_jump_of_the_noise_is_the_stated_share_of_the_decrease(share):
    """Two trials whose numbers of jumps differ by one lie one jump apart, along a line."""
    for cell in ruling_cells.noise_cells(4, 5, share=share):
        small = {**cell, "v": 1e-4 * cell["v"]}  # the model stays on its side of the optimum
        found = trials_of(small, 20_000)
        assert found["strangers"].max() == 0
        after = np.unique(np.round(found["after"] / ruling_cells.decrease(cell), 9))
        assert after.size >= 2
        assert np.diff(after)[0] == pytest.approx(1e-4 * share, rel=1e-3)


def times_as_often(mean, failure):
    """The power of the probability of no failure that a Poisson number with this mean is zero."""
    return mean / -np.log1p(-failure)


@pytest.mark.parametrize("failure", [1.0, 0.5])
def test_rare_events_come_a_fifth_more_often_than_allowed_and_seldom_in_every_fourth_cell(failure):
    """Seldom ones come .42 times as often, where the statement may fail once in ten times or more.

    Strangers that pull, and crowds, are never seldom.
    """
    some, all_often = [1.2, 1.2, 1.2, 0.42] * 2, [1.2] * 8
    parts = {
        pulled: ruling_cells.part_cells(8, 3, failure=failure, pulled=pulled)
        for pulled in (True, False)
    }
    for cells, share, expected in (
        (ruling_cells.noise_cells(8, 3, share=0.5), 1.0, some),
        (ruling_cells.crowd_cells(8, 3), 1.0, all_often),
        (parts[False], failure, some),
        (parts[True], failure, all_often),
    ):
        often = [times_as_often(cell["rare"], share * cell["delta"]) for cell in cells]
        np.testing.assert_allclose(often, expected, rtol=1e-12)
        seldom = [c["delta"] for c, power in zip(cells, expected, strict=True) if power < 1]
        assert all(delta >= 0.1 for delta in seldom)
    for cell in (*ruling_cells.stranger_cells(4, 3), *parts[True][:4]):
        full = strongly_convex.SC_STEP.check(cell)
        counts = strongly_convex.sizes(full)
        own = counts[-1 if cell["cluster"] == "largest" else 0]
        wrong = wrong_label(strongly_convex.gap(full), full["eta"], full["n"], full["k"])
        strangers, lost = (full["m"] - own) * wrong / (full["k"] - 1), own * wrong
        mean, share = (strangers, failure) if "rare" in cell else (max(strangers, lost), 1.0)
        assert times_as_often(mean, share * cell["delta"]) == pytest.approx(1.2, rel=3e-3)


def test_a_stranger_of_many_rivals_pulls_further_than_a_bound_that_falls_with_k_or_the_root_of_d():
    """The pull of Theorem 2 with c1 = 48 against one stranger, at the optimum of the other cluster.

    X = eta^2/(Delta^4 alpha^2 lambda^2 n) is below delta/m, and it comes in 15 % of all steps.
    """
    factors = (64.0, 1_000**0.5, 1_000.0)
    for cell, factor in zip(ruling_cells.many_rivals(), factors, strict=True):
        full = strongly_convex.SC_STEP.check(cell)
        assert factor in (full["k"], full["d"] ** 0.5)
        X = full["eta"] ** 2 / (full["Delta"] ** 4 * full["alpha"] ** 2 * full["n"])
        one = full["Delta"] / full["m"]  # lambda = L = 1
        assert 48 * X / full["delta"] / factor < one < 48 * X / full["delta"]
        counts = strongly_convex.sizes(full)
        wrong = wrong_label(strongly_convex.gap(full), full["eta"], full["n"], full["k"])
        strangers = (full["m"] - counts[0]) * wrong / (full["k"] - 1)
        assert 1 - np.exp(-strangers) > 1.5 * full["delta"]
        found = trials_of(cell, 64)
        came = found["strangers"] == 1
        assert 0 < came.sum() < 64
        assert found["after"][came] == pytest.approx(one, rel=1e-3)


def part_of_strangers(full):
    """The two terms of ifca.eq32-sharp for 1 - p_j = 1 - 1/k, lambda = L = 1 and theta_max."""
    X = full["eta"] ** 2 / (full["Delta"] ** 4 * full["alpha"] ** 2 * full["n"])
    others = 1 - 1 / full["k"]
    longest = full["Delta"] * np.sqrt((full["k"] - 1) / (2 * full["k"]))
    noise = full["v"] * np.sqrt(8 * X * others / (full["delta"] * full["m"] * full["n"]))
    return 24 * longest * X * others / full["delta"], noise


def test_one_of_a_thousand_rivals_pulls_further_than_the_sharp_pull_over_the_root_of_k():
    """A stranger stands at its own optimum, Delta from the model, and is one of m clients."""
    full = strongly_convex.SC_STEP.check(ruling_cells.many_rivals()[-1])
    assert full["k"] == 1_000
    pull, noise = part_of_strangers(full)
    one = full["Delta"] / full["m"]
    assert noise < 1e-6 * pull
    assert pull / np.sqrt(1_000) < one < pull / (1 + np.log(1_000))


def test_a_jump_of_64_clusters_exceeds_the_sharp_fluctuation_over_the_root_or_logarithm_of_k():
    """The first jump is the deviation over sqrt(rare), less the mean of all jumps."""
    full = strongly_convex.SC_STEP.check(ruling_cells.many_jumps())
    pull, noise = part_of_strangers(full)
    assert pull < 1e-4 * noise
    counts = strongly_convex.sizes(full)
    wrong = wrong_label(strongly_convex.gap(full), full["eta"], full["n"], full["k"])
    strangers = (full["m"] - counts[0]) * wrong / (full["k"] - 1)
    deviation = full["v"] * np.sqrt(strangers / full["n"]) / full["m"]
    jump = deviation * (1 / np.sqrt(full["rare"]) - np.sqrt(full["rare"]))
    assert 1.2 * noise / (1 + np.log(64)) < jump < noise
    assert 1 - np.exp(-full["rare"]) > 1.15 * full["delta"]


@pytest.mark.statistical
def test_the_noise_of_half_of_all_clients_exceeds_a_floor_over_the_number_of_clusters():
    """c0 = 8, and p = 1/1998.  The squared noise has a mean of p_j v^2/(m n) in 1,000 dimensions.

    Its deviation is the share sqrt(2/1000) of it, so that a tenth is more than two deviations, and
    the mean of 64 trials lies within a twentieth of one with probability 1 - 1e-15.
    """
    full = strongly_convex.SC_STEP.check(ruling_cells.half_of_all())
    unit = full["v"] / np.sqrt(full["m"] * full["n"])
    floor = 8 * unit / full["delta"] * np.sqrt(1_998)
    after = trials_of(full, 64)["after"]
    assert np.mean(after**2) == pytest.approx(unit**2 / 2, rel=0.05)
    assert floor / 1_000 < after.min()
    assert after.max() < floor / np.sqrt(1_000)
