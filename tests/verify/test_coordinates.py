"""Every word among a search's coordinates is explained."""

from __future__ import annotations

import re
from functools import cache

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


@cache
def searches():
    """Every search of the catalogue with its claim.  Building all of them takes a CPU second."""
    planned = plan(catalogue(), (), PROFILES["quick"]).claims
    return [p for p in planned if isinstance(p.procedure, Search)]


def test_words_have_a_meaning():
    unknown = [
        f"{planned.claim.id}: {name}"
        for planned in searches()
        for domain in [as_domain(planned.procedure.domain)]
        for name in domain.names()
        if not (LETTER.fullmatch(name) or name == "seed") and not domain.meanings().get(name)
    ]
    assert len(searches()) > 200
    assert not unknown, "the range of a coordinate gives its meaning"


def test_meanings_of_ranges_are_short_phrases():
    for planned in searches():
        claim = planned.claim.id
        for name, text in as_domain(planned.procedure.domain).meanings().items():
            assert 0 < len(text) <= 100, (claim, name)
            assert not text.endswith("."), (claim, name)
            assert not text[0].isupper() or text[1:2] == " ", (claim, name)
