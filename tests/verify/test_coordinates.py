"""Every word among a search's coordinates is explained."""

from __future__ import annotations

import re

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
        if not (LETTER.fullmatch(name) or name == "seed") and not MEANINGS[claim].get(name)
    ]
    assert not unknown, "the range of a coordinate gives its meaning"


def test_meanings_of_ranges_are_short_phrases():
    for claim, meanings in MEANINGS.items():
        for name, text in meanings.items():
            assert 0 < len(text) <= 100, (claim, name)
            assert not text.endswith("."), (claim, name)
            assert not text[0].isupper() or text[1:2] == " ", (claim, name)
