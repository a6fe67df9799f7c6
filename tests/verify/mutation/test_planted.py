"""The table of planted statements, and a share of them tried."""

import pytest

from tests.verify.mutation.planted import Planted, outcomes, planted
from verify.papers import catalogue

#: Claims whose planted statements an ordinary run decides: cheap ones of each paper, and those
#: whose cells were mended.
TRIED = (
    "ifca.eq25-sharp",
    "ifca.lemma3-gap",
    "odcl.def1-def3",
    "odcl.eq7-sharp",
    "odcl.lemma10-foreign-sharp",
    "odcl.remark14",
    "sxy.floor-sqrt-kappa",
)


@pytest.mark.parametrize("statement", planted(), ids=str)
def test_a_planted_statement_differs_from_its_claim_in_the_named_part(statement):
    claim = catalogue()[statement.claim]
    changed = statement.plant(claim.statement)
    assert changed != claim.statement
    assert statement.why


def test_a_part_that_the_statement_does_not_have_is_an_error():
    stated = catalogue()["odcl.eq7-sharp"].statement
    entry = Planted(claim="odcl.eq7-sharp", part="term other", becomes="1", why="")
    with pytest.raises(ValueError, match="not enough values"):
        entry.plant(stated)


def test_a_share_of_the_planted_statements_loses_its_support():
    chosen = [statement for statement in planted() if statement.claim in TRIED]
    found = {str(statement): outcome for statement, outcome in outcomes(chosen)}
    assert len(found) == len(TRIED)
    assert [name for name, outcome in found.items() if not outcome.startswith("lost")] == []
