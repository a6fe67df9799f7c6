"""The page of scores: counts, survivors with their reasons, conditions apart from the score."""

from __future__ import annotations

from trials.run.store import RunStore
from verify.mutation.page import main, page
from verify.papers import catalogue

CATALOGUE = catalogue()


def judged(kind, outcome, mutant, why=""):
    return {"kind": kind, "outcome": outcome, "mutant": mutant, "why": why}


SCORES = {
    "ifca.eq3": {
        "procedure": "Probability",
        "n_mutants": 5,
        "judged": [
            judged("factor", "refuted", "term a: times 1/4"),
            judged("factor", "survived", "term a: times 3/4", "within the margin: x_1*y"),
            judged("failure", "few trials", "failure probability: squared"),
            judged("assumption", "refuted", "condition n: dropped"),
            judged("assumption", "true here", "condition m: dropped"),
        ],
    },
    "sxy.lemma4": {
        "procedure": "Search",
        "n_mutants": 2,
        "judged": [
            judged("exponent", "unsupported", "term b: d^(1/4) less"),
            judged("exponent", "not tried", "term b: d^(1/2) less"),
        ],
    },
    "sxy.lemma3": {  # a sample
        "procedure": "Constants",
        "n_mutants": 9,
        "judged": [judged("factor", "unseen", "term c: times 3/4")],
    },
}


def rows(text):
    return {line.split("|")[1].strip(): line for line in text.splitlines() if "|" in line}


def test_counts_stand_by_paper_procedure_and_change_and_samples_are_left_out():
    text = page(SCORES, CATALOGUE, "quick")
    assert "profile quick: 2 claims, 3 false statements, 2 caught (66.7 %), of\nwhich 1 are" in text
    assert "lemma3`" not in text
    found = rows(text)
    assert found["Probability"] == "| Probability | 2 | 1 | 50.0 % | 1 | 0 | 1 | 0 |"
    assert found["exponent"] == "| exponent | 1 | 1 | 100.0 % | 0 | 0 | 0 | 1 |"
    assert found[CATALOGUE.paper("sxy.lemma4").title].endswith(
        "| 1 | 1 | 100.0 % | 0 | 0 | 0 | 1 |"
    )


def test_conditions_have_no_score():
    text = page(SCORES, CATALOGUE, "quick")
    title = CATALOGUE.paper("ifca.eq3").title
    assert f"| {title} | dropped | 1 | 1 | 0 | 0 |" in text
    assert "assumption |" not in text


def test_every_survivor_stands_with_its_reason():
    text = page(SCORES, CATALOGUE, "quick")
    assert "* `ifca.eq3`, term a: times 3/4 (survived): within the margin: x\\_1\\*y." in text
    without = {"sxy.lemma4": SCORES["sxy.lemma4"]}
    assert page(without, CATALOGUE, "quick").endswith("## Survivors\n\nThere are none.\n")


def test_the_page_of_a_run_reads_the_scores_of_its_profile(tmp_path, capsys):
    config = {"profile": "quick", "claims": [], "level": 0.05, "seed": 0}
    with RunStore.create(tmp_path / "store.sqlite", root_seed=0, config=config) as store:
        store.put_document("power", "ifca.eq3", {"profile": "quick", **SCORES["ifca.eq3"]})
        store.put_document("power", "sxy.lemma4", {"profile": "full", **SCORES["sxy.lemma4"]})
    main(str(tmp_path))
    assert capsys.readouterr().out == page({"ifca.eq3": SCORES["ifca.eq3"]}, CATALOGUE, "quick")
