"""The table of placebos: claims that trials decide, void cells, refutations left out."""

from __future__ import annotations

from trials.run.store import RunStore
from verify.mutation.placebo_page import main, placebo_page
from verify.papers import catalogue

CATALOGUE = catalogue()


def evidence(verdict, *voids):
    return {"evidence": {"verdict": verdict, "cells": [{"void": void} for void in voids]}}


FOUND = {
    "ifca.eq5": evidence("SUPPORTED", "", "a step that is not made passes too", ""),
    "ifca.t2": evidence("VACUOUS", "no stranger", "no stranger"),
    "ifca.thm1-wider": evidence("SUPPORTED", ""),
    "ifca.eq4": evidence("SUPPORTED", "", ""),  # a law: it has no placebo
    "ifca.cor1-as-printed": evidence("REFUTED", ""),
    "ifca.eq3": evidence("SUPPORTED"),  # a search
}


def test_claims_and_cells_are_counted_by_paper_and_procedure():
    lines = placebo_page(FOUND, CATALOGUE, "quick").splitlines()
    title = CATALOGUE.paper("ifca.eq5").title
    assert lines[2:] == [f"| {title} | Probability | 4 | 3 | 3 | 6 | 3 | 1 | 1 | 1 |"]


def test_a_later_run_counts_where_two_have_one_claim(tmp_path, capsys, monkeypatch):
    # evidence of cells alone is no document of a claim, so it is stored as another kind
    monkeypatch.setattr(
        "verify.mutation.placebo_page.claim_documents", lambda store: store.documents("meaning")
    )
    config = {"profile": "quick", "claims": [], "level": 0.05, "seed": 0}
    for name, void in (("first", "passes too"), ("second", "")):
        (tmp_path / name).mkdir()
        with RunStore.create(tmp_path / name / "store.sqlite", root_seed=0, config=config) as store:
            store.put_document("meaning", "ifca.eq5", evidence("SUPPORTED", void))
    main([str(tmp_path / "first"), str(tmp_path / "second")])
    assert capsys.readouterr().out.splitlines()[-1].endswith(" | 1 | 1 | 1 | 1 | 0 | 1 | 0 | 0 |")
