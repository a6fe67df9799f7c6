"""The searches behind IFCA's deterministic claims find planted variants, not the true ones."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
import sympy as sp

from bounds.ifca import symbols
from bounds.ifca.correct_clients import EQ_2, EQ_3
from bounds.ifca.identity import EQ_16, LEMMA_1
from bounds.statement import Term
from verify.claims.ifca import correct_clients, identity, labels
from verify.decisions.search import Choice, search_counterexample
from verify.evidence import Verdict
from verify.papers import catalogue
from verify.procedures.base import Profile

PROFILE = Profile(name="test", max_trials=256, searches=600)


def lemma_1_with(term, rate):
    statement = replace(LEMMA_1, terms=(Term(name="tail", expr=term),))
    return labels.pairwise(statement, PROFILE, constants={"c_1": 1.0, "c_2": rate})


def lower_tail_with(rate):
    return identity.chi_square(
        EQ_16, PROFILE, tail=identity._lower_tail, constants={"c_1": 1.0, "c_2": rate}
    )


def eq_2_with(shrink):
    """The triangle inequality with its fluctuation term shrunk."""
    terms = tuple(
        Term(name=t.name, expr=t.expr * shrink if t.name == "fluctuation" else t.expr)
        for t in EQ_2.terms
    )
    search = correct_clients.triangle(replace(EQ_2, terms=terms), PROFILE)
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
    "(3), c = 1": lambda: correct_clients.binomial(EQ_3, PROFILE, rate=1.0),
    "(3), c = 0.15": lambda: correct_clients.binomial(
        EQ_3, PROFILE, rate=0.15
    ),  # the exact exponent is log 2 - H(1/4) = 0.131
    "(2), fluctuation halved": lambda: eq_2_with(sp.Rational(1, 2)),
}
TRUE = {
    "Lemma 1": lambda: lemma_1_with(LEMMA_1.expr, labels.LEMMA_1_RATE),
    "(16)": lambda: lower_tail_with(0.25),
    "(3), c = 0.13": lambda: correct_clients.binomial(EQ_3, PROFILE, rate=0.13),
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


def drawn_label_errors(point, n_trials, seed):
    """The share of clients of cluster 0 that take a wrong label, from drawn residuals."""
    k, radius = point["k"], 0.5 - point["alpha"]
    optima = np.eye(k) / math.sqrt(2)
    towards = (optima - optima[0])[1:]  # unit vectors, 60 degrees apart
    axis = towards.sum(axis=0) / np.linalg.norm(towards.sum(axis=0))
    if point["start"] == "translation":
        axis = -towards[0]
    across = np.zeros(k + 1)
    across[k] = 1.0
    angle = {**labels.TILTS, "optimum": 0.0, "translation": 0.0}.get(point["start"], point["tilt"])
    own = math.cos(angle) * np.append(axis, 0.0) + math.sin(angle) * across
    own = own * (0.0 if point["start"] == "optimum" else radius)
    models = np.vstack([own, np.pad((1 - radius) * towards, ((0, 0), (0, 1)))])
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n_trials, point["n"], k + 1))
    noise = rng.standard_normal((n_trials, point["n"])) / math.sqrt(point["rho"])
    losses = np.sum((x @ models.T - noise[..., None]) ** 2, axis=1)
    return float(np.mean(losses.argmin(axis=1) != 0))


@pytest.mark.statistical
@pytest.mark.parametrize(
    "start", ["translation", "away", "orthogonal", "adversarial", "optimum", "tilted"]
)
@pytest.mark.parametrize("k", [2, 4])
def test_limits_on_a_wrong_label_enclose_the_share_in_drawn_data(start, k):
    point = {"alpha": 0.2, "rho": 4.0, "n": 25, "k": k, "start": start, "tilt": 2.0, "seed": 0}
    limits = labels.wrong_label(point)
    share = drawn_label_errors(point, 20_000, 7)
    lower, upper = math.exp(limits.lower), math.exp(limits.upper)
    # 4.9 standard errors: false-alarm probability 1e-6 for each of twelve
    room = 4.9 * math.sqrt(max(share, 1e-4) / 20_000)
    assert lower - room <= share <= upper + room
    assert lower <= upper
    if k == 2:
        assert limits.lower == pytest.approx(limits.upper)


def test_limits_on_a_wrong_label_meet_where_errors_are_rare():
    point = {"alpha": 0.1, "rho": 1.0, "n": 12_000, "k": 100, "start": "away"}
    limits = labels.wrong_label({**point, "tilt": 0.0, "seed": 0})
    assert limits.upper < -40
    assert limits.upper - limits.lower < 0.3
    moved_alike = labels.wrong_label({**point, "start": "translation", "tilt": 0.0, "seed": 0})
    assert moved_alike.lower > limits.upper, "one rival straight ahead is worse than all aside"


def test_random_rivals_are_all_counted_and_more_samples_confuse_less():
    point = {"alpha": 0.2, "rho": 4.0, "n": 30, "k": 5, "start": "random", "tilt": 0.0, "seed": 11}
    few, many = labels.wrong_label(point), labels.wrong_label({**point, "n": 300})
    assert few.lower < few.upper < few.lower + math.log(4)
    assert many.upper < few.lower


@pytest.mark.parametrize("log_each", [-200.0, -40.0, -3.0, -0.1])
def test_some_of_many_clients_has_the_event_with_one_minus_the_power(log_each):
    each = labels.Limits(lower=log_each, upper=log_each)
    some = labels.some_client(each, 50).lower
    with mpmath.workdps(50):
        exact = mpmath.log(-mpmath.expm1(50 * mpmath.log1p(-mpmath.exp(log_each))))
    assert some == pytest.approx(float(exact), rel=1e-9)


@pytest.mark.parametrize("name", ["ifca.lemma1-union", "ifca.half-correct", "ifca.poly-m"])
def test_limits_decide_every_point_of_a_true_statement(name):
    claim = catalogue()[name]
    search = claim.build(PROFILE)
    result = search_counterexample(
        search.violation, search.domain, 400, 0, constraints=search.constraints
    )
    assert result.n_undefined == 0


def test_a_point_that_the_limits_do_not_decide_is_noted():
    """Without the factor k the bound falls between the limits, where errors are not rare."""
    claim = catalogue()["ifca.lemma1-union"]
    without = claim.statement.terms[0].expr / symbols.k
    changed = replace(claim.statement, terms=(Term(name="tail", expr=without),))
    evidence = replace(claim, statement=changed).build(PROFILE).decide(None, 0.05)
    assert "neither support nor refute" in " ".join(evidence.notes)
    notes = claim.build(PROFILE).decide(None, 0.05).notes
    assert "neither support nor refute" not in " ".join(notes)


def test_constants_are_exhibited_and_described_before_the_search():
    for name in ("ifca.lemma1", "ifca.eq16", "ifca.eq3", "ifca.lemma2-noise", "ifca.eq10"):
        search = catalogue()[name].build(PROFILE)
        assert search.constants
        statement = catalogue()[name].statement
        for constant, value in search.constants.items():
            box = statement.constant(constant)
            assert box.low <= value <= box.high
        assert "exhibited before the search" in search.describe()
