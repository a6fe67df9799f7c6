"""A claim's page: which symbols the trials tell apart, and the names of its figures."""

from __future__ import annotations

import re

import pytest

from reports import claim_page
from reports.collect import load
from reports.schema import Evidence, Figure, decode
from tests.reports.fakes import FakeRun, claim, figure, undrawn


def plain(text: str) -> str:
    """The words of LaTeX without its commands."""
    return re.sub(r"\\\w+\{([^{}]*)\}", r"\1", text)


@pytest.mark.parametrize(
    ("told", "not_told", "sentence"),
    [
        (["n"], [], "The trials tell d from n."),
        ([], ["m"], "The trials do not tell d from m."),
        (["n"], ["m"], "The trials tell d from n, not from m."),
        (["1"], [], "The trials tell d from nothing."),
        ([], [], ""),
    ],
)
def test_the_page_names_what_a_symbol_is_told_from_and_what_not(
    told: list[str], not_told: list[str], sentence: str
) -> None:
    """The symbol 1 stands for a bound without the symbol."""
    one = {"symbol": "d", "told": told, "not_told": not_told}
    evidence = decode({"verdict": "SUPPORTED", "apart": [one]}, Evidence, "evidence")
    assert plain(claim_page._apart(evidence)) == sentence


def test_figures_of_one_name_are_files_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names are cut and cleaned, so that different ones may meet."""
    monkeypatch.setattr(claim_page.figures, "render", lambda each, form: each.title.encode())
    names = ["a b", "a-b", "a b", "c"]
    stored = [
        decode(figure(name=name, title=str(i)), Figure, "figure") for i, name in enumerate(names)
    ]
    files: dict[str, bytes] = {}
    drawn = claim_page._figures(stored, "p.a", files, "svg")  # type: ignore[arg-type]
    assert [files[str(each["path"])] for each in drawn] == [b"0", b"1", b"2", b"3"]
    assert len({each["label"] for each in drawn}) == 4


@pytest.mark.parametrize(
    ("kind", "told"),
    [("identity", "Identity; $7$ evaluations"), ("deterministic", "Deterministic; $7$ evaluations"),
     ("probability", "Probability; $7$ trials, $0$ failed")],
)  # fmt: skip
def test_a_search_has_evaluations_and_no_trials(kind: str, told: str) -> None:
    document = undrawn(claim("p.a", kind=kind))
    document["evidence"] |= {"n_trials": 7, "n_failed": 0, "level": None}
    (tried,) = load(FakeRun({"claim": {"p.a": document}})).claims
    assert str(claim_page.claim_page(tried, {})["brief"]).endswith(f"{told}.")
