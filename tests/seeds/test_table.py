"""The summary over seeds, against counts by hand."""

from __future__ import annotations

import pytest

from tests.seeds.table import page, summarise

S, R, I = ("SUPPORTED", "REFUTED", "INCONCLUSIVE")  # noqa: E741


def runs(*verdicts: str, expected: str = S, others: int = 0):
    quiet = {f"toy.quiet{i}": (S, S) for i in range(others)}
    return {seed: {"toy.a": (v, expected), **quiet} for seed, v in enumerate(verdicts)}


def test_nothing_differs() -> None:
    summary = summarise(runs(S, S, S))
    assert (summary.n_verdicts, summary.n_differing, summary.meets_goals) == (3, 0, True)


def test_one_inconclusive_in_a_thousand_is_allowed_and_three_are_not() -> None:
    assert summarise(runs(S, I, others=499)).meets_goals
    assert not summarise(runs(S, I, others=10)).meets_goals


def test_a_claim_on_two_seeds_is_not_allowed() -> None:
    summary = summarise(runs(I, S, I, others=999))
    assert summary.n_differing == 2
    assert not summary.meets_goals
    assert "| `toy.a` | SUPPORTED | INCONCLUSIVE 2 | 0 2 |" in page(summary, "quick")


@pytest.mark.parametrize(("verdicts", "expected"), [((R, I), I), ((R, S), S), ((S, R), I)])
def test_a_contradiction(verdicts: tuple[str, ...], expected: str) -> None:
    summary = summarise(runs(*verdicts, expected=expected, others=5000))
    assert summary.opposite() == (["toy.a"] if {S, R} <= {*verdicts, expected} else [])


def test_a_contradiction_is_never_allowed() -> None:
    assert not summarise(runs(R, S, others=5000)).meets_goals


def test_a_seed_without_a_claim_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"seed 1 has no verdict for toy\.a"):
        summarise({0: {"toy.a": (S, S)}, 1: {}})
