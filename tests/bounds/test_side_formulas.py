"""Formulas that stand beside the statements, such as the sides of a step, coded a second time."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from math import exp, log, sqrt

import pytest
import sympy as sp

from bounds.statement import Statement
from tests.stated import stated

Values = Mapping[str, float]
PAPERS = ("ifca", "odcl", "sxy")

#: Value of every symbol.  No two are equal, so that no letter can take another one's place.
VALUES: dict[str, float] = {
    "Delta": 1.7, "Gamma": 2.3, "L": 3.1, "M": 0.7, "N": 1.9, "R": 1.3, "T": 47.0, "alpha": 0.21,
    "c": 2.9, "d": 5.0, "delta": 0.03, "delta_0": 0.11, "epsilon_0": 0.013, "eta": 1.1, "k": 4.0,
    "kappa": 6.7, "lam": 0.6, "m": 83.0, "mu": 0.37, "mu_f": 0.43, "n": 29.0, "p": 0.19,
    "alpha_0": 0.23,
    "ratio": 7.3, "rho": 0.83, "sigma": 0.47, "size_min": 11.0, "v": 2.1, "varepsilon": 0.017,
}  # fmt: skip


def theorem_1(v: Values, alpha: float) -> float:
    """n / log n, for an algorithm that needs distances of alpha times the largest error."""
    return 16 * v["M"] * (alpha / v["Delta"]) ** 2


def clusterpath(v: Values) -> float:
    return 4 * (v["m"] - v["size_min"]) / v["size_min"]


def kmeans(v: Values) -> float:
    return 2 + 2 * v["c"] * sqrt(v["m"] / v["size_min"])


FORMULAS: dict[str, Callable[[Values], float]] = {
    "ifca.LOWER_DEVIATION": lambda v: (
        4 * v["alpha"] * v["rho"] / (4 + v["rho"] * (1 + 2 * v["alpha"]) ** 2)
    ),
    "ifca.UPPER_DEVIATION": lambda v: (
        4 * v["alpha"] * v["rho"] / (4 + v["rho"] * (1 - 2 * v["alpha"]) ** 2)
    ),
    "ifca.MINIMAX_RATE": lambda v: (
        v["sigma"] * sqrt(v["d"] / (2 * v["T"])) / sqrt(v["p"] * v["m"] * v["n"])
    ),
    "ifca.FLOOR_36": lambda v: (
        v["v"] / (v["delta_0"] * v["L"] * sqrt(v["p"] * v["m"] * v["n"]))
        + v["eta"] / v["delta_0"] ** 1.5 * v["v"] * v["k"] ** 1.5
        / (v["lam"] * v["L"] * v["Delta"] ** 2 * sqrt(v["m"]) * v["n"])
        + (v["eta"] / (v["lam"] * v["Delta"] ** 2)) ** 2 * v["k"] / (v["delta_0"] * v["n"])
    ),
    "ifca.STRANGERS": lambda v: (
        v["k"] / (v["delta"] * v["n"])
        * (v["eta"] / (v["alpha_0"] * v["lam"] * v["Delta"] ** 2)) ** 2
    ),
    "ifca.STRANGERS_NOISE": lambda v: (
        (v["k"] / v["delta"]) ** 1.5 * v["v"] * v["eta"]
        / (v["alpha_0"] * v["lam"] * v["L"] * v["Delta"] ** 2 * v["n"] * sqrt(v["m"]))
    ),
    "ifca.TOTAL": lambda v: (
        8 * v["L"] / (v["p"] * v["lam"])
        * log(v["p"] * v["lam"] * v["Delta"] / v["epsilon_0"] / (8 * v["L"]))
    ),
    "odcl.DRAWN": lambda v: 25 * v["n"],
    "odcl.LEMMA_7_LEFT": lambda v: (
        12 * (v["Gamma"] / v["mu_f"]) ** 2
        + 8 * v["Gamma"] * (121 * v["Gamma"] + 1) * log(log(v["T"]) / v["delta"])
    ) / v["T"],
    "odcl.REMARK_18": lambda v: v["L"] / v["varepsilon"] ** 2 * (
        6 * (v["Gamma"] / v["mu_f"]) ** 2
        + 4 * v["Gamma"] * (121 * v["Gamma"] + 1) * (1 + 3 * log(v["n"]))
    ),
    "odcl.BETA_TAIL": lambda v: 16 * v["R"] ** 4 * 4 * v["d"] * exp(-v["alpha"] * v["n"]),
    "odcl.PART_ONE_SAME_M": lambda v: (
        (8 * v["c"] / v["Delta"]) ** 2 * v["M"] * v["m"] / v["size_min"]
    ),
    "odcl.SIGMA_RADIUS": lambda v: 2 * v["alpha"] * sqrt(v["M"] / v["ratio"]),
    "odcl.THEOREM_1_CC": lambda v: theorem_1(v, clusterpath(v)),
    "odcl.THEOREM_1_KM": lambda v: theorem_1(v, kmeans(v)),
    "odcl.RATIO": lambda v: (clusterpath(v) / kmeans(v)) ** 2,
    "odcl.IFCA_STATISTICAL": lambda v: (
        v["k"] * (v["m"] / v["size_min"]) ** 2.5 / sqrt(v["m"] * v["n"])
    ),
    "odcl.IFCA_OTHER": lambda v: (
        v["k"] / v["n"] * (v["m"] / (v["size_min"] * v["Delta"] ** 2)) ** 2
    ),
    "odcl.IFCA_ROUNDS": lambda v: (
        8 * (v["L"] / v["mu"]) / (v["size_min"] / v["m"]) * log(2 * v["Delta"] / v["varepsilon"])
    ),
}  # fmt: skip


def parts(statement: Statement) -> Iterator[sp.Basic]:
    """All expressions of a statement."""
    yield from (term.expr for term in statement.terms)
    yield from statement.definitions.values()
    for assumption in statement.assumptions:
        yield from (assumption.left, assumption.right)
    if statement.failure is not None:
        yield statement.failure


def side_formulas(paper: str) -> dict[str, sp.Expr]:
    """Expressions that a paper's modules name and that are a part of no statement."""
    within = [part for statement in stated(paper).values() for part in parts(statement)]
    package = importlib.import_module(f"bounds.{paper}")
    found = {}
    for info in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        for name, value in vars(importlib.import_module(info.name)).items():
            if name.startswith("_") or not isinstance(value, sp.Expr):
                continue
            beside = not any(part.has(value) for part in within)
            if beside and not isinstance(value, sp.Symbol | sp.Number):
                found[f"{paper}.{name}"] = value
    return found


@cache
def found() -> dict[str, sp.Expr]:
    """The side formulas of all papers."""
    return {name: value for paper in PAPERS for name, value in side_formulas(paper).items()}


def test_every_side_formula_is_coded_twice() -> None:
    assert set(found()) == set(FORMULAS)


@pytest.mark.parametrize("name", FORMULAS)
def test_a_side_formula_is_the_papers(name: str) -> None:
    symbols = found()[name].free_symbols
    value = found()[name].evalf(subs={symbol: VALUES[symbol.name] for symbol in symbols})
    assert float(value) == pytest.approx(FORMULAS[name](VALUES), rel=1e-12)
