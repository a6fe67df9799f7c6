"""Changes of meaning on a page: counts by paper and procedure, and every list with its reasons."""

from __future__ import annotations

from trials.run.store import RunStore
from verify.mutation.meaning_page import main, meaning_page
from verify.papers import catalogue

CATALOGUE = catalogue()


def document(procedure, **outcomes):
    judged = [
        {
            "kind": "assumption" if name.startswith("condition") else "meaning",
            "mutant": name.replace("_", " "),
            "outcome": outcome,
            "why": f"{outcome} of x_1",
        }
        for name, outcome in outcomes.items()
    ]
    return {
        "profile": "quick",
        "procedure": procedure,
        "n_mutants": len(judged),
        "judged": judged,
    }


FOUND = {
    "ifca.eq3": document("Probability", k_for_d="refuted", d_dropped="survived", m_for_n="open"),
    "ifca.eq4": document("Probability", k_for_d="unsupported", d_dropped="true here"),
    "sxy.lemma4": document("Search", n_for_m="asks less", m_dropped="not tried"),
}


def test_counts_stand_by_paper_and_procedure():
    text = meaning_page(FOUND, CATALOGUE)
    title = CATALOGUE.paper("ifca.eq3").title
    assert f"| {title} | Probability | 2 | 3 | 2 | 66.7 % | 1 | 1 | 0 | 0 |" in text
    title = CATALOGUE.paper("sxy.lemma4").title
    assert f"| {title} | Search | 1 | 0 | 0 | - | 0 | 0 | 1 | 1 |" in text


def test_changed_conditions_have_a_score_of_their_own():
    with_conditions = document(
        "Probability",
        k_for_d="refuted",
        condition_dropped="refuted",
        condition_k_for_d="open",
        condition_m_for_d="survived",
    )
    text = meaning_page({"ifca.eq3": with_conditions}, CATALOGUE)
    title = CATALOGUE.paper("ifca.eq3").title
    assert f"| {title} | Probability | 1 | 1 | 1 | 100.0 % | 0 | 0 | 0 | 0 |" in text
    assert f"| {title} | Probability | 2 | 1 | 50.0 % | 0 | 1 | 0 |" in text
    assert "## Conditions" not in meaning_page(FOUND, CATALOGUE)


def test_a_claim_that_tells_few_changes_apart_is_named_and_open_ones_count():
    lines = meaning_page(FOUND, CATALOGUE).splitlines()
    assert [line for line in lines if "false or open" in line] == [
        "* `ifca.eq3`: 1 of 3 that are false or open."
    ]


def test_every_list_has_its_reasons_and_the_caught_ones_stand_too():
    text = meaning_page(FOUND, CATALOGUE)
    assert "## Missed\n\n* `ifca.eq3`, d dropped: survived of x\\_1." in text
    assert "## Open\n\n* `ifca.eq3`, m for n: open of x\\_1." in text
    assert "## True here\n\n* `ifca.eq4`, d dropped: true here of x\\_1." in text
    assert text.endswith("## Caught\n\n* `ifca.eq3`: k for d.\n* `ifca.eq4`: k for d.\n")
    assert "## Missed\n\nThere are none." in meaning_page({}, CATALOGUE)


def test_the_page_has_the_claims_of_all_runs(tmp_path, capsys):
    config = {"profile": "quick", "claims": [], "level": 0.05, "seed": 0}
    for name, found in FOUND.items():
        (tmp_path / name).mkdir()
        path = tmp_path / name / "store.sqlite"
        with RunStore.create(path, root_seed=0, config=config) as store:
            store.put_document("meaning", name, found)
    main([str(tmp_path / name) for name in FOUND])
    assert capsys.readouterr().out == meaning_page(FOUND, CATALOGUE)
