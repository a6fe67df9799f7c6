"""Every statistical claim that is not refuted names its placebos, or says why it has none."""

import pytest

from verify.evidence import Verdict
from verify.papers import Paper, catalogue
from verify.procedures.base import PROFILES
from verify.procedures.comparison import Comparison
from verify.procedures.invented import invent_trials
from verify.procedures.placebos import Entry, Occurs, Placebo

#: At most so many statistical claims of a paper have no line yet.
UNNAMED = {"ifca": 0, "odcl": 0, "sxy": 0}

PAPERS = catalogue().papers
NAMED = [
    (claim.id, entry)
    for paper in PAPERS
    for claim in paper.claims
    if (entry := paper.placebos_of(claim.id)) is not None
]


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.id)
def test_every_statistical_claim_has_a_line_in_the_registry(paper: Paper) -> None:
    unnamed = [
        claim.id
        for claim in paper.claims
        if claim.expected is not Verdict.REFUTED
        and paper.placebos_of(claim.id) is None
        and claim.build(PROFILES[claim.smallest_profile]).statistical
    ]
    assert len(unnamed) <= UNNAMED[paper.id], unnamed


@pytest.mark.parametrize(("name", "entry"), NAMED, ids=[name for name, _ in NAMED])
def test_an_entry_can_be_tried(name: str, entry: Entry) -> None:
    """Its columns are the experiment's, its cells are possible, and a comparison has a side."""
    claim = catalogue()[name]
    procedure = claim.build(PROFILES[claim.smallest_profile])
    assert procedure.statistical, "a search has no placebo"
    if isinstance(entry, str):
        assert len(entry) > 10
        return
    assert entry
    assert len({placebo.name for placebo in entry}) == len(entry)
    for placebo in entry:
        for cell in procedure.every_cell():
            _try(placebo, procedure.experiment(), cell)
        if isinstance(procedure, Comparison) and isinstance(placebo, Placebo):
            assert placebo.side in procedure.columns


def _try(placebo, experiment, cell):
    assert experiment is not None
    full = dict(experiment.check(cell))
    table = invent_trials(experiment, experiment.block_size)
    if isinstance(placebo, Occurs):
        assert placebo.event(table, full).shape == (table.n_trials,)
        return
    found, moved = placebo.view(None).at(experiment, full)
    swapped = placebo.swapped(invent_trials(found, found.block_size), full)
    assert (swapped.columns, swapped.values.shape) == (table.columns, table.values.shape), moved


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.id)
def test_a_registry_names_claims_of_its_paper_only(paper: Paper) -> None:
    assert set(paper.registry()) <= {claim.id for claim in paper.claims}
