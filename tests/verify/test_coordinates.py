"""Every word among a search's coordinates is explained, and every explanation is used."""

from __future__ import annotations

import re

import pytest

from verify import coordinates
from verify.decisions.domain import as_domain
from verify.papers import catalogue
from verify.plan import plan
from verify.procedures.base import PROFILES
from verify.procedures.search import Search

#: One letter of a paper, with an index or without.
LETTER = re.compile(
    r"(alpha|beta|gamma|delta|epsilon|varepsilon|zeta|eta|theta|kappa|lam|mu|nu|xi|rho|sigma|tau|"
    r"phi|chi|psi|omega|Gamma|Delta|Theta|Lambda|Sigma|Phi|Psi|Omega|[A-Za-z])(_\w+)?"
)
PLANNED = plan(catalogue(), (), PROFILES["quick"]).claims
SEARCHES = [p for p in PLANNED if isinstance(p.procedure, Search)]
MEANINGS = {p.claim.id: as_domain(p.procedure.domain).meanings() for p in SEARCHES}
NAMES = {p.claim.id: as_domain(p.procedure.domain).names() for p in SEARCHES}


def test_words_have_a_meaning():
    unknown = [
        f"{claim}: {name}"
        for claim, names in NAMES.items()
        for name in names
        if not (LETTER.fullmatch(name) or name == "seed")
        and not (MEANINGS[claim].get(name) or coordinates.meaning(claim, name))
    ]
    assert not unknown, "a domain gives the meaning, or coordinates.toml of the paper"


def test_meanings_of_ranges_are_short_phrases():
    for claim, meanings in MEANINGS.items():
        for name, text in meanings.items():
            assert 0 < len(text) <= 100, (claim, name)
            assert not text.endswith("."), (claim, name)
            assert not text[0].isupper() or text[1:2] == " ", (claim, name)


@pytest.mark.parametrize("paper", ["ifca", "odcl", "sxy"])
def test_meanings_are_used_and_short(paper):
    used = {n for claim, names in NAMES.items() if claim.startswith(f"{paper}.") for n in names}
    for key, text in coordinates.table(paper).items():
        claim, _, name = key.rpartition(".")
        assert name in (NAMES[claim] if claim else used), key
        assert 0 < len(text) <= 100, key
        assert not text.endswith("."), key
        assert not text[0].isupper() or text[1:2] == " ", key


def test_a_meaning_of_one_claim_goes_before_that_of_the_paper(monkeypatch):
    table = {"tilt": "share of the lean", "toy.one.tilt": "angle"}
    monkeypatch.setattr(coordinates, "table", lambda paper: table if paper == "toy" else {})
    assert coordinates.meaning("toy.one", "tilt") == "angle"
    assert coordinates.meaning("toy.two", "tilt") == "share of the lean"
    assert coordinates.meaning("toy.two", "edge") == coordinates.meaning("own.one", "tilt") == ""
    assert coordinates.sentence("toy.two", ("n", "tilt")) == "Coordinates: tilt: share of the lean."
    assert coordinates.sentence("toy.two", ("n",)) == ""


def test_a_paper_without_the_file_has_no_meanings():
    assert coordinates.table("nobody") == {}
