"""``mutate``: scores of a finished run, on a copy of its trials."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import get_args

import pytest
from click.testing import CliRunner

from trials.run import local
from trials.run.directory import STORE_NAME
from trials.run.store import RunStore
from verify import session
from verify.cli import mutating
from verify.cli.app import application
from verify.cli.examined import examination_of
from verify.cli.mutating import SampleRequest, _keep, _print_by_procedure, sample_request
from verify.mutation.examination import Standing
from verify.mutation.outcomes import Judged, Outcome, describe
from verify.mutation.score import Score, _Judge
from verify.papers import catalogue
from verify.plan import plan
from verify.procedures.base import PROFILES
from verify.session import RunConfig
from verify.stored import read_score

pytestmark = pytest.mark.usefixtures("forked_workers")
CLAIM = "ifca.cor1-burn-in"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    directory = tmp_path_factory.mktemp("mutate") / "run"
    asked = ["run", CLAIM, "--output", str(directory), "--executor", "serial"]
    result = CliRunner().invoke(application, asked)
    assert result.exit_code == 0
    return directory


def trials_of(run):
    with RunStore.open(run / "store.sqlite", readonly=True) as store:
        return store.verify(), store.document("claim", CLAIM)


def power_of(run):
    with RunStore.open(run / "store.sqlite", readonly=True) as store:
        return store.document("power", CLAIM)


def test_a_sample_is_stored_and_does_not_replace_the_score_of_all_mutants(finished):
    whole_score = ["mutate", str(finished), "--jobs", "1"]
    sample = [*whole_score, "--sample", "1"]
    assert CliRunner().invoke(application, sample).exit_code == 0
    stored = power_of(finished)
    assert len(stored["judged"]) == 1 < stored["n_mutants"] == 2
    assert stored["refuted"] == ["eighth: 0.25 times as large"]
    assert CliRunner().invoke(application, whole_score).exit_code == 0
    whole = power_of(finished)
    assert (whole["n_caught"], whole["n_false"], len(whole["judged"])) == (2, 2, 2)
    assert CliRunner().invoke(application, sample).exit_code == 0
    assert power_of(finished) == whole


@pytest.mark.parametrize(
    ("profile", "judged", "is_sample", "is_kept"),
    [
        ("quick", 3, True, True),  # a new sample of as many
        ("quick", 3, False, True),
        ("quick", 4, True, True),
        ("quick", 2, True, False),
        ("standard", 2, True, True),  # of another profile: the old one says nothing about it
        ("quick", 2, False, True),  # all mutants: there are fewer of them now
    ],
)
def test_a_new_score_replaces_the_stored_one_unless_it_is_a_smaller_sample(
    tmp_path, profile, judged, is_sample, is_kept
):
    def score(n, outcome):
        tried = tuple(
            Judged(mutant=str(i), kind="factor", words="", outcome=outcome) for i in range(n)
        )
        return Score(claim=CLAIM, procedure="Search", original="SUPPORTED", judged=tried)

    session.create(tmp_path, RunConfig()).close()
    _keep(tmp_path, "quick", {CLAIM: score(3, "survived")}, is_sample=True)
    _keep(tmp_path, profile, {CLAIM: score(judged, "refuted")}, is_sample=is_sample)
    stored = power_of(tmp_path)
    assert (stored["n_caught"], len(stored["judged"])) == ((judged, judged) if is_kept else (0, 3))
    assert stored["profile"] == (profile if is_kept else "quick")


def test_claims_that_are_judged_together_have_the_scores_of_each_alone(finished):
    supported = Standing(verdict="SUPPORTED", mark="SUPPORTED", resolution=None, level=0.05)

    def scores(*names):
        request = SampleRequest(
            selections=names,
            profile="quick",
            standings=(supported,) * len(names),
            sample=1,
            run=str(finished / STORE_NAME),
        )
        return sample_request(request)

    together = scores("sxy.eq35", CLAIM)
    assert [score.claim for score in together] == ["sxy.eq35", CLAIM]
    assert together == [*scores("sxy.eq35"), *scores(CLAIM)]
    assert all(score.n_caught for score in together)


def test_one_worker_of_a_sample_is_this_process_and_two_find_the_same(finished, monkeypatch):
    started = []
    start_worker = local.start_worker
    monkeypatch.setattr(
        local, "start_worker", lambda *given: started.append(given) or start_worker(*given)
    )
    found = []
    for jobs, n_started in (("1", 0), ("2", 2)):
        asked = ["mutate", str(finished), "--sample", "1", "--json", "--jobs", jobs]
        result = CliRunner().invoke(application, asked)
        assert result.exit_code == 0, result.stderr
        found.append(json.loads(result.stdout))
        assert len(started) == n_started
    assert found[0] == found[1]
    assert found[0]["caught"] == 1


def test_samples_are_stored_with_the_run_opened_once_for_several(tmp_path, monkeypatch):
    session.create(tmp_path, RunConfig()).close()
    opened = []
    open_run = session.open_run

    def counted(directory, **named):
        opened.append(named)
        return open_run(directory, **named)

    monkeypatch.setattr(session, "open_run", counted)
    score = Score(claim=CLAIM, procedure="Search", original="SUPPORTED")
    _keep(tmp_path, "quick", {"a": score, "b": score}, is_sample=True)
    _keep(tmp_path, "quick", {}, is_sample=True)
    assert opened == [{"count": False}]
    with open_run(tmp_path, readonly=True)[0] as store:
        assert {read_score(store, "power", name)["claim"] for name in ("a", "b")} == {CLAIM}


def test_a_sample_of_nothing_is_refused(finished):
    result = CliRunner().invoke(application, ["mutate", str(finished), "--sample", "0"])
    assert result.exit_code == 3
    assert "--sample=0 must be at least 1" in result.stderr


def test_a_number_of_jobs_is_refused_by_the_name_of_its_flag(finished):
    result = CliRunner().invoke(application, ["mutate", str(finished), "--jobs", "0"])
    assert result.exit_code == 3
    assert "error: --jobs=0 must be an integer from 1 to 1024" in result.stderr


def test_false_statements_lose_their_support(finished):
    before = trials_of(finished)
    result = CliRunner().invoke(application, ["mutate", str(finished), "--json"])
    found = json.loads(result.stdout)
    (claim,) = found["claims"]
    assert result.exit_code == 0
    assert claim["original"] == "PROVED UP TO A LEMMA"
    assert found["tried"] >= 2
    assert found["caught"] == found["tried"]
    assert {j["outcome"] for j in claim["judged"]} <= {"refuted", "unsupported", "asks less"}
    assert trials_of(finished) == before


def test_the_score_is_printed_claim_by_claim(finished):
    result = CliRunner().invoke(application, ["mutate", str(finished), CLAIM])
    assert f"{CLAIM}: PROVED UP TO A LEMMA; caught" in result.stdout
    assert "changed statements that lost their support: " in result.stdout


def test_claims_that_the_run_has_not_decided_are_refused(finished):
    result = CliRunner().invoke(application, ["mutate", str(finished), "ifca.eq3"])
    assert result.exit_code == 3
    assert "has decided none of these claims" in result.stderr


def test_changes_of_meaning_are_printed_by_procedure_and_not_stored(finished):
    before = power_of(finished)
    result = CliRunner().invoke(application, ["mutate", str(finished), "--meaning"])
    assert result.exit_code == 0
    assert f"{CLAIM}: PROVED UP TO A LEMMA, but its formula has nothing to change" in result.stdout
    assert power_of(finished) == before


def test_an_interrupted_scan_keeps_its_part_and_goes_on(tmp_path, monkeypatch):
    """The third change is interrupted.  The next call judges it, and not the first two again."""
    directory = tmp_path / "run"
    ran = ["run", "ifca.eq4", "--output", str(directory), "--executor", "serial"]
    assert CliRunner().invoke(application, ran).exit_code == 0
    judge, asked = _Judge.judge_meaning, []

    def counted(self, mutant, points):
        asked.append(mutant.name)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return judge(self, mutant, points)

    monkeypatch.setattr(_Judge, "judge_meaning", counted)
    scan = ["mutate", str(directory), "--meaning"]
    assert CliRunner().invoke(application, scan).exit_code != 0
    with RunStore.open(directory / "store.sqlite", readonly=True) as store:
        part = read_score(store, "meaning", "ifca.eq4")
    assert part["part"] is True
    assert [j["mutant"] for j in part["judged"]] == asked[:2]
    CliRunner().invoke(application, scan)
    with RunStore.open(directory / "store.sqlite", readonly=True) as store:
        whole = read_score(store, "meaning", "ifca.eq4")
    assert "part" not in whole
    assert asked[3:] == [j["mutant"] for j in whole["judged"]][2:]
    assert whole["judged"][:2] == part["judged"]


def test_a_scan_of_an_older_version_goes_on_with_the_changes_that_it_did_not_know(
    tmp_path, monkeypatch
):
    """As if version 1 had not changed failure probabilities: all other outcomes are kept."""
    directory = tmp_path / "run"
    ran = ["run", "ifca.eq4", "--output", str(directory), "--executor", "serial"]
    assert CliRunner().invoke(application, ran).exit_code == 0
    asked = []

    def named(_self, mutant, _points):
        asked.append(mutant.name)
        return describe(mutant, "open", why=f"call {len(asked)}")

    monkeypatch.setattr(_Judge, "judge_meaning", named)
    monkeypatch.setitem(
        mutating._MEANINGS,
        "conditions",
        lambda *_: Score(claim="ifca.eq4", procedure="Probability", original="SUPPORTED"),
    )
    scan = ["mutate", str(directory), "--meaning"]
    assert CliRunner().invoke(application, scan).exit_code == 0
    new = [name for name in asked if name.startswith("failure probability")]
    with RunStore.open(directory / "store.sqlite") as store:
        whole = read_score(store, "meaning", "ifca.eq4")
        old = [j for j in whole["judged"] if j["mutant"] not in new]
        assert 0 < len(old) < len(asked)
        older = {name: value for name, value in whole.items() if name != "set"}
        store.put_document("meaning", "ifca.eq4", {**older, "judged": old})
    asked.clear()
    CliRunner().invoke(application, scan)
    assert asked == new
    with RunStore.open(directory / "store.sqlite", readonly=True) as store:
        again = read_score(store, "meaning", "ifca.eq4")
    assert [j for j in again["judged"] if j["mutant"] not in new] == old
    assert [j["mutant"] for j in again["judged"]] == [j["mutant"] for j in whole["judged"]]
    asked.clear()
    CliRunner().invoke(application, scan)
    assert asked == []


def test_the_share_of_each_procedure_is_printed(capsys):
    def score(procedure, *outcomes):
        judged = tuple(
            Judged(mutant=str(i), kind="meaning", words="", outcome=outcome)
            for i, outcome in enumerate(outcomes)
        )
        return Score(claim="a.b", procedure=procedure, original="SUPPORTED", judged=judged)

    _print_by_procedure(
        [
            score("Search", "refuted", "asks less"),
            score("Probability", "refuted", "survived", "not tried"),
            score("Probability", "unsupported", "unseen"),
            score("Rate", "asks less"),
        ]
    )
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert rows == [["Search", "1", "1", "100%"], ["Probability", "2", "4", "50%"]]


def test_changes_of_meaning_are_not_sampled(finished):
    asked = ["mutate", str(finished), "--meaning", "--sample", "1"]
    result = CliRunner().invoke(application, asked)
    assert result.exit_code == 3
    assert "--meaning tries every change: leave out --sample" in result.stderr


def test_the_unchanged_statement_is_examined_by_the_planned_procedure_at_the_users_values():
    """It is the one that would be built anew, and a changed statement gets one of its own."""
    (planned,) = plan(catalogue(), ["ifca.lemma1-law[n=3,d=2]"], PROFILES["quick"]).claims
    standing = Standing(verdict="SUPPORTED", mark="SUPPORTED", level=0.01)
    made = examination_of(planned, "quick", standing, store=None)
    statement = planned.claim.statement
    assert made.procedure(statement) is planned.procedure
    anew = replace(made, original=None).procedure(statement)
    assert anew is not planned.procedure
    assert anew.every_cell() == planned.procedure.every_cell()
    assert {(cell["n"], cell["d"]) for cell in anew.every_cell()} == {(3, 2)}
    changed = replace(statement, title="changed")
    assert made.procedure(changed) is not planned.procedure
    assert made.procedure(changed).every_cell() == anew.every_cell()


OUTCOMES = get_args(Outcome)
#: By the table of outcomes: what lost its support, and what kept it though it is false.
LOST, KEPT = ("refuted", "unsupported"), ("unseen", "survived")


@pytest.mark.parametrize("kinds", [("assumption", "boundary"), ("factor", "exponent", "boundary")])
def test_of_the_false_mutants_the_caught_ones_are_counted(kinds, capsys):
    """Conditions alone have a line of their own, and with others they do not count."""
    judged = tuple(
        Judged(mutant=f"{kind} {i}", kind=kind, words="", outcome=outcome, why=f"why {i}")
        for kind in kinds
        for i, outcome in enumerate([*OUTCOMES, "refuted", "not tried", "true here"])
    )
    mutating._print(Score(claim="a.b", procedure="p", original="SUPPORTED", judged=judged))
    first, *rest = capsys.readouterr().out.splitlines()
    only_conditions = kinds == ("assumption", "boundary")
    counted = [j for j in judged if only_conditions or j.kind in ("factor", "exponent")]
    caught = sum(j.outcome in LOST for j in counted)
    false = sum(j.outcome in (*LOST, *KEPT) for j in counted)
    assert (caught, false) == (6, 10)
    what = "conditions" if only_conditions else "SUPPORTED"
    assert first == f"a.b: {what}; caught {caught} of {false}"
    shown = " ".join(" ".join(rest).split())
    assert all((f"why {i}" in shown) for i, outcome in enumerate(OUTCOMES) if outcome in KEPT)
