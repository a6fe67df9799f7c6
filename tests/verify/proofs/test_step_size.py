"""The proof that no step size works: accepted where none does, refused where one does."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
import sympy as sp

from bounds.statement import Constant, Statement, Term
from tests.stated import NOBODY
from verify.proofs.certificate import NotProved, check
from verify.proofs.step_size import no_step_size_serves

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
