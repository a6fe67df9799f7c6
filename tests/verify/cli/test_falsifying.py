"""``falsify``: supported claims at random places, and larger searches."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from trials.run.store import RunStore, StoreError
from verify.cli import exits, falsifying
from verify.cli.app import application
from verify.mutation.inside import Found

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
        "1 claims at 3 places, and 1 searches with a larger budget: 0 claims are refuted"
    )
    assert trials_of(finished) == before


def test_workers_find_what_one_process_finds(finished):
    one, two = (falsify(finished, "--places", 3, "--json", jobs=jobs) for jobs in (1, 2))
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
    found = Found(
        claim=TRIALS, procedure="P", n_places=2, n_held=1, refuted=(("m=7, d=3", "above it"),)
    )
    monkeypatch.setattr(falsifying, "look_inside", lambda *_, **__: found)
    result = falsify(finished, TRIALS)
    assert result.exit_code == exits.UNEXPECTED
    assert result.output.splitlines()[1:3] == ["  m=7, d=3", "    above it"]
    printed = json.loads(falsify(finished, TRIALS, "--json").output)
    assert printed["refuted"] == [TRIALS]
    assert printed["claims"][0]["refuted"] == [["m=7, d=3", "above it"]]


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
        (["--jobs", 0], "must be an integer from 1 to 1024"),
        (["odcl.lemma3"], "has decided none of these claims"),
        (["odcl.lema3"], "did you mean odcl.lemma3"),
    ],
)
def test_bad_input_is_refused_before_work_starts(finished, arguments, message):
    result = CliRunner().invoke(application, ["falsify", str(finished), *map(str, arguments)])
    assert result.exit_code == exits.USAGE
    assert message in result.output
