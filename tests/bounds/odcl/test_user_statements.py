"""ODCL's statements about the users' estimates and about recovery, coded a second time.

Those about clustering are in `test_clustering_statements.py`.  Conditions and failure probabilities
of all statements are here.
"""

from math import e, exp, log, sqrt

import numpy as np
import pytest
import sympy as sp

from bounds.odcl import inexact, local_fits, recovery
from bounds.statement import Statement, evaluate
from tests.bounds.odcl import test_clustering_statements as clustering
from tests.stated import points, stated

STATEMENTS = {name.removeprefix("odcl."): s for name, s in stated("odcl").items()}
#: Their right-hand sides are coded here.
USERS = {
    value.id.removeprefix("odcl.")
    for module in (inexact, local_fits, recovery)
    for value in vars(module).values()
    if isinstance(value, Statement) and value.terms
}

# -- the paper's shorthands ------------------------------------------------------------------------


def two_over(delta):
    return log(2 / delta)


def capacity(v):
    """C(epsilon, delta) of Lemma 3."""
    return 2 * (two_over(v["delta"]) + v["d"] * log(6 * v["R"] / v["epsilon"]))


def excess_risk(v):
    """The display of Lemma 3."""
    size = v["L"] * capacity(v) / v["n"]
    return (
        16 * v["R"] ** 2 * size
        + 8 * v["R"] * v["N"] * two_over(v["delta"]) / v["n"]
        + 8 * v["L"] * v["F_star"] * two_over(v["delta"]) / (v["mu"] * v["n"])
        + (8 * v["R"] * v["L"] + v["G_F"] + 4 * v["R"] * size) * v["epsilon"]
    )


def big_m(v, radius, unit):
    """M_ik after (8).  ``radius`` is in the logarithm, ``unit`` is the unit of the mesh."""
    logarithm = log(2) + v["d"] * (log(6 * radius) + 3)
    last = 2 * v["G_F"] + 16 * v["R"] * v["L"] * (4 + logarithm)
    return (
        16 * v["L"] * v["F_star"] * (log(2) + 3) / v["mu"] ** 2
        + 64 * v["R"] ** 2 * v["L"] * (3 + logarithm) / v["mu"]
        + 16 * v["R"] * v["N"] * (log(2) + 3) / v["mu"]
        + unit * last / v["mu"]
    )


def printed_m(v):
    return big_m(v, v["R"], 1)


def corrected_m(v):
    return big_m(v, 1, v["R"])


def risk_rate(v, m):
    return m * log(v["n"]) / v["n"]


def theorem_1_requirement(v, m):
    return 16 * m * (v["alpha"] / v["Delta"]) ** 2


def not_recovered(v):
    """P(Psi^c): some user's estimate is far."""
    return 2 * v["m"] / v["n"] ** 3


def theorem_1_mse(v):
    mean_fit = lemma_4({**v, "rho": 0.5, "m": v["size_k"]})
    return mean_fit + (2 * v["R"]) ** 2 * not_recovered(v)


def beta(v):
    """beta_delta in the proof of Lemma 7."""
    return 12 * (v["Gamma"] / v["mu_f"]) ** 2 + steep(v) * (1 + log(1 / v["delta"]))


def steep(v):
    return 8 * v["Gamma"] * (121 * v["Gamma"] + 1)


def lemma_7(v):
    return beta(v) * log(log(v["T"])) / v["T"]


def hessian_rate(v):
    return (v["mu"] * v["rho"] / v["L"]) ** 2 / 8 / v["c_2"]


def gradient_rate(v, radius):
    return (v["mu"] * radius * (1 - v["rho"]) / v["N"]) ** 2 / 8 / v["c_1"]


def small(v, radius):
    return exp(-v["n"] * min(hessian_rate(v), gradient_rate(v, radius)))


def lemma_4(v):
    kept = 1 - v["rho"]
    curved = (v["H"] * v["N"] ** 2 / (v["mu"] ** 3 * kept**2)) ** 2
    bent = (v["L"] * v["N"] / (v["mu"] ** 2 * kept)) ** 2 * (1 + log(2 * v["d"]))
    radius = min(v["rho_k"], v["mu"] * v["rho"] / (2 * v["H"]))
    slow = min(
        (v["mu"] * v["rho"] / v["L"]) ** 2 / 32,
        (v["mu"] * kept * radius / v["N"]) ** 2 / 8,
    )
    worst = v["d"] * (16 * v["R"] ** 2 + 12 * (v["N"] / v["mu"] + 2 * v["R"]) ** 2)
    return (
        2 * (v["N"] / v["mu"]) ** 2 / (v["n"] * v["m"])
        + (48 * curved + 96 * bent) / v["n"] ** 2
        + (192 * curved + 314 * bent) / (v["m"] * v["n"] ** 2)
        + worst * exp(-v["n"] * slow)
    )


def lemma_4_one_dimension(v):
    noise = (v["N"] / v["mu"]) ** 2 / v["n"]
    return v["C_0"] * (noise / v["m"] + (v["R"] ** 2 + noise) * small(v, v["rho_k"]))


def lemma_13(v):
    order = max(v["order"], 2 * log(v["d"]))
    return sqrt(e * order) * v["spread"] + 2 * e * order * v["largest_norm"]


def lemma_13_as_printed(v):
    order = log(v["d"])
    return sqrt(2 * e * order) * v["spread"] + 2 * e * order * v["largest_norm"]


def room(v, share):
    """The squared room of Theorem 2 that is left after the inexactness."""
    return v["Delta"] ** 2 / (4 * v["alpha"] ** 2) - share * v["slack"]


BOUNDS = {
    "fig3-covariance-as-printed": lambda v: sqrt(v["variance_1"]) * sqrt(v["variance_2"]),
    "fig3-pool-as-printed": lambda v: v["pool"],
    "fig3-optimum": lambda v: v["ridge"] / v["curvature"] * v["length"] ** 2,
    "lemma5": lambda v: 4 / v["T"] * (v["Gamma"] / v["mu_f"]) ** 2,
    "lemma6-as-printed": lambda v: (
        12 * (v["Gamma"] / v["mu_f"]) ** 2 / v["t"]
        + steep(v) * log(log(v["t"]) / v["delta"]) / v["t"]
    ),
    "lemma6": lambda v: (
        (624 * log(log(v["t"]) / v["delta"]) + 1) * (v["Gamma"] / v["mu_f"]) ** 2 / v["t"]
    ),
    "lemma7-as-printed": lemma_7,
    "lemma7": lemma_7,
    "thm2-threshold": lambda v: v["Delta"] / sqrt(2),
    "thm2-threshold-room": lambda v: v["Delta"] / 2,
    "remark18-iterations-as-printed": lambda v: (
        (12 * (v["Gamma"] / v["mu_f"]) ** 2 + steep(v) * (1 + 3 * log(v["n"])))
        / v["varepsilon"] ** 2
    ),
    "thm2-mse": lambda v: v["C"] * v["varepsilon"],
    "remark16": lambda v: v["C"] / v["T"],
    "erm-rate": lambda v: v["d"] / v["n"],
    "lemma3-as-printed": excess_risk,
    "lemma3": excess_risk,
    "lemma11": lambda v: 2 * v["grad"] / ((1 - v["rho"]) * v["mu"]),
    "lemma11-curvature": lambda v: v["mu"] - v["rho"] * v["mu"],
    "p-tail": lambda v: 4 * v["d"] * small(v, v["rho_k"]),
    "lemma13-as-printed": lemma_13_as_printed,
    "lemma13": lemma_13,
    "eq25": lambda v: (v["mean_square"] + (v["m"] - 1) * v["squared_bias"]) / v["m"],
    "lemma4-d1-as-printed": lemma_4_one_dimension,
    "lemma4": lemma_4,
    "lemma4-rate": lambda v: 1 / v["n"] / v["m"],
    "lemma4-floor": lambda v: 1 / v["n"] ** 2,
    "lemma4-beta": lambda v: v["d"] * (16 * v["R"] ** 2 / (e * v["alpha"] * v["n"])) ** 2,
    "eq7": lambda v: 2 * v["largest"],
    "eq8-as-printed": lambda v: risk_rate(v, printed_m(v)),
    "eq8": lambda v: risk_rate(v, corrected_m(v)),
    "eq9-as-printed": lambda v: risk_rate(v, printed_m(v)),
    "eq9": lambda v: risk_rate(v, corrected_m(v)),
    "eq11": lambda v: v["Delta"] - 2 * v["gamma"],
    "psi-event": lambda v: v["Delta"] / 4,
    "psi-prob": not_recovered,
    "thm1-mse": theorem_1_mse,
    "thm1-rate": lambda v: 1 / v["n"] / v["size_k"],
    "averaging-factor": lambda v: v["d"] * v["sigma"] ** 2 / v["size_k"] / v["free"],
    # with log m, without which the failure probability of the theorem says nothing
    "thm1-threshold-km": lambda v: v["m"] / v["size_min"] / v["Delta"] ** 2 * np.log(v["m"]),
    "thm1-threshold-cc": lambda v: (v["m"] / v["size_min"] / v["Delta"]) ** 2 * np.log(v["m"]),
    "thm1-vacuity": lambda v: theorem_1_requirement(v, printed_m(v)),
    "fig5-phase-as-printed": lambda v: theorem_1_requirement(v, printed_m(v)),
    "remark14": lambda v: v["G_F"] + 2 * v["R"] * v["L"] + v["N"],
}

FAILURES = {
    **dict.fromkeys(("lemma6-as-printed", "lemma6"), lambda v: v["delta"]),
    "lemma3": lambda v: 2 * v["delta"],
    **dict.fromkeys(("thm3-1", "thm3-2", "thm3-exact"), lambda v: 2 * v["m"] / v["n"] ** 3),
    **dict.fromkeys(("eq9-as-printed", "eq9"), lambda v: 2 / v["n"] ** 3),
}


def always(_v):
    return np.inf


def room_left(share):
    """4 M over the room, which is empty where the inexactness takes all of it."""

    def ratio(v):
        left = room(v, share)
        return v["ratio"] * left / (4 * v["M"]) if left > 0 else np.inf

    return ratio


def part_one_ratio(v):
    needed = 64 * (v["c"] / v["Delta"]) ** 2 * v["M_bar"] * v["m"] / v["size_min"]
    return v["n"] / log(v["n"]) / needed


def theorem_1_ratio(v):
    return v["n"] / log(v["n"]) / theorem_1_requirement(v, corrected_m(v))


#: ``left / right`` by statement and name, or by name where all statements agree.
RATIOS = {
    "a share": lambda v: v["c"] / 128**0.5,
    "delta below 1/e": lambda v: exp(-1) / v["delta"],
    "delta below 1/3": lambda v: 1 / 3 / v["delta"],
    "delta below 1/2": lambda v: 1 / 2 / v["delta"],
    **dict.fromkeys(
        (
            *("delta above 0", "mesh above 0", "share above 0", "radius above 0"),
            *("alpha above 0", "different optima"),
        ),
        always,
    ),
    "iterates": lambda v: v["t"] / 8,
    ("lemma7-as-printed", "iterates"): lambda v: v["T"] / 15,
    ("lemma7", "iterates"): lambda v: v["T"] / 16,
    "samples per user": part_one_ratio,
    ("thm1-mse", "samples per user"): theorem_1_ratio,
    **dict.fromkeys(
        (("psi-event", "samples per user"), ("psi-prob", "samples per user")),
        lambda v: v["ratio"] * v["Delta"] ** 2 / (16 * v["M"] * v["alpha"] ** 2),
    ),
    "separable": lambda v: v["alpha"],
    ("eq11", "samples per user"): lambda v: (
        v["ratio"] * (v["Delta"] - 2 * v["gamma"]) ** 2 / (4 * v["M"] * v["alpha"] ** 2)
    ),
    ("thm2-threshold", "samples per user"): room_left(4),
    ("lemma10-own-sharp", "large constant"): lambda v: v["c"] / 13.5,
    ("lemma10-foreign-sharp", "large constant"): lambda v: v["c"] / 13.5,
    ("lemma10-any-centers-sharp", "large constant"): lambda v: v["c"] / 12.5,
    **dict.fromkeys(
        (("thm3-epsilon", "large constant"), ("thm3-epsilon-sharp", "large constant")),
        lambda v: v["c"] / 12,
    ),
    ("thm2-threshold-room", "samples per user"): room_left(8),
    "precision": lambda v: v["Delta"] ** 2 / (16 * v["slack"] * v["alpha"] ** 2),
    ("thm2-threshold-room", "precision"): lambda v: (
        v["Delta"] ** 2 / (32 * v["slack"] * v["alpha"] ** 2)
    ),
    "smooth losses": lambda v: v["L"] / v["mu_f"],
    "mesh within the parameter space": lambda v: 6 * v["R"] / v["epsilon"],
    "share below 1": lambda v: 1 / v["rho"],
    "moment of order 2 or more": lambda v: v["order"] / 2,
    "dimension": lambda v: v["d"],
    **dict.fromkeys(("samples of (8)", "three samples"), lambda v: v["n"] / 3),
    "constant of Lemma 10": lambda v: v["c"] / sqrt(128),
    "constant of the requirement": lambda v: v["c"] / 3,
    "large constant": lambda v: v["c"] / sqrt(384),
    "footnote 4": lambda v: v["c"] / 100,
    "narrow events": lambda v: v["Delta"] / (2 * v["gamma"]),
}
#: Assumptions that equality meets.  It violates all others.
NOT_STRICT = {
    *("iterates", "smooth losses", "mesh within the parameter space", "samples of (8)"),
    *("moment of order 2 or more", "dimension", "constant of the requirement", "large constant"),
    *("footnote 4", "three samples"),
}
#: Sharpened statements whose constant is strictly larger, since the bound is infinite at its end.
STRICT = {"lemma10-own-sharp", "lemma10-foreign-sharp", "lemma10-any-centers-sharp"}
POINTS = points(
    STATEMENTS.values(),
    {"d": (2, 6), "k": (2, 5), "m": (10, 60), "n": (3, 30), "T": (16, 80), "t": (8, 40)},
    {
        "delta": (0.02, 0.3),
        "epsilon": (0.05, 0.5),
        "rho": (0.2, 0.8),
        "R": (1.0, 2.5),
        "order": (2.0, 6.0),
        "size_min": (1.0, 4.0),
        "c": (3.0, 30.0),
        "slack": (0.01, 0.1),
        "mu": (0.4, 1.0),
        "gamma": (0.05, 0.15),
    },
)


CODED = [
    name
    for name, s in STATEMENTS.items()
    if s.assumptions and (name in BOUNDS or name in clustering.ORACLES)
]


def test_nearly_every_statement_has_its_second_coding():
    """A new statement may wait for its own, and one in ten at most does."""
    assert set(BOUNDS) <= set(STATEMENTS)
    assert len(USERS - set(BOUNDS)) <= 0.1 * len(USERS)
    may_fail = {name for name, s in STATEMENTS.items() if s.failure is not None}
    assert set(FAILURES) <= may_fail
    assert len(FAILURES) >= 0.8 * len(may_fail)


@pytest.mark.parametrize("name", BOUNDS)
def test_a_bound_is_the_papers_formula(name):
    for v in POINTS:
        found = float(evaluate(STATEMENTS[name].expr, v))
        assert found == pytest.approx(BOUNDS[name](v), rel=1e-9), v


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_probability_is_the_papers(name):
    for v in POINTS:
        found = STATEMENTS[name].failure_probability(v)
        assert found == pytest.approx(FAILURES[name](v), rel=1e-9), v


@pytest.mark.parametrize("name", CODED)
def test_an_assumption_is_the_papers(name):
    for assumption in STATEMENTS[name].assumptions:
        ratio = RATIOS.get((name, assumption.name)) or RATIOS[assumption.name]
        for v in POINTS:
            assert assumption.margin(v) == pytest.approx(ratio(v), rel=1e-9), assumption.name
        closed = assumption.name in NOT_STRICT and name not in STRICT
        assert assumption.strict != closed, assumption.name
        assert assumption.constant is None


@pytest.mark.parametrize("in_units_of_r", [False, True])
def test_the_display_before_8_is_lemma_3s_with_the_failure_and_the_mesh_of_the_proof(in_units_of_r):
    """(8) takes delta = n^-3 and a mesh of n^-3, or of R n^-3.  The distance is 2/mu times that."""
    for v in POINTS:
        length = v["R"] if in_units_of_r else 1.0
        symbols = (sp.Integer(1), recovery.R) if in_units_of_r else (recovery.R, sp.Integer(1))
        cube = v["n"] ** -3
        expected = 2 / v["mu"] * excess_risk({**v, "delta": cube, "epsilon": length * cube})
        found = float(evaluate(recovery.eq_8(*symbols), v))
        assert found == pytest.approx(expected, rel=1e-9)
