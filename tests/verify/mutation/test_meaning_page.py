"""Changes of meaning on a page: counts by paper and procedure, and every list with its reasons."""

from __future__ import annotations

from click.testing import CliRunner

from trials.run.store import RunStore
from verify.cli.app import application
from verify.mutation.meaning_page import main, meaning_page
from verify.papers import catalogue

CATALOGUE = catalogue()


def document(procedure, **outcomes):
    judged = [
        {
            "kind": "meaning",
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
    "sxy.lemma4": document(
        "Search", n_for_m="asks less", m_dropped="not tried", divided_by_k="equivalent"
    ),
}


def test_counts_stand_by_paper_and_procedure():
    text = meaning_page(FOUND, {}, CATALOGUE)
    title = CATALOGUE.paper("ifca.eq3").title
    assert f"| {title} | Probability | 2 | 3 | 2 | 66.7 % | 1 | 1 | 0 | 0 | 0 |" in text
    title = CATALOGUE.paper("sxy.lemma4").title
    assert f"| {title} | Search | 1 | 0 | 0 | - | 0 | 0 | 1 | 1 | 1 |" in text


WEAKER = {
    "procedure": "Probability",
    "judged": [
        {"kind": "assumption", "mutant": f"condition {name}", "outcome": outcome, "why": why}
        for name, outcome, why in (
            ("many samples: dropped", "refuted", ""),
            ("many samples: k for d", "refuted", ""),
            ("small step: dropped", "true here", "x"),
            ("small step: k for d", "survived", "at d=1"),
        )
    ],
}


def test_changed_conditions_have_a_table_and_the_needless_ones_a_line():
    asks_more = document("Search", a="not tried")
    text = meaning_page(FOUND, {"ifca.eq3": WEAKER, "ifca.eq4": asks_more}, CATALOGUE)
    title = CATALOGUE.paper("ifca.eq3").title
    assert f"| {title} | Probability | 1 | 3 | 2 | 66.7 % | 1 | 0 | 0 | 0 | 0 |" in text
    assert "those of 1 claims in none" in text.replace("\n", " ")
    assert "needed (caught):\n\n* `ifca.eq3`: many samples.\n" in text
    assert "where they are tried:\n\n* `ifca.eq3`: small step.\n" in text
    assert "Missed:\n\n* `ifca.eq3`: condition small step: k for d.\n" in text
    assert "## Conditions" not in meaning_page(FOUND, {}, CATALOGUE)


def test_a_claim_that_tells_few_changes_apart_is_named_and_open_ones_count():
    lines = meaning_page(FOUND, {}, CATALOGUE).splitlines()
    assert [line for line in lines if "false or open" in line] == [
        "* `ifca.eq3`: 1 of 3 that are false or open."
    ]


def test_every_list_has_its_reasons_and_the_caught_ones_stand_too():
    text = meaning_page(FOUND, {}, CATALOGUE)
    assert "## Missed\n\n* `ifca.eq3`, d dropped: survived of x\\_1." in text
    assert "## Open\n\nopen of x\\_1 (1):\n\n* `ifca.eq3`: m for n.\n" in text
    assert "## True here\n\ntrue here of x\\_1 (1):\n\n* `ifca.eq4`: d dropped.\n" in text
    assert "## Equivalent\n\nequivalent of x\\_1 (1):\n\n* `sxy.lemma4`: divided by k.\n" in text
    assert text.endswith("## Caught\n\n* `ifca.eq3`: k for d.\n* `ifca.eq4`: k for d.\n")
    assert "## Missed\n\nThere are none." in meaning_page({}, {}, CATALOGUE)


def test_reasons_that_differ_in_numbers_alone_are_one_cause():
    judged = [
        {"mutant": name, "outcome": "open", "why": f"INCONCLUSIVE with 0.{i} of the stated bound"}
        for i, name in enumerate(("k for d", "m for n"))
    ]
    text = meaning_page({"ifca.eq3": {"procedure": "Rate", "judged": judged}}, {}, CATALOGUE)
    assert "do not decide (2):\n\n* `ifca.eq3`: k for d; m for n.\n" in text


def test_the_page_has_the_claims_of_all_runs(tmp_path, capsys):
    config = {"profile": "quick", "claims": [], "level": 0.05, "seed": 0}
    for name, found in FOUND.items():
        (tmp_path / name).mkdir()
        path = tmp_path / name / "store.sqlite"
        with RunStore.create(path, root_seed=0, config=config) as store:
            store.put_document("meaning", name, found)
            store.put_document("conditions", name, {**found, **WEAKER})
            store.put_document("meaning", f"{name}-part", {**found, "part": True})
    main([str(tmp_path / name) for name in FOUND])
    assert capsys.readouterr().out == meaning_page(
        FOUND, {name: {**found, **WEAKER} for name, found in FOUND.items()}, CATALOGUE
    )


def test_claims_without_an_outcome_are_named():
    lacking = {"meaning": [], "conditions": ["ifca.thm1", "ifca.thm2"]}
    text = meaning_page(FOUND, {}, CATALOGUE, lacking)
    assert "* Conditions of 2 claims: `ifca.thm1`, `ifca.thm2`." in text
    assert "* Formulas" not in text
    assert "## Not reached" not in meaning_page(FOUND, {}, CATALOGUE, {"conditions": []})


def test_a_scan_that_was_interrupted_leaves_the_rest_named(tmp_path, capsys):
    """The formulas of one claim of three are there, and one claim is no claim of trials."""
    directory = tmp_path / "run"
    arguments = ["--seed", "0", "--output", str(directory), "--jobs", "1"]
    ran = CliRunner().invoke(
        application, ["run", "ifca.eq3", "ifca.eq4", "sxy.lemma12", *arguments]
    )
    assert ran.exit_code == 0
    with RunStore.open(directory / "store.sqlite") as store:
        store.put_document("meaning", "ifca.eq4", FOUND["ifca.eq4"])
    capsys.readouterr()
    main([str(directory)])
    text = capsys.readouterr().out
    assert "* Formulas of 1 claims: `sxy.lemma12`." in text
    assert "* Conditions of 2 claims: `ifca.eq4`, `sxy.lemma12`." in text
