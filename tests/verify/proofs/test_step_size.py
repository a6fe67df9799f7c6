"""The proof that no step size works: accepted where none does, refused where one does."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import flint
import mpmath
import pytest
import sympy as sp

from bounds.statement import Constant, Statement, Term
from tests.stated import NOBODY
from verify.proofs.certificate import NotProved, check
from verify.proofs.step_size import no_step_size_serves
from verify.proofs.terms import enclose

err, c_2, m = sp.symbols("err c_2 m")
STATEMENT = Statement(
    id="toy.step",
    title="half the error, and a floor",
    publication=NOBODY,
    source="toy",
    kind="upper bound",
    quantifiers="",
    observed="err",
    terms=(Term(name="contraction", expr=err / 2), Term(name="floor", expr=c_2 / 1000)),
    failure=1 / m,
    constants=(Constant(symbol=c_2, low=1e-3, high=1.0, generous="high", meaning="floor"),),
)


def values(sizes: list[int], **changes: float) -> dict[str, float]:
    total = sum(sizes)
    return {
        "m": float(total), "n": 10_000.0, "d": 10.0, "Delta": 1.0, "sigma": 0.5, "alpha": 0.25,
        "p": sizes[0] / total, **changes,
    }  # fmt: skip


@pytest.mark.parametrize("ratio", [4, 10, 100])
def test_unequal_clusters_exclude_every_step_size(ratio: int) -> None:
    sizes = [1000, 1000 * ratio]
    proof = no_step_size_serves(STATEMENT, values(sizes), sizes)
    assert len(check(proof.as_dict())) == 4


@pytest.mark.parametrize("ratio", [1, 2, 3])
def test_nothing_is_proved_where_some_step_size_serves(ratio: int) -> None:
    sizes = [1000, 1000 * ratio]
    with pytest.raises(NotProved):
        no_step_size_serves(STATEMENT, values(sizes), sizes)


def test_the_proof_reads_the_statement() -> None:
    """A weaker contraction, a larger floor, a larger failure probability: no proof any more."""
    sizes = [1000, 4000]
    weaker: list[dict[str, Any]] = [
        {"terms": (Term(name="contraction", expr=9 * err / 10),)},
        {"terms": (*STATEMENT.terms, Term(name="slack", expr=sp.Rational(1, 5)))},
        {"failure": sp.Integer(1)},
    ]
    for change in weaker:
        with pytest.raises(NotProved):
            no_step_size_serves(replace(STATEMENT, **change), values(sizes), sizes)


def test_few_samples_prove_nothing() -> None:
    with pytest.raises(NotProved):
        no_step_size_serves(STATEMENT, values([4, 16], n=1.0), [4, 16])


def test_a_spread_that_hides_the_gap_proves_nothing() -> None:
    sizes = [1000, 3300]
    no_step_size_serves(STATEMENT, values(sizes), sizes, spread=Fraction(1, 100))
    with pytest.raises(NotProved):
        no_step_size_serves(STATEMENT, values(sizes), sizes, spread=Fraction(1, 5))


@pytest.mark.parametrize(("sizes", "spread"), [([1000, 4000], 100), ([50, 90, 900], 40)])
def test_the_proof_adds_the_tails_of_its_argument(sizes: list[int], spread: int) -> None:
    """Each side of the certificate against the formulas of the module with 30 digits."""
    proof = no_step_size_serves(STATEMENT, values(sizes), sizes, spread=Fraction(1, spread))
    n, m, k = 10_000, sum(sizes), len(sizes)
    with mpmath.workdps(30), flint.ctx.workprec(128):
        start, sigma, eps = mpmath.mpf("0.25"), mpmath.mpf("0.5"), mpmath.mpf(1) / spread
        bound = start / 2 + mpmath.mpf(1) / 1000
        ratio = mpmath.mpf(sizes[-1]) / sizes[0]
        a_n = (3 / (4 * ratio * (1 - eps)) + 1 / (4 * (1 + eps))) / sizes[0]  # a times n
        signal = (mpmath.mpf("0.5") - start) ** 2 / (start**2 + sigma**2)
        labels = m * (k - 1) * (1 + signal) ** (-mpmath.mpf(n) / 2)
        for j, sign in ((0, 1), (-1, -1)):
            edge = sizes[j] * (1 + sign * eps)  # K/n at the edge of its range
            missed = start * sign * (1 - a_n * edge) - bound
            x = missed / (a_n / n * sigma * mpmath.sqrt(edge * n))
            gap = sign * eps - mpmath.log1p(sign * eps)
            hits = mpmath.exp(-mpmath.mpf(sizes[j] * n) / 2 * gap) + mpmath.exp(-(x**2) / 2)
            first, second = proof.inequalities[:2] if j == 0 else proof.inequalities[2:]
            for term, expected in (
                (first.left, missed),
                (second.left, hits + labels),
                (second.right, 1 - mpmath.mpf(1) / m),
            ):
                found = mpmath.mpf(enclose(term).mid().str(25, radius=False))
                assert abs(found - expected) <= 1e-9 * abs(expected)
