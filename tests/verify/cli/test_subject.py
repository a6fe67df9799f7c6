"""``cfl-verify subject``: lists, definitions, verdicts, saved failures and exit codes."""

import json
import sys
from functools import partial

import pytest
from click.testing import CliRunner

from verify.cli import exits
from verify.cli.app import application
from verify.testing import SUBJECTS, try_check

MINE = """
from verify.testing import examples

right = examples.assignment

def wrong(points, centres):
    return right(points, centres) * 0

def other(points):
    return points

def ends(points, centres):
    raise SystemExit(0)
"""


@pytest.fixture(autouse=True)
def _the_input_found_first_is_kept(monkeypatch):
    """To look for a smaller one takes CPU seconds; `tests/verify/testing/test_runner.py` does."""
    monkeypatch.setattr("verify.cli.subject.try_check", partial(try_check, shrink=False))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "my_own_code.py").write_text(MINE)
    (tmp_path / "my_script.py").write_text("raise SystemExit(0)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield tmp_path
    sys.modules.pop("my_own_code", None)


def invoke(*arguments):
    return CliRunner().invoke(application, ["subject", *arguments])


def test_the_list_shows_every_signature():
    result = invoke()
    assert result.exit_code == exits.EXPECTED
    for name, subject in SUBJECTS.items():
        assert f"{name} {subject.signature}" in " ".join(result.stdout.split())


def test_a_definition_shows_the_checks():
    result = invoke("--as", "ifca.step")
    assert "A model that no client chose stays where it is." in result.stdout
    assert "Of models with exactly equal losses a client takes the first." in result.stdout
    shown = json.loads(invoke("--as", "ifca.step", "--json").stdout)["ifca.step"]
    assert shown["signature"] == "(models, clients, step_size) -> (models, labels)"


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_definition_has_no_markup_of_docstrings(name):
    text = invoke("--as", name).stdout
    assert "``" not in text
    assert ":math:" not in text
    assert SUBJECTS[name].signature in text


def test_the_definition_of_a_step_has_its_formulas_between_dollars():
    text = invoke("--as", "ifca.step").stdout
    assert r"With $F_i(\theta)=\frac1{n_i}\lVert y_i-X_i\theta\rVert^2$, client i" in text


def test_a_saved_test_says_what_it_needs(folder, monkeypatch):
    monkeypatch.setattr("verify.testing.report.find_spec", lambda _name: None)
    result = invoke("my_own_code:wrong", "--as", "assignment", "--examples", "4")
    assert "replays it (pip install pytest)\n" in result.stdout


def test_a_right_implementation_passes(folder):
    result = invoke("my_own_code:right", "--as", "assignment", "--examples", "4")
    assert result.exit_code == exits.EXPECTED, result.output
    assert "5 of 5 checks passed" in result.stdout
    assert not (folder / "subject-failures").exists()


def test_one_input_is_no_inputs(folder):
    result = invoke("my_own_code:right", "--as", "assignment", "--examples", "1")
    assert "  1 input\n" in result.stdout


def test_a_wrong_one_exits_with_1_and_leaves_a_test(folder):
    result = invoke(
        "my_own_code:wrong", "--as", "assignment", "--examples", "4", "--output", "kept"
    )
    assert result.exit_code == exits.UNEXPECTED
    assert "FAIL  differential  nearest" in result.stdout
    assert "smallest input found:\n        points = " in result.stdout
    assert "replays it\n" in result.stdout  # pytest is installed
    assert (folder / "kept" / "test_assignment_nearest_my_own_code_wrong.npz").exists()
    told = invoke("my_own_code:wrong", "--as", "assignment", "--examples", "4", "--json")
    failures = json.loads(told.stdout)["failures"]
    assert failures[0]["check"] == "nearest"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["my_own_code:other", "--as", "assignment"], "other(points) does not fit assignment"),
        (["my_own_code:none", "--as", "assignment"], "has no none; its functions are"),
        (["my_own_coda:right", "--as", "assignment"], "my_own_coda cannot be imported"),
        ([".my_own_code:right", "--as", "assignment"], "must be MODULE:FUNCTION, such as"),
        (["my_own_code:ends", "--as", "assignment"], "in a first call it raised SystemExit: '0'"),
        (["my_script:f", "--as", "assignment"], "my_script cannot be imported: SystemExit: 0"),
        (["my_own_code:right"], "--as must say what my_own_code:right is"),
        (["my_own_code:right", "--as", "assign"], "must be one of ifca.step"),
        (["my_own_code:right", "--as", "kmeans"], "in a first call it returned array"),
        (["my_own_code:right", "--as", "assignment", "--examples", "0"], "--examples=0 must be"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_does_not_fit_exits_with_3_and_one_line(arguments, says):
    result = invoke(*arguments)
    assert result.exit_code == exits.USAGE, result.output
    assert says in result.stderr
    assert len(result.stderr.splitlines()) == 1
