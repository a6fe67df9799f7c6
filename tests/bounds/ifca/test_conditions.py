"""Conditions and definitions of IFCA's statements, coded a second time from the papers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import exp, log, log2, sqrt

import pytest

from bounds.ifca.symbols import T
from bounds.statement import evaluate
from tests.stated import stated

Values = Mapping[str, float]
STATEMENTS = stated("ifca")

#: No two values are equal, so that no letter can take another one's place.
V: dict[str, float] = {
    "C_1": 3.7, "C_Delta": 2.3, "Delta": 1.7, "L": 3.1, "N": 19.0, "T": 47.0, "alpha": 0.21,
    "alpha_0": 0.23, "c": 2.9, "c_2": 5.3, "c_3": 7.9, "c_4": 0.31, "d": 5.0, "delta": 0.03,
    "epsilon_0": 0.013, "eta": 1.1, "gamma": 0.27, "k": 4.0, "lam": 0.6, "m": 83.0, "n": 29.0,
    "p": 0.19, "p_j": 0.37, "p_max": 0.41, "q": 2.6, "rho": 0.83, "sigma": 0.47,
    "theta_max": 0.9, "v": 2.1, "varepsilon": 0.017,
}  # fmt: skip


def floor(v: Values) -> float:
    return v["sigma"] / v["p"] * sqrt(v["d"] / (v["m"] * v["n"]))


def log_mn(v: Values) -> float:
    return log(v["m"] * v["n"])


def condition_number(v: Values) -> float:
    return v["L"] / v["lam"]


def rate(v: Values) -> float:
    """How much of the error a step takes away, p lambda / (8 L)."""
    return v["p"] / (8 * condition_number(v))


def a6(v: Values) -> float:
    """Assumption 6: the larger of two powers of the sizes and of the closeness."""
    return max(
        v["alpha_0"] ** -0.4 * v["n"] ** -0.2,
        v["alpha_0"] ** (-1 / 3) * v["n"] ** (-1 / 3) * v["m"] ** (-1 / 6),
    )


def quadratic(v: Values) -> float:
    """The exponent of a misidentified client, without its constant."""
    return v["n"] * (v["alpha"] * v["rho"] / (v["rho"] + 1)) ** 2


def without_alpha(v: Values) -> float:
    return v["n"] * (v["rho"] / (v["rho"] + 1)) ** 2


Sides = Callable[[Values], tuple[float, float]]

#: Name -> what must be at least what, without the hidden constant.
SIDES: dict[str, Sides] = {
    "closeness below 1/2": lambda v: (0.5, v["alpha"]),
    "closeness above 0": lambda v: (v["alpha"], 0.0),
    "initialisation within Delta/4": lambda v: (v["alpha"], 0.25),
    "balanced clusters": lambda v: (2 * v["p"], v["p_max"]),
    "bounded optima": lambda v: (1.0, v["theta_max"]),
    "bounded noise": lambda v: (1.0, v["sigma"]),
    "samples per client": lambda v: (quadratic(v), log(v["m"])),
    "dimension": lambda v: (v["d"], log(v["m"])),
    "smallest cluster": lambda v: (v["p"] * v["m"], log(v["m"])),
    "samples per cluster": lambda v: (v["p"] * v["m"] * v["n"], v["d"]),
    "separation": lambda v: (v["Delta"], floor(v) + exp(-v["c"] * quadratic(v))),
    "start above the floor": lambda v: ((0.5 - v["alpha"]) * v["Delta"], 2 * floor(v)),
    "samples": lambda v: (v["N"], v["d"]),
    "small step": lambda v: (1.0, 2 * v["gamma"] * v["p_max"]),
    "the mean exists": lambda v: (v["N"], v["d"] + 1),
    "enough samples": lambda v: (v["n"], log(v["m"])),
    "condition (b)": lambda v: (
        v["Delta"] / 8 / sqrt(condition_number(v)),
        v["epsilon_0"] / rate(v),
    ),
    "small floor": lambda v: (
        rate(v) * (0.5 - v["alpha_0"]) * v["Delta"] / sqrt(condition_number(v)),
        v["epsilon_0"],
    ),
    "accuracy below the radius": lambda v: (
        v["Delta"] / 4 / sqrt(condition_number(v)),
        v["varepsilon"],
    ),
    "many samples": lambda v: (v["n"], v["m"]),
    "short step": lambda v: (1 / v["L"], v["gamma"]),
}

CONFERENCE = "ifca.neurips-"


def a6_needs(v: Values) -> float:
    """Three terms of the floor share condition (b), epsilon_0 <= p (lambda/L)^(3/2) Delta/64."""
    return 3 * 64 * condition_number(v) ** 1.5 / v["p"]


def three(v: Values) -> tuple[float, float]:
    return 3 * v["p"], v["p_max"]


def log_of_all(v: Values) -> tuple[float, float]:
    """The strongly convex part asks for shares above log(mn')/m, with all samples of a client."""
    return v["p"] * v["m"], log_mn(v)


def curvature(v: Values) -> tuple[float, float]:
    """And for enough samples to tell two losses apart by Chebyshev's inequality."""
    return v["n"], v["k"] * (v["eta"] / (v["alpha"] * v["lam"] * v["Delta"] ** 2)) ** 2


#: (start of the statement's id, name) -> its own sides.
OWN: dict[tuple[str, str], Sides] = {
    (CONFERENCE, "samples per client"): lambda v: (without_alpha(v), 16 * log(v["m"])),
    (CONFERENCE, "separation"): lambda v: (
        v["Delta"],
        floor(v) + exp(-v["c"] * without_alpha(v)),
    ),
    ("ifca.neurips-cor1-more", "many samples per cluster"): lambda v: (
        v["p"] * v["m"] * v["n"],
        1e4 * v["d"],
    ),
    ("ifca.thm1-wider", "many samples per cluster"): lambda v: (
        v["p"] * v["m"] * v["n"],
        1e3 * v["d"],
    ),
    ("ifca.thm1-wider", "balanced clusters"): lambda v: (2.5 * v["p"], v["p_max"]),
    ("ifca.thm1-factor-three", "balanced clusters"): three,
    ("ifca.cor1-natural-log", "balanced clusters"): three,
    ("ifca.neurips-cor1-natural-log", "balanced clusters"): three,
    ("ifca.half-correct-sc-client", "samples per client"): curvature,
    **{
        (f"ifca.{name}", condition): needed
        for name in ("eq30", "eq32", "thm2", "a6-separation")
        for condition, needed in (
            ("samples per client", curvature),
            ("smallest cluster", log_of_all),
        )
    },
    ("ifca.poly-m", "samples per client"): lambda v: (
        quadratic(v),
        (v["q"] + 2) / 3 * log(v["m"]),
    ),
    ("ifca.a6-separation", "separation"): lambda v: (v["Delta"], v["C_Delta"] * a6(v)),
    ("ifca.a6-separation", "large constant for the noise"): lambda v: (
        v["C_Delta"],
        a6_needs(v) * v["v"] / v["delta"] / v["L"] / sqrt(v["p"]),
    ),
    ("ifca.a6-separation", "large constant for the strangers"): lambda v: (
        v["C_Delta"] ** 5,
        a6_needs(v) * v["k"] * (v["eta"] / v["lam"]) ** 2 / v["delta"],
    ),
    ("ifca.a6-separation", "large constant for the strangers' noise"): lambda v: (
        v["C_Delta"] ** 3,
        a6_needs(v) * v["v"] * v["eta"] * (v["k"] / v["delta"]) ** 1.5 / v["lam"] / v["L"],
    ),
    ("ifca.cor1-condition-b", "separation"): lambda v: (
        v["Delta"],
        v["C_Delta"] * (floor(v) + exp(-v["c_4"] * quadratic(v))),
    ),
    ("ifca.cor1-condition-b", "large constant for the floor"): lambda v: (
        v["C_Delta"],
        16 * v["c_2"],
    ),
    ("ifca.cor1-condition-b", "large constant for the labels"): lambda v: (
        v["C_Delta"],
        16 * v["c_3"],
    ),
    ("ifca.eq25", "another cluster"): lambda v: (1 - v["p"], v["p_j"]),
    ("ifca.eq22-sharp", "short step"): lambda v: (2 / (v["L"] + v["lam"]), v["gamma"]),
}


def sides(statement: str, name: str) -> Sides:
    """The longest start of a statement's id decides."""
    own = [key for key in OWN if statement.startswith(key[0]) and key[1] == name]
    if own:
        return OWN[max(own, key=lambda key: len(key[0]))]
    return SIDES[name]


STRICT = {"closeness below 1/2", "closeness above 0", "the mean exists"}
CASES = [(s.id, a) for s in STATEMENTS.values() for a in s.assumptions]


@pytest.mark.parametrize(("name", "assumption"), CASES, ids=[f"{s}-{a.name}" for s, a in CASES])
def test_a_condition_is_the_papers(name: str, assumption) -> None:  # type: ignore[no-untyped-def]
    left, right = sides(name, assumption.name)(V)
    found = [float(evaluate(side, V)) for side in (assumption.left, assumption.right)]
    if right == 0.0:
        assert found == [left, right]
    else:
        assert found[0] / found[1] == pytest.approx(left / right, rel=1e-12)
    assert assumption.strict == (assumption.name in STRICT)


def test_either_power_of_assumption_6_may_be_the_larger_one() -> None:
    """The second one is larger only for less than one client or sample."""
    few = {**V, "m": 0.5, "n": 0.7}
    assert a6(few) > few["alpha_0"] ** -0.4 * few["n"] ** -0.2
    for name in ("ifca.a6-separation",):
        (condition,) = (a for a in STATEMENTS[name].assumptions if a.name == "separation")
        right = sides(name, "separation")(few)[1]
        assert float(evaluate(condition.right, few)) == pytest.approx(right, rel=1e-12)


# -- numbers of steps ----------------------------------------------------------------------------


def gain(v: Values) -> float:
    return v["Delta"] / (4 * v["varepsilon"])


Number = Callable[[Values], float]
LOG: Number = lambda v: log(gain(v))  # noqa: E731
PLUS_TWO: Number = lambda v: 2 + log(gain(v))  # noqa: E731
LONG: Number = lambda v: log(2 * v["Delta"] / v["varepsilon"]) / rate(v)  # noqa: E731
SHORT: Number = lambda v: log(v["Delta"] / v["varepsilon"] / 2) / rate(v)  # noqa: E731
DEFINED: dict[str, Number] = {
    "ifca.neurips-cor1-as-printed": LOG,
    "ifca.neurips-cor1": lambda v: 1 + log2(gain(v)),
    "ifca.neurips-cor1-more-samples": LOG,
    "ifca.near-optimal": PLUS_TWO,
    "ifca.cor1-as-printed": PLUS_TWO,
    "ifca.cor1-natural-log-as-printed": PLUS_TWO,
    "ifca.neurips-cor1-natural-log-as-printed": LOG,
    "ifca.cor1-rounds-as-printed": LOG,
    "ifca.cor1-rounds": lambda v: log2(gain(v)),
    "ifca.cor1-burn-in": lambda v: log(v["C_1"]) + log(1 - 2 * v["alpha"]),
    "ifca.cor1-condition-b": lambda v: (
        v["c_2"] * floor(v) + v["c_3"] * exp(-v["c_4"] * quadratic(v))
    ),
    "ifca.cor2-burn-in": lambda v: log(4 * sqrt(condition_number(v))) / rate(v),
    "ifca.cor2-burn-in-short": lambda v: log(4) / rate(v),
    "ifca.cor2-rounds": LONG,
    "ifca.neurips-thm2-rounds": SHORT,
    "ifca.cor2-failure-as-printed": lambda v: (
        v["p"] * v["delta"] / (condition_number(v) * v["c"] * v["k"] * log_mn(v))
    ),
    "ifca.cor2": LONG,
    "ifca.neurips-thm2": SHORT,
    "ifca.k2-slightly-better": PLUS_TWO,
    "ifca.cor1": PLUS_TWO,
    "ifca.cor1-own-step": PLUS_TWO,
}


def test_every_definition_is_coded_twice() -> None:
    assert set(DEFINED) == {s.id for s in STATEMENTS.values() if s.definitions}


@pytest.mark.parametrize("name", DEFINED)
def test_a_definition_is_the_papers(name: str) -> None:
    ((symbol, expr),) = STATEMENTS[name].definitions.items()
    assert float(evaluate(expr, V)) == pytest.approx(DEFINED[name](V), rel=1e-12)
    assert (symbol == T) == (name not in {"ifca.cor1-condition-b", "ifca.cor2-failure-as-printed"})
