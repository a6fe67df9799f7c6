"""Computed limits of probabilities hold, and leave no verdict to the number of trials."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy import optimize, special

from trials.laws.random_subspace import random_tangents, smallest_cosines
from verify.claims.sxy import PAPER, moments, subsets
from verify.claims.sxy.refinement import FLOOR_SHARP, MANY_FEATURES, RATE, SHARP_CONSTANTS
from verify.claims.sxy.subspace import log_small_cosine_limit
from verify.decisions.sequences import resolvable
from verify.evidence import Verdict
from verify.procedures.base import PROFILES
from verify.procedures.probability import Probability

#: Whole runs of Phase 1 with hidden constants.  No law of their failures is known.
BY_TRIALS_ALONE = {"sxy.thm1-4-data"}


@pytest.mark.statistical
@pytest.mark.parametrize(("d", "k"), [(2, 1), (10, 1), (10, 3), (10, 9), (1000, 4)])
def test_small_cosines_are_at_most_as_likely_as_their_limit(d, k):
    """40,000 draws.  Four standard errors fail once in 30,000 runs, and the limit is no more than
    ten times too large.
    """
    n = 40_000
    tangents = random_tangents(d, k, np.random.default_rng(0), n)
    cosines = smallest_cosines(tangents)
    for c in (0.2 / math.sqrt(d * k), 0.05 / math.sqrt(d * k)):
        share, limit = (
            float(np.mean(cosines < c)),
            math.exp(log_small_cosine_limit(math.log(c), d, k)),
        )
        error = math.sqrt(max(share, 1.0 / n) / n)
        assert share - 4 * error <= limit
        assert limit <= 10 * (share + 4 * error)


def test_a_basis_of_the_whole_space_has_no_small_cosine():
    assert log_small_cosine_limit(-0.1, 5, 5) < -1e6
    assert log_small_cosine_limit(0.1, 5, 5) == 0.0


def test_the_limit_on_a_cosine_is_one_on_its_tangent():
    """A cosine of 5/13 beside the tangent 5/12, times the sum of the roots of d - k and of k."""
    assert math.exp(log_small_cosine_limit(math.log(5 / 13), 2, 1)) == pytest.approx(2 * 5 / 12)


def test_no_supported_probability_rests_on_the_number_of_trials():
    """Where trials do not resolve the stated probability, a computed limit does.

    A cell that a run at its start passes too is void: no support rests on it.
    """
    profile, open_claims = PROFILES["standard"], set()
    for claim in PAPER.claims:
        procedure = None if claim.not_run_at("standard") else claim.build(profile)
        if not isinstance(procedure, Probability) or claim.expected is not Verdict.SUPPORTED:
            continue
        resolution = math.log(resolvable(procedure.sampling.max_trials, 3e-4))
        for cell in procedure.cells:
            if MANY_FEATURES.items() <= cell.items():
                continue
            stated = procedure._log_delta(cell)
            if stated < resolution and not procedure._log_limit(cell) <= stated:
                open_claims.add(procedure.name)
    assert open_claims == BY_TRIALS_ALONE


@pytest.mark.parametrize(("cell", "total"), [(0, 1000), (1, 1000), (2, 5000), (3, 2000), (5, 200)])
def test_sets_of_rows_are_counted_from_above_and_not_twice_too_many(cell, total):
    """(N/q)^q <= binomial(N, q) <= (eN/q)^q, q = N nu."""
    params = subsets.CELLS[cell]
    log_sets, rows = subsets._log_sets(params)
    assert rows == round(total * params["nu"])
    log_binomial = math.lgamma(total + 1) - math.lgamma(rows + 1) - math.lgamma(total - rows + 1)
    assert log_binomial <= log_sets <= log_binomial + rows + 1e-9


def test_the_limits_for_some_few_clients_are_union_bounds_with_the_tail_of_one_set():
    """Cell 3: 100 clients with 20 rows, d = 20, nu = 1/2, sigma = 100; 1000 rows of 2000."""
    params = subsets.CELLS[3]
    sets = 1000 * math.log(2 * math.e)
    for bound in (7e3, 1.5e4, 3.5e4):  # with 1400, 3000 and 7000 for a mean of 1000
        half = mpmath.mpf(bound * 2000 / 100.0**2) / 2
        tail = float(mpmath.log(mpmath.gammainc(500, half, mpmath.inf, regularized=True)))
        assert subsets._log_noise(params, bound) == pytest.approx(sets + tail, rel=1e-9)
    assert tail < -745 < sets + tail + 2000  # the tail alone is below the smallest float
    excess = math.sqrt(20.0 * 2000) - math.sqrt(1000) - math.sqrt(20)
    assert subsets._log_features(params, 20.0) == pytest.approx(sets - excess**2 / 2)
    assert subsets._log_features(params, 0.1) == pytest.approx(sets)  # below the mean: no tail


def test_a_direction_is_searched_wherever_there_is_more_than_one():
    """With one feature sorting is exact.  Every other cell has a search, from two features on."""
    claim = next(c for c in PAPER.claims if c.id == "sxy.lemma11-phi-searched")
    searched = [dict(cell) for cell in claim.build(PROFILES["quick"]).cells]
    assert searched == [cell for cell in map(dict, subsets.CELLS) if cell["d"] != 1]
    assert min(cell["d"] for cell in searched) == 2


def test_the_largest_of_many_products_exceeds_the_slack_of_lemma_3_hardly_ever():
    """64 products of two Gaussian variables, whose density is K_0 over pi, by quadrature."""
    from scipy import integrate  # it takes long to load, and only this test needs it

    def exceeds(x):
        tail = 2 / math.pi * integrate.quad(special.k0, x, math.inf)[0]
        return -math.expm1(64 * math.log1p(-tail))

    fitted = optimize.brentq(lambda x: exceeds(x) - 0.27, 1.0, 20.0)
    assert fitted == pytest.approx(4.25, abs=0.01)
    assert exceeds(moments.SLACK * fitted) == pytest.approx(4.0e-5, rel=0.05)
    assert exceeds(moments.SLACK_OF_PRODUCTS * fitted) < 1e-6


@pytest.mark.parametrize("M", [2, 4, 60, 10**6])
@pytest.mark.parametrize("k", [2, 4, 40])
@pytest.mark.parametrize("d", [1, 2, 10, 10**4])
def test_no_label_is_wrong_with_as_few_rows_and_as_much_noise_as_the_sharp_floor_allows(d, k, M):
    """The reading's three norms leave a gap between the losses, wherever a run can be.

    A client keeps its label where the residuals of its own and of a rival model, as long as the
    errors of the models and the noise allow, are together shorter than the distance of the optima.
    """
    constants = {c.name: SHARP_CONSTANTS[c.name] for c in FLOOR_SHARP.constants}
    at = {"M": max(M, k), "k": k, "d": d, "Delta": 1.0, "epsilon": 0.1, **constants}
    conditions = {a.name: a for a in FLOOR_SHARP.assumptions}
    rows = conditions["rows of a client"]
    n = SHARP_CONSTANTS["C_n"] * rows.right.subs(at)
    sigma = float(conditions["noise"].left.subs(at))
    h = math.sqrt(2 * (d + math.log(4 * at["M"] * k)))
    roots = math.sqrt(n)
    # at the largest floor that is allowed the limit is half as long as the start's error
    ball = conditions["floor inside the ball"]
    assert ball.left.subs(at) == 0.1
    away = math.hypot(0.1, 0.1 / 2)
    residuals = 2 * (away * (roots + math.sqrt(d) + h) + sigma * (roots + h))
    assert residuals < roots - h


def test_models_that_know_a_clients_rows_mislabel_it_where_p_e_is_next_to_nothing():
    """Clients of d/100 Gaussian rows, no noise, and models within Delta/10 of their optima.

    The own model errs along the shortest vector whose predictions are those of the optima's
    difference, and the rival is moved towards the own optimum along it.
    """
    assert 4 * 2 * math.exp(-RATE * 1000) < 1e-15
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows = rng.standard_normal((20, 2000))
        apart = rows[:, 0]  # the optima are 0 and the first unit vector
        error = rows.T @ np.linalg.solve(rows @ rows.T, apart)
        error *= 0.1 / np.linalg.norm(error)
        rival = -error
        rival[0] += 1.0
        losses = [np.sum((rows @ model) ** 2) for model in (error, rival)]
        assert losses[0] > losses[1]
