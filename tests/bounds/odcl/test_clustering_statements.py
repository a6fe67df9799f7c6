"""ODCL's statements about clustering and requirements, coded a second time from the paper."""

import math
from math import log, sqrt

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from bounds.odcl import clusterpath, convex, footnotes, kmeans, part_one, requirements, separability
from bounds.statement import Statement, evaluate


def alpha_cc(v):
    return 4 * (v["m"] - v["size_min"]) / v["size_min"]


def alpha_km(v, c):
    return 2 + 2 * c * sqrt(v["m"]) / sqrt(v["size_min"])


def requirement_km(v, c, big_m):
    roots = (sqrt(v["size_min"]) + c * sqrt(v["m"])) ** 2
    return 64 * big_m * roots / (v["size_min"] * v["Delta"] ** 2)


def part_one_requirement(v):
    return 64 * v["c"] ** 2 * v["m"] * v["M_bar"] / (v["Delta"] ** 2 * v["size_min"])


def pair_end(v):
    return v["distance_kl"] / (2 * v["m"] - v["size_k"] - v["size_l"])


def afa(v):
    epsilon = v["k"] / (v["n"] * v["m"])
    return v["k"] / (epsilon * v["m"]) * log(1 / epsilon)


def rounds(v):
    return 8 * v["kappa"] * v["m"] / v["size_min"] * log(2 * v["Delta"] / v["varepsilon"])


ORACLES = {
    "def1-def3": lambda v: 2 * v["c"] * sqrt(v["m"] / v["size_min"]) * v["radius"],
    "def1-def3-attained": lambda v: 2 * v["c"] * sqrt(v["m"] / v["size_min"]) * v["radius"],
    "eq13-lower": lambda v: v["diameter_k"] / v["size_k"],
    "eq13-upper": pair_end,
    "eq13": lambda v: (1 - v["t"]) * v["diameter_k"] / v["size_k"] + v["t"] * pair_end(v),
    "eq13-sharp": lambda v: v["gap"] / v["m"],
    "lemma1": alpha_cc,
    "lemma1-sharp": lambda v: 2 * v["m"] / v["size_min"],
    "lemma1-attained": lambda v: 2 * v["m"] / v["size_min"],
    "footnote3-as-printed": lambda v: v["radius"] / v["size_min"],
    "footnote3": lambda v: 2 * v["radius"] / v["size_min"],
    "footnote3-upper": lambda v: v["gap"] / 2 / (v["m"] - v["size_min"]),
    "footnote3-closed": lambda v: v["gap"] / 2 / (v["m"] - v["size_min"]),
    "footnote7-ui": lambda v: v["eta"] * v["lam"],
    "footnote7-distance": lambda v: (v["m"] - 1) * v["lam"],
    "footnote7-k-as-printed": lambda v: v["m"],
    "footnote7-singletons": lambda v: v["closest"] / v["m"],
    "footnote7-one": lambda v: v["diameter"] / v["m"],
    "coarsening-interval": pair_end,
    "coarsening": lambda v: v["offset_k"] / (v["m"] - v["size_k"]),
    "monotone-path": lambda v: v["clusters_before"],
    "unique": lambda v: -v["t"] * (1 - v["t"]) * v["distance_sq"] / 2,
    "needs-sizes": lambda v: v["gap"] / (2 * v["m"] - v["size_min"] - v["size_second"]),
    "a-posteriori": lambda v: 2,
    "weights-remark23": lambda v: v["gap"] / v["m"],
    "def2-cc": lambda v: 1,
    "def2-km": lambda v: 1,
    "def2-fixed-point": lambda v: 2,
    "def2-fixed-point-attained": lambda v: 2,
    "lemma2-16": lambda v: alpha_km(v, v["c"]) * v["radius"],
    "lemma2-17": lambda v: alpha_km(v, v["c"]) * v["radius"],
    "lemma2": lambda v: alpha_km(v, 100),
    "lemma2-sharp": lambda v: 8 + (2 + sqrt(160)) * sqrt(v["m"] / v["size_min"]),
    "lemma2-one": lambda v: alpha_km(v, 1),
    "lemma2-order": lambda v: sqrt(v["m"] / v["size_min"]),
    "lemma10-own": lambda v: 1 - 128 / v["c"] ** 2,
    "lemma10-any-centers": lambda v: 128 / v["c"] ** 2,
    "lemma10-on-a-line": lambda v: 2 * (2 / v["c"]) ** 2,
    "lemma10-foreign": lambda v: 128 / v["c"] ** 2,
    "lemma10-own-sharp": lambda v: 1 - (2 / (v["c"] - 13.5)) ** 2,
    "lemma10-foreign-sharp": lambda v: (2 / (v["c"] - 5 - 1 / 6)) ** 2,
    "lemma10-any-centers-sharp": lambda v: (2 / (v["c"] - 12.5)) ** 2,
    "lemma10-attained": lambda v: 1,
    "approximation": lambda v: 10,
    "lloyd-finite": lambda v: v["cost_before"],
    "gradient-clustering": lambda v: 4,
    "requirement-cc": lambda v: 16 * v["M"] * alpha_cc(v) ** 2 / v["Delta"] ** 2,
    "requirement-km": lambda v: 16 * v["M"] * alpha_km(v, v["c"]) ** 2 / v["Delta"] ** 2,
    "requirement-km-display": lambda v: (
        v["C"] * (sqrt(v["size_min"]) + sqrt(v["m"])) ** 2 / v["size_min"] ** 2
    ),
    "cc-vs-km-as-printed": lambda v: 1,
    "cc-vs-km": lambda v: 4 * v["m"] / v["size_min"] / v["c"] ** 2,
    "table1-ifca-cr": lambda v: (
        v["Delta"] ** 2 * v["n"] * v["size_min"] ** 5 / (v["k"] ** 2 * v["m"] ** 4)
    ),
    "table1-ifca-sr": lambda v: v["C"] * max(v["size_max"], v["k"] / v["Delta"] ** 4),
    "table1-afa": lambda v: v["C"] * afa(v),
    "table1-cc": lambda v: ((v["m"] - v["size_min"]) / v["size_min"] / v["Delta"]) ** 2,
    "table1-km": lambda v: ((sqrt(v["m"]) / sqrt(v["size_min"]) + 1) / v["Delta"]) ** 2,
    "table1-ikm": lambda v: v["C"] * (v["Delta"] / alpha_km(v, 1)) ** 2,
    "table1-icc": lambda v: (v["size_min"] * v["Delta"] / (v["m"] - v["size_min"])) ** 2,
    "comm-rounds": rounds,
    "comm-factor": rounds,
    "eq24": lambda v: 4 * v["total_sq"],
    "eq24-one": lambda v: v["total_sq"],
    "thm3-threshold": part_one_requirement,
    "thm3-threshold-sharp": lambda v: part_one_requirement(v) / 4,
    "thm3-1": lambda v: 1 - 128 / v["c"] ** 2,
    "thm3-2": lambda v: 128 / v["c"] ** 2,
    "thm3-exact": lambda v: 1,
    "thm3-epsilon": lambda v: 128 / (v["c"] ** 2 - 128),
    "thm3-epsilon-sharp": lambda v: 128 / v["c"] ** 2,
    "thm3-epsilon-proof": lambda v: 256 / (v["c"] ** 2 + 128),
    "lemma9": lambda v: 4 * (v["k"] - 1) * (v["variance"] / (v["n"] * v["size_k"]) + v["floor_sq"]),
    "thm3-3-as-printed": lambda v: v["C"] * v["floor_sq"],
    "lemma9-floor": lambda v: v["eps_k"] * v["reach_sq"],
    "lemma9-floor-attained": lambda v: v["eps_k"] * v["reach_sq"],
    "lemma9-conditioning": lambda v: v["C"] * v["variance"] / v["n"],
    "remark19-own": lambda v: 0.987,
    "remark19-foreign": lambda v: 0.013,
    "remark19-floor": lambda v: 1.69e-4,
    "remark20": lambda v: 18_000 * v["M"] / v["Delta"] ** 2,
    "remark20-relative": lambda v: 2 / (v["c"] * sqrt(v["m"] / v["size_min"])),
    "remark21-band": lambda v: 1 + v["size_min"] / v["m"],
}
STATEMENTS = {
    value.id.removeprefix("odcl."): value
    for module in (separability, convex, footnotes, clusterpath, kmeans, requirements, part_one)
    for value in vars(module).values()
    if isinstance(value, Statement) and value.terms
}
_positive = st.floats(1e-2, 1e2)
_COUNTS = {"m", "n", "k", "clusters_before"}
_COUNTS |= {"size_k", "size_l", "size_min", "size_second", "size_max"}
_NAMES = sorted({s.name for x in STATEMENTS.values() for s in x.expr.free_symbols})
#: Sizes that belong together: m at least twice the smallest cluster.
values = st.fixed_dictionaries(
    dict.fromkeys(_NAMES, _positive)
    | dict.fromkeys(_COUNTS & {*_NAMES}, st.integers(1, 100))
    | {"t": st.floats(0, 1)}
).map(lambda v: v | {"m": 300 + v["m"], "c": 14 + v["c"], "varepsilon": v["varepsilon"] * 1e-6})


def test_every_statement_has_an_oracle():
    assert set(STATEMENTS) == set(ORACLES)


@given(v=values)
@settings(max_examples=10, deadline=None)
def test_every_statement_evaluates_to_the_papers_formula(v):
    """All of them at the same values, because these take far longer to draw than a statement."""
    found = {name: float(evaluate(STATEMENTS[name].expr, v)) for name in ORACLES}
    assert found == pytest.approx({name: f(v) for name, f in ORACLES.items()}, rel=1e-9)


def test_remarks_numbers_are_those_of_theorem_3_at_one_hundred():
    at = {"c": 100}
    assert float(evaluate(kmeans.LEMMA_10_OWN.expr, at)) == pytest.approx(0.9872)
    assert float(evaluate(kmeans.LEMMA_10_FOREIGN.expr, at)) == pytest.approx(0.0128)
    assert float(evaluate(part_one.FRACTION, at)) ** 2 == pytest.approx(1.6811e-4, rel=1e-3)


def test_cc_needs_more_than_km_only_below_one_user_in_2502():
    ratio = requirements.RATIO.subs({"c": 100, "M": 1, "Delta": 1, "size_min": 1})
    assert float(ratio.subs("m", 2502)) < 1 < float(ratio.subs("m", 2503))
    assert float(ratio.subs("m", 2)) == pytest.approx(1.97e-4, rel=1e-2)


def test_the_requirements_are_theorem_1s():
    difference = requirements.THEOREM_1_CC - requirements.REQ_CC.expr
    assert sp.simplify(difference) == 0
    positive = {s: sp.Symbol(s.name, positive=True) for s in requirements.REQ_KM.expr.free_symbols}
    difference = (requirements.THEOREM_1_KM - requirements.REQ_KM.expr).subs(positive)
    assert sp.simplify(difference) == 0


def test_the_floor_of_the_largest_share_is_the_remarks():
    assert math.isclose(0.013**2, 1.69e-4)
