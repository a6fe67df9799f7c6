"""A claim's page: which symbols the trials tell apart, and the names of its figures."""

from __future__ import annotations

import re

import pytest

from reports import claim_page
from reports.collect import load
from reports.schema import Evidence, Figure, decode
from tests.reports.fakes import FakeRun, claim, figure, undrawn


def plain(text: str) -> str:
    """The words of LaTeX without its commands and dollars."""
    return re.sub(r"\\\w+\{([^{}]*)\}", r"\1", text).replace("$", "")


@pytest.mark.parametrize(
    ("told", "not_told", "sentence"),
    [
        (["n"], [], "The trials tell d from n."),
        ([], ["m"], "The trials do not tell d from m."),
        (["n"], ["m"], "The trials tell d from n, not from m."),
        (["1"], [], "The trials tell d from a constant."),
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


@pytest.mark.parametrize(
    ("kind", "n_trials", "replaced"),
    [("deterministic", 0, True), ("expectation", 0, True), ("deterministic", 40, False)],
)
def test_a_search_that_a_certificate_replaced_is_not_told_as_made(
    kind: str, n_trials: int, replaced: bool
) -> None:
    """ "0 evaluations" stood above a procedure of 250 evaluations."""
    document = undrawn(claim("p.a", kind=kind, procedure="250 evaluations over n."))
    document["evidence"] |= {"n_trials": n_trials, "n_failed": 0, "proved": {}}
    (tried,) = load(FakeRun({"claim": {"p.a": document}})).claims
    page = claim_page.claim_page(tried, {})
    told = dict(page["after"])["Procedure"]
    before = "A certificate stands in the place of this search. " if replaced else ""
    assert told == f"{before}250 evaluations over n."
    assert ("evaluations" in page["brief"] or "trials" in page["brief"]) is not replaced
    bare = undrawn(claim("p.a", procedure=""))
    bare["evidence"] |= {"n_trials": 0, "proved": {}}
    (tried,) = load(FakeRun({"claim": {"p.a": bare}})).claims
    assert "Procedure" not in dict(claim_page.claim_page(tried, {})["after"])


def test_the_symbols_that_trials_tell_apart_are_the_letters_of_the_paper() -> None:
    one = {"symbol": "lam", "told": ["alpha_0", "1"], "not_told": ["Delta"]}
    evidence = decode({"verdict": "SUPPORTED", "apart": [one]}, Evidence, "evidence")
    assert claim_page._apart(evidence) == (
        r"The trials tell $\lambda$ from $\alpha_{0}$ and a constant, not from $\Delta$."
    )


@pytest.mark.parametrize("limits", [{}, {"lower": [0.5]}, {"upper": [2.0]}])
@pytest.mark.parametrize("panels", [0, 1, 3])
@pytest.mark.parametrize("told", ["", "Bars are quantiles."])
def test_bars_are_explained_wherever_they_stand(limits: dict, panels: int, told: str) -> None:
    """Those of a figure of several panels were not."""
    series = {"label": "a", "x": [1.0], "y": [1.0], **limits}
    bare = {"label": "b", "x": [1.0], "y": [1.0]}
    many = [{"series": [bare]}] * (panels - 1) + [{"series": [bare, series]}]
    held = {"panels": many} if panels else {"series": [bare, series]}
    one = decode({"title": "A", "caption": told, **held}, Figure, "figure")
    said = plain(claim_page._caption(one))
    explained = "Bars and bands span the lower and upper confidence limits." in said
    assert explained is (bool(limits) and not told)
