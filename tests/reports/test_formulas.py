"""Formulas compile by both engines, and those that do not are found."""

from __future__ import annotations

import pytest
import sympy as sp

from reports.engines import Engine, latex_missing
from tests.reports.formulas import check_formulas

missing = latex_missing()
ENGINES = [
    "embedded",
    pytest.param("latex", marks=pytest.mark.skipif(bool(missing), reason=f"needs {missing}")),
]

m, n, rho, Delta, p = sp.symbols("m n rho Delta p_min", positive=True)
GOOD = [
    r"\norm{\theta_j-\theta_j^*} \le \tfrac12 \abs{x} \when{m \ge k}",
    r"P(\overline{\mathcal{E}_i^{j,j'}}) \lesssim 1/\poly(m)",
    r"\|X\|_{op} \gtrsim \big( \sqrt{N}\;\!d \big)",
    r"\begin{cases} a & x > 0 \\ b & \text{otherwise} \end{cases}",
    r"\exists c_1,c_2>0\;\forall m, \hat{\theta}, \widetilde{O}(n), \mathbb{E}, \operatorname{tr}",
    r"$$\underbrace{x}_{\text{bias}} + \sum_{i=1}^{m} \binom{n}{k} \|\theta\|_2^2$$",
    r"1.009\pm0.006",  # numbers and signs without a blank between them
    r"-1.2\times10^{-5}",
    r"[1\,000,\ 2.5]\times10^{3}",
    r"\begin{vmatrix} a & b \\ c & d \end{vmatrix}",
    r"{\surd} = \surd",
    r"A\cap B \cup \bigcap_i A_i \otimes \odot \bigotimes_i x",
    "",
    *(
        sp.latex(expression)
        for expression in (
            sp.exp(-m * (rho / (rho + 1)) ** 2) / p,
            sp.Max(sp.sqrt(m), sp.sqrt(n)),
            sp.Piecewise((m, m < n), (n, True)),
            sp.Abs(m - n) * sp.log(m),
            sp.ceiling(m / n) + sp.floor(n),
            sp.Function("P_F")(sp.Symbol("l_-") / sp.Symbol("l_+"), n),
        )
    ),
]


@pytest.mark.parametrize("engine", ENGINES)
def test_formulas_compile(engine: Engine) -> None:
    assert check_formulas(GOOD, engine) == {}


@pytest.mark.parametrize("engine", ENGINES)
def test_broken_formulas_are_named(engine: Engine) -> None:
    bad = r"\frac{a}{"
    unknown = r"\undefinedcommand{x}"
    assert set(check_formulas(["x", bad, r"\sqrt{2}", unknown], engine)) == {bad, unknown}
