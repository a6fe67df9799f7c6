"""A stored run is no reason to run code: only the user's word or the user's earlier run is."""

import hashlib
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from trials.run.engine import trial_id
from trials.run.store import RunStore
from verify import consent, papers
from verify.benchmark.fits import FIT
from verify.cli import exits
from verify.cli.app import application

EXAMPLE = Path(__file__).parents[2] / "docs" / "example_paper.py"


def invoke(*arguments):
    return CliRunner().invoke(application, [str(a) for a in arguments])


@pytest.fixture
def user(tmp_path, monkeypatch):
    """A user who has run nothing yet."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "cfl-verify" / "claims-files.json"


@pytest.fixture(scope="module")
def received(tmp_path_factory):
    """A run that a stranger made, and the file of its claims."""
    folder = tmp_path_factory.mktemp("strangers")
    file, run = folder / "own.py", folder / "run"
    file.write_text(EXAMPLE.read_text().replace("hoeffding", "foreign"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        made = invoke("run", "--claims", file, "foreign.*", "--output", run, "--executor", "serial")
    assert made.exit_code == 0, made.output
    return run, file


@pytest.fixture
def loaded(monkeypatch):
    """The files that are loaded from now on."""
    found = []
    for name in ("load", "load_file"):
        monkeypatch.setattr(papers, name, found.append)
    return found


def trial_of(run):
    return json.loads(invoke("status", run, "--json").stdout)["experiments"][0]["trial"]


@pytest.mark.parametrize("command", [("resume",), ("replay", "trial"), ("mutate",)])
def test_a_strangers_file_is_not_run_without_the_users_word(user, received, loaded, command):
    run, file = received
    arguments = [command[0], run, *(trial_of(run) for _ in command[1:])]
    refused = invoke(*arguments)
    assert refused.exit_code == exits.USAGE
    assert f"which you have not run before; read it, and if you trust it, add --claims {file}" in (
        refused.stderr
    )
    assert not loaded
    assert not user.exists()


@pytest.mark.parametrize("command", ["status", "report", "export", "check"])
def test_commands_that_read_a_run_run_nothing_of_it(received, loaded, tmp_path, command):
    run, _ = received
    more = {
        "report": ("--format", "html", "--output", tmp_path / "report"),
        "export": (tmp_path / "out.csv",),
        "check": ("--against", run),
    }
    found = invoke(command, run, *more.get(command, ()))
    assert found.exit_code == 0, found.output
    assert not loaded


def test_the_users_word_is_enough_and_is_remembered(user, received):
    run, file = received
    trial = trial_of(run)
    assert invoke("replay", run, trial, "--claims", file).exit_code == 0
    assert json.loads(user.read_text()) == {
        str(file): hashlib.sha256(file.read_bytes()).hexdigest()
    }
    assert invoke("replay", run, trial).exit_code == 0


def test_a_folder_of_states_that_depends_on_the_current_one_is_no_folder(
    user, tmp_path, monkeypatch
):
    """Else a stranger's folder could hold the list by which its file is run."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    monkeypatch.chdir(tmp_path)
    made = tmp_path / "state" / "cfl-verify" / "claims-files.json"
    made.parent.mkdir(parents=True)
    made.write_text(json.dumps({str(tmp_path / "a.py"): "1"}))
    made.chmod(0o600)
    assert not consent.is_remembered(tmp_path / "a.py", "1")


def test_a_text_is_known_at_its_path_only(user, tmp_path):
    path = tmp_path / "a.py"
    consent.remember({path: "1"})
    assert consent.is_remembered(path, "1")
    assert not consent.is_remembered(path, "2")
    assert not consent.is_remembered(tmp_path / "b.py", "1")
    consent.remember({path: "2"})
    assert not consent.is_remembered(path, "1")
    assert user.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["", "{", "[]", "\udcff"])
def test_a_damaged_list_knows_nothing_and_is_replaced(user, tmp_path, text):
    user.parent.mkdir(parents=True)
    user.write_text(text, errors="surrogateescape")
    assert not consent.is_remembered(tmp_path / "a.py", "1")
    consent.remember({tmp_path / "a.py": "1"})
    assert consent.is_remembered(tmp_path / "a.py", "1")


def test_a_list_that_others_may_write_is_not_believed(user, tmp_path):
    consent.remember({tmp_path / "a.py": "1"})
    user.chmod(0o620)
    assert not consent.is_remembered(tmp_path / "a.py", "1")


def test_the_oldest_files_are_forgotten(user, tmp_path, monkeypatch):
    monkeypatch.setattr(consent, "MOST", 2)
    for name in "abc":
        consent.remember({tmp_path / name: "1"})
    assert [consent.is_remembered(tmp_path / name, "1") for name in "abc"] == [False, True, True]


def test_a_file_that_is_run_again_is_the_newest(user, tmp_path, monkeypatch):
    """A file that was run first and most was forgotten first, in the very call that ran it."""
    monkeypatch.setattr(consent, "MOST", 2)
    for name in "abac":
        consent.remember({tmp_path / name: "1"})
    assert [consent.is_remembered(tmp_path / name, "1") for name in "abc"] == [True, False, True]


def test_without_a_folder_to_write_in_nothing_fails(user, tmp_path):
    user.parent.parent.write_text("a file where the folder should be")
    consent.remember({tmp_path / "a.py": "1"})
    assert not consent.is_remembered(tmp_path / "a.py", "1")


# -- methods of one's own in benchmarks ------------------------------------------------------------

SMALL = ("--clients", "6", "--samples", "8", "--features", "2", "--trials", "4")
NOTING = """
import numpy as np

class Noting:
    def fit(self, X, y, clients):
        open({ran!r}, "a").write("x")
        self.theta = np.linalg.lstsq(X, y, rcond=None)[0]

    def predict(self, X, clients):
        return X @ self.theta
"""


@pytest.fixture
def benchmarked(tmp_path, monkeypatch):
    """A stranger's benchmark of a method in a file, which notes each of its fits."""
    pytest.importorskip("sklearn")
    folder = tmp_path / "stranger"
    folder.mkdir()
    file, run, ran = folder / "evil.py", folder / "run", folder / "ran"
    file.write_text(NOTING.format(ran=str(ran)))
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    named = ("--methods", f"{file}:Noting,local", "--metric", "held-out", *SMALL)
    made = invoke("benchmark", *named, "--output", run, "--executor", "serial")
    assert made.exit_code == 0, made.output
    ran.unlink()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return run, file, ran


def own_trial(run):
    with RunStore.open(run / "store.sqlite", readonly=True) as store:
        params = next(c.params for c in store.cells() if ".py:" in c.params["method"])
    return trial_id(FIT, params, 0)


def test_a_strangers_method_is_not_run_without_the_users_word(benchmarked):
    """A stored benchmark names files.  `benchmark --run` and `replay` ran them."""
    run, file, ran = benchmarked
    lines = [
        ("benchmark", "--run", run),
        ("benchmark", "--run", run, "--trials", "8"),
        ("benchmark", "--run", run, "--grid", "n=8..16", "separation=1..2", "--grid-size", "2"),
        ("replay", run, own_trial(run)),
    ]
    for line in lines:
        refused = invoke(*line)
        assert refused.exit_code == exits.USAGE, line
        assert f"asks for the code in {file}, which you have not run before" in refused.stderr
        assert not ran.exists(), line
    named = ("--methods", "local,global", "--executor", "serial")
    assert invoke("benchmark", "--run", run, *named).exit_code == 0
    assert not ran.exists()


def test_a_method_that_the_user_names_is_run_and_remembered(benchmarked):
    run, file, ran = benchmarked
    assert invoke("benchmark", "--run", run, "--methods", f"{file}:Noting,local").exit_code == 0
    assert ran.exists()
    assert invoke("replay", run, own_trial(run)).exit_code == 0
    file.write_text(file.read_text() + "\n")  # another text is another's word
    assert "which you have not run before" in invoke("benchmark", "--run", run).stderr


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a file without end")
def test_a_file_without_end_is_not_read(tmp_path):
    endless = tmp_path / "zero.py"
    endless.symlink_to("/dev/zero")
    for line in (
        ("--data", "/dev/zero", "--client", "a", "--target", "b"),
        ("--methods", f"{endless}:M,local"),
    ):
        refused = invoke("benchmark", *line)
        assert refused.exit_code == exits.USAGE
        assert "cannot be read" in refused.stderr
