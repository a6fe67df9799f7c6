"""``falsify``: supported claims at random places, and larger searches."""

from __future__ import annotations

import json
import os
import tempfile
from functools import partial

import pytest
from click.testing import CliRunner

from tests import forking
from trials.run.store import RunStore, StoreError
from verify.cli import exits, falsifying
from verify.cli.app import application
from verify.cli.examined import decided_among
from verify.mutation.inside import Found, Refuted
from verify.papers import catalogue

pytestmark = pytest.mark.usefixtures("forked_workers")
#: A search, one that trials decide cell by cell, and one that no place can be asked about.
SEARCH, TRIALS, REFUTED = "ifca.cor1-burn-in", "ifca.eq30", "odcl.fig5-phase-as-printed"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    directory = tmp_path_factory.mktemp("falsify") / "run"
    asked = ["run", SEARCH, TRIALS, REFUTED, "--output", str(directory), "--executor", "serial"]
    result = CliRunner().invoke(application, asked)
    assert result.exit_code == 0, result.output
    return directory


def falsify(*arguments, jobs=1):
    asked = ["falsify", *map(str, arguments), "--jobs", str(jobs)]
    return CliRunner().invoke(application, asked)


def trials_of(run):
    with RunStore.open(run / "store.sqlite", readonly=True) as store:
        return store.verify()


def test_every_supported_claim_is_tried_and_the_run_stays_as_it_was(finished):
    before = trials_of(finished)
    result = falsify(finished, "--places", 3)
    assert result.exit_code == exits.EXPECTED, result.output
    lines = result.output.splitlines()
    assert f"{SEARCH}: not refuted by a larger search" in lines
    assert [line for line in lines if line.startswith(f"{TRIALS}: refuted at 0 of 3 places;")]
    assert not [line for line in lines if line.startswith(REFUTED)]
    assert lines[-1] == (
        "claims at random places: 1 (3 places); searches with a larger budget: 1; refuted: 0"
    )
    assert trials_of(finished) == before


def test_workers_find_what_one_process_finds(finished, monkeypatch, tmp_path):
    """Two claims and then one, each with its own verdict in the run, and no copy is left."""
    monkeypatch.setattr(falsifying, "_TOGETHER", 2)
    folders = partial(tempfile.TemporaryDirectory, dir=tmp_path)
    monkeypatch.setattr(falsifying.tempfile, "TemporaryDirectory", folders)
    one, two = (falsify(finished, "--places", 3, "--json", jobs=jobs) for jobs in (1, 2))
    assert list(tmp_path.rglob("*.sqlite")) == []
    assert one.exit_code == two.exit_code == exits.EXPECTED, two.output
    assert json.loads(one.output) == json.loads(two.output)
    assert [each["claim"] for each in json.loads(two.output)["claims"]] == [SEARCH, TRIALS, REFUTED]


def test_a_claim_that_cannot_be_tried_says_why_where_it_is_named(finished):
    result = falsify(finished, REFUTED)
    assert result.exit_code == exits.EXPECTED
    assert result.output.splitlines()[0] == f"{REFUTED}: not tried, because it is REFUTED"


def test_a_refuted_claim_is_printed_with_its_place_and_ends_with_another_exit_code(
    finished, monkeypatch
):
    place = Refuted(cell={"m": 7, "gamma": 0.1 + 0.2}, summary="above it")
    found = Found(claim=TRIALS, procedure="P", n_places=2, n_held=1, refuted=(place,))
    monkeypatch.setattr(falsifying, "look_inside", lambda *_, **__: found)
    result = falsify(finished, TRIALS)
    assert result.exit_code == exits.UNEXPECTED
    assert result.output.splitlines()[1:3] == [
        "  m=7, gamma=0.30000000000000004",
        "    above it",
    ]
    printed = json.loads(falsify(finished, TRIALS, "--json").output)
    assert printed["refuted"] == [TRIALS]
    assert printed["claims"][0]["refuted"] == [vars(place)]


def test_a_claim_whose_own_code_fails_does_not_end_the_others(finished, monkeypatch):
    look = falsifying.look_inside

    def failing(examination, *given, **more):
        if examination.claim.id == SEARCH:
            raise TypeError("of one's own")
        return look(examination, *given, **more)

    monkeypatch.setattr(falsifying, "look_inside", failing)
    result = falsify(finished, "--places", 2)
    assert result.exit_code == exits.UNEXPECTED
    lines = result.output.splitlines()
    told = "not tried, because its own code failed (TypeError: of one's own)"
    assert f"{SEARCH}: {told}" in lines
    assert lines[-1].endswith("refuted: 0; failed: 1")
    assert [line for line in lines if line.startswith(f"{TRIALS}: refuted at 0 of 2 places")]


def test_a_claim_at_ones_own_values_keeps_its_name_and_its_values(tmp_path):
    asked = f"{TRIALS}[delta=0.1]"
    run = ["run", asked, "--output", str(tmp_path / "run"), "--executor", "serial"]
    assert CliRunner().invoke(application, run).exit_code == 0
    result = falsify(tmp_path / "run", "--places", 2)
    assert result.output.startswith(f"{asked}: refuted at 0 of 2 places")


@pytest.mark.parametrize("command", ["falsify", "mutate"])
def test_an_interrupt_ends_the_work_and_removes_the_copy(finished, tmp_path, command):
    """A process that ends at once would leave a copy of the run behind."""
    script = f"""
import os, pathlib, signal, tempfile, time
tempfile.tempdir = None  # so that it is looked up again
from verify.cli.signals import quick_exit
quick_exit()
from verify.cli.app import application
from verify.cli.examined import decided_among
from verify.mutation.examination import Examination

def interrupted(*given, **more):
    assert list(pathlib.Path({str(tmp_path)!r}).rglob("*.sqlite")), "the copy is elsewhere"
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
    raise AssertionError("the work went on")

Examination.evidence = interrupted
application.main([{command!r}, {str(finished)!r}, {TRIALS!r}, "--jobs", "1"])
"""
    ended = forking.run(["-c", script], env={**os.environ, "TMPDIR": str(tmp_path)})
    assert ended.returncode == exits.INTERRUPTED, ended.stderr
    assert list(tmp_path.rglob("*.sqlite")) == []


def test_a_run_of_other_code_is_refused_before_any_place(finished, monkeypatch):
    """Else every place would silently count as one that cannot be tried."""

    def changed(_store, experiments):
        raise StoreError(f"{next(iter(experiments)).name} has changed")

    monkeypatch.setattr(falsifying, "refuse_other_code", changed)
    result = falsify(finished, TRIALS)
    assert result.exit_code == exits.USAGE
    assert "ifca.sc-step has changed" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--places", 0], "--places=0 must be at least 1"),
        (["--seed", -1], "--seed=-1 must be at least 0"),
        (["--jobs", 0], "error: --jobs=0 must be an integer from 1 to 1024"),
        (["odcl.lemma3"], "has decided none of these claims"),
        (["odcl.lema3"], "did you mean odcl.lemma3"),
    ],
)
def test_bad_input_is_refused_before_work_starts(finished, arguments, message):
    result = CliRunner().invoke(application, ["falsify", str(finished), *map(str, arguments)])
    assert result.exit_code == exits.USAGE
    assert message in result.output


@pytest.mark.parametrize("asked", ["d=10,norm=2.0", "norm=2,d=10"])
def test_a_decided_claim_is_found_in_whatever_order_its_values_are_named(asked):
    """The run has the order of its first call, which names its trials and its verdict."""
    claim, stored = "ifca.k2-random-as-printed", "ifca.k2-random-as-printed[d=10,norm=2.0]"
    decided = {stored: {}, claim: {}, "ifca.eq3": {}}
    found = decided_among(catalogue(), [f"{claim}[{asked}]"], decided, "quick")
    assert [str(planned.selection) for planned in found] == [stored]
    assert {cell["d"] for cell in found[0].procedure.cells} == {10}
    other = decided_among(catalogue(), [f"{claim}[{asked},k=3]"], decided, "quick")
    assert other == []
    every = decided_among(catalogue(), [], decided, "quick")
    assert [str(planned.selection) for planned in every] == list(decided)


def test_a_claim_whose_own_code_failed_is_not_counted_as_searched(capsys):
    found = [Found(claim="a", procedure="Search"), Found(claim="b", procedure="", error="oops")]
    assert falsifying._close(found, False) == exits.UNEXPECTED
    told = capsys.readouterr().out
    assert "searches with a larger budget: 1;" in " ".join(told.split())
    assert "failed: 1" in told


#: Each outcome that a claim can have: what it is, in the numbers of the last line.
PLACE = Refuted(cell={"m": 7}, summary="above it")
NONE_TRIED = (("too large", 3), ("not whole", 2), ("no root", 1), ("a pole", 1))
OUTCOMES = {
    "searched": Found(claim="searched", procedure="Search", n_held=1),
    "search refuted": Found(claim="search refuted", procedure="Search", refuted=(PLACE,)),
    "held": Found(claim="held", procedure="P", n_places=1000, n_held=997, n_void=2, n_open=1),
    "refuted": Found(claim="refuted", procedure="P", n_places=2, n_held=1, refuted=(PLACE,)),
    "no place tried": Found(claim="no place tried", procedure="P", n_places=7, failures=NONE_TRIED),
    "left out": Found(claim="left out", procedure="P", why="it is REFUTED"),
    "broken": Found(claim="broken", procedure="", error="oops"),
}


@pytest.mark.parametrize(
    ("names", "code", "told"),
    [
        ([], exits.EXPECTED, (0, 0, 0, 0, "")),
        (["no place tried"], exits.EXPECTED, (1, 7, 0, 0, "")),
        (["left out", "searched", "held"], exits.EXPECTED, (1, "1,000", 1, 0, "")),
        (["search refuted", "no place tried"], exits.UNEXPECTED, (1, 7, 1, 1, "")),
        (["broken", "held"], exits.UNEXPECTED, (1, "1,000", 0, 0, "; failed: 1")),
        (list(OUTCOMES), exits.UNEXPECTED, (3, "1,009", 2, 2, "; failed: 1")),
    ],
    ids=["none", "no place", "three kinds", "refuted", "broken", "all"],
)
def test_the_last_line_counts_each_outcome_once(names, code, told, capsys):
    """A claim at places counts as one even if no place could be tried."""
    found = [OUTCOMES[name] for name in names]
    assert falsifying._close(found, False) == code
    places, n_places, searches, refuted, failed = told
    assert " ".join(capsys.readouterr().out.split()) == (
        f"claims at random places: {places} ({n_places} places); searches with a larger budget: "
        f"{searches}; refuted: {refuted}{failed}"
    )
    assert falsifying._close(found, True) == code
    printed = json.loads(capsys.readouterr().out)
    assert printed["refuted"] == [name for name in names if "refuted" in name]
    assert printed["failed"] == [name for name in names if name == "broken"]
    assert [each["claim"] for each in printed["claims"]] == names


def test_a_claim_whose_places_cannot_be_tried_says_why_at_the_commonest_reasons(capsys):
    falsifying._print(OUTCOMES["no place tried"], is_named=False)
    falsifying._print(OUTCOMES["held"], is_named=False)
    assert capsys.readouterr().out.replace("\n  ", "; ").splitlines() == [
        "no place tried: refuted at 0 of 7 places; 0 hold, 0 say nothing, 0 are open, 7 cannot be "
        "tried; 3 cannot be tried: too large; 2 cannot be tried: not whole; "
        "1 cannot be tried: no root",
        "held: refuted at 0 of 1000 places; 997 hold, 2 say nothing, 1 are open, 0 cannot be tried",
    ]
