"""The searches behind IFCA's deterministic claims find planted variants, not the true ones."""

import math
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

from bounds.ifca import symbols
from bounds.ifca.correct_clients import EQ_2, EQ_3
from bounds.ifca.identity import EQ_16, LEMMA_1
from bounds.statement import Term
from verify.claims.ifca import correct_clients, identity, labels
from verify.decisions.search import Choice
from verify.evidence import Verdict
from verify.papers import catalogue
from verify.procedures.base import Presentation, Profile
from verify.procedures.search import Search

PROFILE = Profile(name="test", max_trials=256, searches=600)
SEARCHES = {
    name: claim for name, claim in catalogue().items() if isinstance(claim.build(PROFILE), Search)
}


def nothing(_result):
    return Presentation()


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_finds_what_the_catalogue_expects(name):
    claim = SEARCHES[name]
    search = replace(claim.build(PROFILE), present=nothing)
    evidence = search.decide(None, 0.05)
    assert evidence.verdict is claim.expected
    if evidence.verdict is Verdict.REFUTED:
        assert evidence.witness.observed > evidence.witness.bound
        assert search.violation(evidence.witness.params) > 0


def lemma_1_with(term, rate):
    statement = replace(LEMMA_1, terms=(Term(name="tail", expr=term),))
    return labels.pairwise_search(statement, PROFILE, {"c_1": 1.0, "c_2": rate})


def lower_tail_with(rate):
    return identity.eq_16.builder(EQ_16, PROFILE, rate)


def eq_2_with(shrink):
    """The triangle inequality with its fluctuation term shrunk."""
    terms = tuple(
        Term(name=t.name, expr=t.expr * shrink if t.name == "fluctuation" else t.expr)
        for t in EQ_2.terms
    )
    search = correct_clients.eq_2.builder(replace(EQ_2, terms=terms), PROFILE)
    return replace(search, recheck=None)


ALPHA_ONCE = symbols.c_1 * sp.exp(
    -symbols.c_2 * symbols.alpha * (symbols.rho / (symbols.rho + 1)) ** 2 * symbols.n
)
WITHOUT_NOISE = symbols.c_1 * sp.exp(-symbols.c_2 * symbols.alpha**2 * symbols.n)
PLANTED = {
    "Lemma 1, rate times 40": lambda: lemma_1_with(LEMMA_1.expr, 40 * labels.LEMMA_1_RATE),
    # false in a corner of ten dimensions only
    "Lemma 1, alpha to the first power": lambda: lemma_1_with(ALPHA_ONCE, labels.LEMMA_1_RATE),
    "Lemma 1, no signal-to-noise ratio": lambda: lemma_1_with(WITHOUT_NOISE, labels.LEMMA_1_RATE),
    "(16), rate times 10": lambda: lower_tail_with(2.5),
    "(3), c = 1": lambda: correct_clients.eq_3.builder(EQ_3, PROFILE, 1.0),
    "(3), c = 0.15": lambda: correct_clients.eq_3.builder(
        EQ_3, PROFILE, 0.15
    ),  # the exact exponent is log 2 - H(1/4) = 0.131
    "(2), fluctuation halved": lambda: eq_2_with(sp.Rational(1, 2)),
}
TRUE = {
    "Lemma 1": lambda: lemma_1_with(LEMMA_1.expr, labels.LEMMA_1_RATE),
    "(16)": lambda: lower_tail_with(0.25),
    "(3), c = 0.13": lambda: correct_clients.eq_3.builder(EQ_3, PROFILE, 0.13),
    "(2)": lambda: eq_2_with(1),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_variant_is_found(name):
    evidence = PLANTED[name]().decide(None, 0.05)
    assert evidence.verdict is Verdict.REFUTED
    assert evidence.witness is not None


@pytest.mark.parametrize("name", TRUE)
def test_its_true_sibling_is_not(name):
    assert TRUE[name]().decide(None, 0.05).verdict is Verdict.SUPPORTED


def random_points(domain, n, seed):
    rng = np.random.default_rng(seed)
    return [{name: r.at(rng.random()) for name, r in domain.items()} for _ in range(n)]


def test_pairs_of_models_fill_their_balls_and_stay_inside():
    reached = []
    for point in random_points({**labels.PAIR_DOMAIN, "edge": Choice((False,))}, 300, 1):
        u_a, u_b = labels.pair_vectors(point)
        radius = 0.5 - point["alpha"]
        rival = u_b - np.array([point["t"], 0, 0])  # optimum b is t >= 1 away on the first axis
        assert np.linalg.norm(u_a) <= radius * (1 + 1e-12)
        assert np.linalg.norm(rival) <= radius * (1 + 1e-12)
        reached.append(max(np.linalg.norm(u_a), np.linalg.norm(rival)) / radius)
    assert max(reached) > 0.99


def test_the_high_precision_form_of_the_pairwise_law_is_the_same_function():
    for point in random_points(labels.PAIR_DOMAIN, 20, 2):
        small = {**point, "n": point["n"] % 500 + 1}
        exact_log = float(labels.pair_log_probability_mp(small))
        assert labels.pair_log_probability(small) == pytest.approx(exact_log, rel=1e-7, abs=1e-9)


@pytest.mark.statistical
def test_the_pairwise_probability_of_a_point_is_that_of_drawn_data():
    rng = np.random.default_rng(3)
    point = {"alpha": 0.1, "rho": 4.0, "n": 6, "s_a": 1.0, "s_b": 0.7, "phi_a": 1.2, "phi_b": 2.0}
    point |= {"psi": 0.5, "t": 1.3}
    u_a, u_b = labels.pair_vectors(point)
    x = rng.standard_normal((40_000, 6, 3))
    noise = 0.5 * rng.standard_normal((40_000, 6))  # rho = 4 at Delta = 1
    losses = [np.sum((x @ u - noise) ** 2, axis=1) for u in (u_a, u_b)]
    p = math.exp(labels.pair_log_probability(point))
    rate = float(np.mean(losses[1] < losses[0]))
    # 4.9 standard errors: false-alarm probability 1e-6
    assert abs(rate - p) < 4.9 * math.sqrt(p * (1 - p) / 40_000)


def test_every_rival_is_counted_and_more_samples_confuse_less():
    point = {"alpha": 0.2, "rho": 4.0, "n": 30, "k": 5, "lean": 0.3, "seed": 11}
    for into in (False, True):
        assert labels.rival_log_probabilities(point, into).shape == (4,)
    few = labels.rival_log_probabilities(point, into=True)
    many = labels.rival_log_probabilities({**point, "n": 300}, into=True)
    assert np.all(many < few)
    assert np.all(few < 0)


def test_constants_are_exhibited_and_described_before_the_search():
    for name in ("ifca.lemma1", "ifca.eq16", "ifca.eq3", "ifca.lemma2-noise", "ifca.eq10"):
        search = catalogue()[name].build(PROFILE)
        assert search.constants
        statement = catalogue()[name].statement
        for constant, value in search.constants.items():
            box = statement.constant(constant)
            assert box.low <= value <= box.high
        assert "exhibited before the search" in search.describe()
