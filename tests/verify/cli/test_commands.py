"""The command line: every command, every refusal in one line, and runs that survive a kill."""

import errno
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tests import forking
from trials import sources
from trials.run.block import TrialsRaised, WrongValues
from trials.run.engine import Replay
from trials.run.executors import ExecutorError
from trials.run.origin import load_file
from trials.run.store import RunStore, StoreError
from trials.run.store.errors import translate
from verify import session
from verify.cli import exits, runs, screen
from verify.cli.app import application
from verify.cli.verdicts import exit_code
from verify.evidence import Verdict
from verify.papers import FILE_KIND, catalogue
from verify.session import Outcome

pytestmark = pytest.mark.usefixtures("forked_workers")

ROOT = Path(__file__).resolve().parents[3]
#: A search, a search that refutes as expected, and trials of a numpy experiment.
CHEAP = ("ifca.eq3", "ifca.lemma1-init-as-printed", "ifca.k2-random-as-printed[d=10]")
COIN = "ifca.k2-random-as-printed[d=10]"


def invoke(*arguments, columns=None):
    variables = {"COLUMNS": None if columns is None else str(columns)}
    return CliRunner(env=variables).invoke(application, [str(a) for a in arguments])


def refused(*arguments):
    """The one line on standard error of a command that exits with 3 and prints nothing else."""
    result = invoke(*arguments)
    assert result.exit_code == exits.USAGE, result.output
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("error: ")
    return lines[0]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run of the claims with short computations.  The tests never write to it."""
    directory = tmp_path_factory.mktemp("runs") / "cheap"
    result = invoke("run", *CHEAP, "--output", directory, "--executor", "serial", "--seed", 5)
    assert result.exit_code == 0, result.output
    return directory, result.stdout


def store_of(directory):
    return RunStore.open(directory / session.STORE_NAME, readonly=True)


def evidence_of(directory):
    with store_of(directory) as store:
        return {name: d["evidence"] for name, d in store.documents("claim").items()}


# -- the commands --------------------------------------------------------------------------------


def test_list_shows_every_claim_with_its_expected_verdict():
    result = invoke("list")
    assert result.exit_code == 0
    for claim in catalogue().values():
        (line,) = (x for x in result.stdout.splitlines() if x.split()[:1] == [claim.id])
        assert str(claim.expected) in line


def test_list_and_info_say_to_r_where_trials_see_no_event_as_rare_as_stated():
    """Probabilities of N^-9 (by trials) and of 1e-8 (by a law), a mean, and a rate."""
    found = {
        name: "SUPPORTED TO r" in invoke("list", name).stdout
        for name in ("sxy.thm1-4-data", "ifca.thm2", "ifca.oracle-mse", "odcl.erm-rate")
    }
    assert found == {
        "sxy.thm1-4-data": True,
        "ifca.thm2": False,
        "ifca.oracle-mse": False,
        "odcl.erm-rate": True,
    }
    assert "SUPPORTED TO r" in invoke("info", "sxy.thm1-4-data").stdout
    assert "sxy.thm1-4-data" in invoke("list", "--verdict", "supported").stdout


def test_what_list_says_is_what_a_run_ends_with(tmp_path):
    """One claim of each kind that may end so, and one that does not."""
    names = ("sxy.lemma3", "sxy.lemma3-sharp", "ifca.fast-start", "odcl.lemma4-rate")
    directory = tmp_path / "run"
    result = invoke("run", *names, "--output", str(directory), "--executor", "serial")
    assert result.exit_code == 0
    for name, evidence in evidence_of(directory).items():
        listed = "SUPPORTED TO r" in invoke("list", name).stdout
        assert listed is (evidence["resolution"] is not None), name


def test_info_shows_statement_assumptions_procedure_and_expectation():
    result = invoke("info", "ifca.thm1-as-printed")
    assert result.exit_code == 0
    for part in (
        *("ifca.thm1-as-printed", "Ghosh", "Theorem 1, (1)", "samples per client", "≳"),
        *("c_2", "step size", "procedure (quick)", "REFUTED", "probability 1/m"),
        *("‖θ_j^+ - θ_j*‖ ≤", "parameter  m: ", "11 cells"),
    ):
        assert part in result.stdout
    assert "[m=" not in result.stdout
    assert "65536" in invoke("info", "ifca.eq5", "--profile", "standard").stdout


def test_info_of_an_instance_describes_its_own_cells():
    text = invoke("info", "ifca.eq3[cluster=12]").stdout
    assert "cluster: in {12}" in text
    assert "weaker test" in text


@pytest.mark.parametrize("name", [None, *sorted(application.commands)])
def test_help_says_what_and_shows_examples(name):
    result = invoke(*filter(None, [name]), "--help")
    assert result.exit_code == 0
    if name is not None:
        assert "Example" in result.stdout
        assert "cfl-verify" in result.stdout
    for hidden in ("Traceback", "numpydoc"):
        assert hidden not in result.stdout


def test_a_verdict_line_has_trials_failures_observed_bound_ratio_and_verdict(finished):
    directory, output = finished
    line = next(x for x in output.splitlines() if x.startswith(COIN + " "))
    assert re.fullmatch(
        re.escape(COIN) + r" +[\d,]+  failed \d+  observed [\d.e+-]+ ± [\d.e+-]+"
        r"  bound [\d.e+-]+  ratio [\d.e+-]+  REFUTED  \(weaker test: 2 of 8 cells\)",
        line.rstrip(),
    )
    assert f"run directory: {directory}" in output
    for name in CHEAP:
        assert name in output.split("Verdicts")[1]  # the closing table


def test_status_counts_verdicts_blocks_and_failures(finished):
    directory, _ = finished
    result = invoke("status", directory)
    assert result.exit_code == 0
    assert "profile quick  seed 5  3/3 claims decided" in result.stdout.replace("\n", "")
    assert re.search(r"ifca\.random-start +2 +[\d,]+ +0 ", result.stdout)
    assert re.search(r"ifca\.eq3 +PROVED UP TO A LEMMA", result.stdout)


def test_replay_repeats_the_witness_bit_for_bit(finished):
    directory, _ = finished
    trial = evidence_of(directory)[COIN]["witness"]["trial"]
    result = invoke("replay", directory, trial)
    assert "np.float64" not in result.stdout
    assert result.exit_code == 0
    assert "identical to the stored trial" in result.stdout
    value = float(re.search(r"alpha +(-?[\d.e+-]+)", result.stdout)[1])
    assert value < -0.05  # the event: missing the ball by more than a twentieth


def test_the_stored_replay_command_names_claim_profile_and_seed(finished):
    directory, _ = finished
    with store_of(directory) as store:
        commands = store.document("claim", COIN)["replay"]
    assert commands[0] == f"cfl-verify run '{COIN}' --profile quick --seed 5 --level 0.05"
    assert commands[1].startswith(f"cfl-verify replay {directory} ifca.random-start:")


def test_check_finds_no_difference_to_itself_and_names_changed_verdicts(finished, tmp_path):
    directory, _ = finished
    assert invoke("check", directory, "--against", directory).exit_code == 0
    other = tmp_path / "other"
    invoke("run", "ifca.eq3", "--output", other, "--executor", "serial", "--seed", 5)
    with RunStore.open(other / session.STORE_NAME) as store:
        document = store.document("claim", "ifca.eq3")
        document["evidence"]["verdict"] = "REFUTED"
        store.put_document("claim", "ifca.eq3", document)
    result = invoke("check", other, "--against", directory)
    assert result.exit_code == 1
    assert "ifca.eq3: REFUTED, baseline PROVED" in result.stdout
    assert f"{COIN}: missing from the run" in result.stdout


# -- exit codes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pairs", "code"),
    [
        ([("SUPPORTED", "SUPPORTED"), ("REFUTED", "REFUTED")], 0),
        ([("SUPPORTED", "REFUTED")], 1),
        ([("REFUTED", "SUPPORTED"), ("INCONCLUSIVE", "SUPPORTED")], 1),
        ([("VACUOUS", "SUPPORTED")], 1),
        ([("INCONCLUSIVE", "SUPPORTED"), ("SUPPORTED", "SUPPORTED")], 2),
        ([], 0),
    ],
)
def test_the_exit_code_says_expected_unexpected_or_inconclusive(pairs, code):
    outcomes = [
        Outcome(
            selection="c", expected=Verdict(expected), document={"evidence": {"verdict": found}}
        )
        for found, expected in pairs
    ]
    assert exit_code(outcomes) == code


def test_an_unexpected_verdict_exits_with_one_and_says_what_was_expected(tmp_path):
    """At closeness 0.4 the printed distance Delta/4 is an upper bound after all."""
    claim = "ifca.lemma1-init-as-printed[alpha=0.4]"
    result = invoke("run", claim, "--output", tmp_path / "run", "--executor", "serial")
    assert result.exit_code == 1
    assert "SUPPORTED  (expected REFUTED)" in result.stdout


# -- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ("ifca.thm1[n=0]", "n=0 must be an integer in [1, 10^15]"),
        ("ifca.thm1[sigma=-1]", "sigma=-1 must be"),
        ("ifca.thm1[sigma=nan]", "sigma=nan must be"),
        ("ifca.thm1[m=nan]", "m=nan must be an integer"),
        ("ifca.thm1[alpha=inf]", "alpha=inf must be"),
        ("ifca.thm1[alpha=0]", "alpha=0 must be > 0"),
        ("ifca.thm1[alpha=0.5]", "must be > 0.5 = alpha"),
        ("ifca.thm1[k=3,m=2]", "m=2 must be >= k=3"),
        ("ifca.thm1[n=1]", "n=1 must be >="),
        ("ifca.thm1[m=many]", "m='many' must be an integer"),
        ("ifca.thm1[q=1]", "no parameter 'q'; its parameters: Delta, alpha"),
        ("ifca.thm1[m]", "must look like param=value"),
        ("ifca.thm1[m=4", "must look like CLAIM"),
        ("ifca.thm1-own-step[p_min=0]", "p_min=0 must be"),
        ("ifca.eq5[p_min=nan]", "p_min=nan must be"),
        ("ifca.eq7[d=0]", "d=0 must be an integer in [1, 10^12]"),
        ("ifca.cor1[n=0]", "n=0 must be"),
        ("ifca.oracle-mse[N=0]", "N=0 must be"),
        ("ifca.lemma1[n=0]", "n=0 must be an integer from 1"),
        ("ifca.lemma1[rho=-1]", "rho=-1 must be"),
        ("ifca.eq3[cluster=nan]", "cluster=nan must be"),
        ("ifca.nothing", "unknown claim 'ifca.nothing'"),
        ("ifca.thm1[m=1e30]", "m=1e+30 must be an integer in"),
        ("ifca.thm1[n=1e300]", "n=1e+300 must be an integer in [1, 10^15]"),
        ("ifca.thm1[k=1000000]", "k=1000000 must be an integer in [2, 256]"),
        ("ifca.thm1[Delta=1e-300]", "Delta=1e-300, sigma=0.25: rho = Delta^2/sigma^2 must be"),
        ("ifca.thm1[sigma=0]", "sigma=0 must be > 0"),
        ("ifca.thm1[m=1,m=2]", "m is given twice"),
        ("ifca.thm1[m=10,d=10000,n=100]", "samples per cluster: m*n*p=500 must be >="),
        ("", "must look like CLAIM"),
    ],
)
def test_impossible_parameters_and_unknown_claims_leave_nothing_behind(claim, message, tmp_path):
    line = refused("run", claim, "--output", tmp_path / "run")
    assert message in line
    assert list(tmp_path.iterdir()) == []


def test_unknown_names_list_the_valid_ones(tmp_path):
    line = refused("run", "ifca.lemma1-lw", "--output", tmp_path / "run")
    assert "did you mean ifca.lemma1-law" in line
    assert f"`cfl-verify list` shows all {len(catalogue())} claims of ifca.*" in line
    assert "quick, standard, full" in refused("run", "--profile", "huge")
    assert "quick, standard, full" in refused("info", "ifca.eq3", "--profile", "huge")
    assert "unknown claim" in refused("info", "thm1")
    assert "No such option" in refused("run", "--sed", "3")
    assert "No such command" in refused("runn")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("claims = [", "not a TOML file"),
        ("profil = 'quick'", "unknown key 'profil'; known: claims, profile, seed"),
        ("seed = 'one'", "seed='one' must be of type int"),
        ("seed = true", "seed=True must be of type int"),
        ("seed = -1", "seed=-1 must be an integer >= 0"),
        ("claims = 'ifca.eq3'", "must be of type list"),
        ("claims = [3]", "must be a list of strings"),
        ("claims = ['ifca.nothing']", "unknown claim"),
        ("profile = 'huge'", "unknown profile 'huge'"),
        ("claims = ['ifca.eq3']\nexecutor = 'fast'", "executor='fast' must be one of"),
        ("claims = ['ifca.eq3']\njobs = 0\nexecutor = 'serial'", "jobs=0 must be"),
    ],
)
def test_a_bad_configuration_file_is_refused_by_name(text, message, tmp_path):
    file = tmp_path / "batch.toml"
    file.write_text(text)
    assert message in refused("run", "--config", file, "--output", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_files_that_are_not_there_or_not_text_are_refused(tmp_path):
    assert "No such file" in refused("run", "--config", tmp_path / "no.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    assert "not a TOML file" in refused("run", "--config", tmp_path / "binary.toml")
    for command in (["status"], ["resume"], ["replay"], ["check"]):
        extra = {"replay": ["x:0123456789abcdef:1"], "check": ["--against", tmp_path]}
        arguments = [*command, tmp_path / "none", *extra.get(command[0], [])]
        assert "no run here" in refused(*arguments)
    (tmp_path / "file").write_text("")
    assert "cannot make" in refused("run", "ifca.eq3", "--output", tmp_path / "file" / "run")


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--claims", "\0"),
        ("run", "--output", "a\0b"),
        ("run", "--config", "\0"),
        ("mutate", "--claims", "\0"),
        ("copy", "run", "\0"),
    ],
)
def test_no_name_of_a_path_holds_a_null_character(arguments):
    assert "holds a null character" in refused(*arguments)


def test_bad_values_of_flags_are_refused(tmp_path):
    for flags in (
        *(["--seed", "-1"], ["--seed", "x"], ["--jobs", "0"], ["--executor", "fast"]),
        *(["--jobs", "1000000"], ["--profile", ""], ["--output", ""]),
    ):
        refused("run", "ifca.eq3", "--output", tmp_path / "run", *flags)
        assert list(tmp_path.iterdir()) == []


def test_an_output_that_holds_a_run_is_refused_and_kept(finished):
    directory, _ = finished
    before = (directory / session.STORE_NAME).read_bytes()
    line = refused("run", "ifca.eq3", "--output", directory)
    assert "already holds a run" in line
    assert "resume" in line
    assert (directory / session.STORE_NAME).read_bytes() == before


def test_runs_without_a_claim_in_common_are_not_the_same(finished, tmp_path):
    """No difference between them would say that they agree."""
    directory, _ = finished
    other = tmp_path / "other"
    assert invoke("run", "ifca.eq2", "--output", other, "--executor", "serial").exit_code == 0
    line = refused("check", directory, "--against", other, "--common", "--junit", tmp_path / "x")
    assert "have no claim in common" in line
    assert not (tmp_path / "x").exists()
    result = invoke("check", other, "--against", other, "--junit", tmp_path / "x")
    assert result.stdout == "no difference\n"
    assert b'tests="1"' in (tmp_path / "x").read_bytes()
    assert b'failures="0"' in (tmp_path / "x").read_bytes()


def test_a_bad_trial_is_refused(finished):
    directory, _ = finished
    assert "must read <experiment>" in refused("replay", directory, "nonsense")
    assert "holds no trial" in refused("replay", directory, "x.y:0123456789abcdef:1")
    assert "holds no trial" in refused("replay", directory, "ifca.step:0123456789abcdef:1")


def test_the_last_trial_of_a_cell_is_replayed_and_the_one_behind_it_is_not_there(finished):
    directory, _ = finished
    with store_of(directory) as store:
        cells = [cell for cell in store.status() if cell.n_trials]
    assert cells
    for cell in cells:
        name = f"{cell.experiment}:{cell.number:016x}"
        assert invoke("replay", directory, f"{name}:{cell.n_trials - 1}").exit_code == 0
        line = refused("replay", directory, f"{name}:{cell.n_trials}")
        assert f"holds no trial {name}:{cell.n_trials}" in line


@pytest.mark.parametrize("damage", ["truncated", "foreign", "flipped"])
def test_a_damaged_store_is_refused(finished, tmp_path, damage):
    directory, _ = finished
    content = bytearray((directory / session.STORE_NAME).read_bytes())
    if damage == "truncated":
        content = content[: len(content) // 2]
    elif damage == "foreign":
        content = bytearray(b"not a database\n" * 100)
    else:  # in a document: its checksum no longer fits
        at = content.find(b"certificate was checked")
        assert at > 0
        content[at] ^= 1
    broken = tmp_path / "run"
    broken.mkdir()
    (broken / session.STORE_NAME).write_bytes(bytes(content))
    for arguments in (
        ["status", broken],
        ["resume", broken],
        ["check", broken, "--against", directory],
    ):
        line = refused(*arguments)
        assert session.STORE_NAME in line


# -- configuration -------------------------------------------------------------------------------


def test_flags_win_over_the_configuration_file(tmp_path):
    file = tmp_path / "batch.toml"
    file.write_text(
        "claims = ['ifca.eq3']\nprofile = 'quick'\nseed = 11\njobs = 1\nexecutor = 'serial'\n"
        f"output = '{tmp_path / 'from-file'}'\n"
    )
    assert invoke("run", "--config", file).exit_code == 0
    with store_of(tmp_path / "from-file") as store:
        assert store.root_seed == 11
        assert store.document("run", "summary")["executor"] == "serial"
        assert list(store.documents("claim")) == ["ifca.eq3"]
    flags = ["--seed", 12, "--executor", "threads", "--output", tmp_path / "from-flags"]
    invoke("run", "ifca.lemma1-init-as-printed", "--config", file, *flags)
    with store_of(tmp_path / "from-flags") as store:
        assert store.root_seed == 12
        assert store.document("run", "summary")["executor"] == "threads"
        assert list(store.documents("claim")) == ["ifca.lemma1-init-as-printed"]


def test_the_default_directory_is_found_as_latest(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "no run under runs/" in refused("status", "latest")
    assert invoke("run", "ifca.lemma1-init-as-printed", "--executor", "serial").exit_code == 0
    (directory,) = (tmp_path / "runs").iterdir()
    assert directory.name.startswith("quick-0-")
    assert "1/1 claims decided" in invoke("status", "latest").stdout
    assert "1/1 claims decided" in invoke("status", directory.name).stdout


# -- terminals, pipes and signals -----------------------------------------------------------------


def piped(shell, **variables):
    """Exit status, output and errors of a shell line run beside the tests."""
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", shell],
        cwd=ROOT,
        env=environment() | variables,
        capture_output=True,
        check=False,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_a_reader_that_leaves_does_not_stop_the_run(tmp_path):
    run = f"{sys.executable} -m verify run {CHEAP[0]} {CHEAP[1]} --executor serial"
    code, out, err = piped(f"{run} --output {tmp_path / 'run'} | head -1")
    assert (code, err) == (0, "")
    assert out.startswith(CHEAP[0])
    assert set(evidence_of(tmp_path / "run")) == set(CHEAP[:2])


#: The program with one list of arguments after the other, in one process.
ONE_AFTER_THE_OTHER = """
import sys
from trials.run import distributed
from verify.cli import main

distributed.CONNECT_SECONDS = 0.2  # nobody will answer
addresses, codes = sys.argv[4:], []
for address in addresses:
    sys.argv[3:] = ["--scheduler", address, "--output", "run"]
    try:
        main()
    except SystemExit as end:
        codes.append(end.code)
print(*codes)
"""


def test_a_scheduler_that_is_not_there_is_one_line_to_the_very_end(tmp_path):
    """Also while the interpreter ends: the client's finaliser used to wait and to print."""
    addresses = ["tls://127.0.0.1:1", "ucx://a", "tcp://127.0.0.1:1"]
    done = subprocess.run(
        [sys.executable, "-c", ONE_AFTER_THE_OTHER, "run", "ifca.eq3", "--scheduler", *addresses],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [str(exits.USAGE)] * len(addresses)
    lines = done.stderr.splitlines()
    assert len(lines) == len(addresses), lines
    assert all(line.startswith("error: address=") for line in lines)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("loaded", ["click", "sympy", "verify.papers"])
def test_an_interrupt_while_modules_load_ends_at_once_without_a_traceback(tmp_path, loaded):
    program, *arguments = command("run", "ifca.thm1", "--output", tmp_path / "run")
    child = subprocess.Popen(
        [program, "-X", "importtime", *arguments],  # says on standard error what has been loaded
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert any(line.split("|")[-1].strip() == loaded for line in child.stderr)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate()
    assert child.returncode in (exits.INTERRUPTED, -signal.SIGINT)
    assert "Traceback" not in err


def test_a_fault_of_the_program_has_a_code_of_its_own_and_shows_its_place_on_demand(monkeypatch):
    def fail(*_arguments):
        raise ZeroDivisionError("on purpose\x1b[31m")

    monkeypatch.setattr("verify.cli.catalogue.entries", fail)
    result = invoke("list")
    assert result.exit_code == exits.INTERNAL == 70
    (line,) = result.stderr.splitlines()
    assert "internal error: ZeroDivisionError: on purpose\\x1b[31m" in line
    assert "--debug" in line
    assert "Traceback" in invoke("--debug", "list").stderr


@pytest.mark.parametrize("given", [[], ["--debug"]])
def test_the_report_program_is_told_of_debug_however_the_command_was_called(given, monkeypatch):
    # The flag is not in the arguments of this process: the command is called from Python.
    told = []
    monkeypatch.setattr(sys, "argv", ["pytest"])
    monkeypatch.setattr(subprocess, "call", lambda command, env: told.append(command[-1]) or 0)
    assert invoke(*given, "report", "some-run").exit_code == 0
    assert json.loads(told[0])["debug"] is bool(given)


def test_lost_workers_are_an_error_of_input_with_a_hint_how_to_go_on(tmp_path, monkeypatch):
    def lose(*_arguments, **_more):
        raise ExecutorError("the scheduler is lost")

    monkeypatch.setattr(session, "execute", lose)
    run = tmp_path / ("long" * 30) / "run"  # the command that continues it can be copied
    run.parent.mkdir()
    result = invoke("run", "ifca.eq3", "--output", run)
    assert result.exit_code == exits.USAGE
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: the scheduler is lost; finished blocks are kept; continue with")
    assert f" resume {run}`" in line


GO_ON = "finished blocks are kept; continue with `"
FULL = sqlite3.OperationalError("database or disk is full")
FULL.sqlite_errorcode = sqlite3.SQLITE_FULL


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), f"No space left on device; {GO_ON}"),
        (MemoryError(), f"out of memory; {GO_ON}"),
        (translate(Path("a"), FULL), f"a: database or disk is full; {GO_ON}"),
        *(
            (OSError(number, "Too many"), f"Too many; use a smaller --jobs; {GO_ON}")
            for number in (errno.EMFILE, errno.ENFILE, errno.EAGAIN)
        ),
        (WrongValues("two columns"), "two columns; mend the experiment and start a new run, "),
        (TrialsRaised("all raised"), "all raised; mend the experiment and start a new run, "),
    ],
)
def test_a_run_that_the_machine_or_its_author_stopped_says_how_to_go_on(
    tmp_path, monkeypatch, error, told
):
    """A full disk said nothing of the blocks, and a wrong experiment advised a resume that is
    refused as soon as it is mended.
    """

    def stop(*_arguments, **_more):
        raise error

    monkeypatch.setattr(session, "execute", stop)
    line = refused("run", "ifca.eq3", "--output", tmp_path / "run")
    assert line.startswith(f"error: {told}")
    resume = f" resume {tmp_path / 'run'}`"
    assert (resume in line) == told.endswith(GO_ON)


def test_the_exit_code_is_told_where_the_message_cannot_be(monkeypatch):
    """On a full disk the line failed, and Python's own code 1 is that of another verdict."""

    def full(*_arguments, **_more):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(screen, "say", full)
    with pytest.raises(SystemExit) as left:
        application.main(["status", "not-there"])
    assert left.value.code == exits.USAGE


def test_a_file_of_ones_own_does_not_choose_the_exit_code(monkeypatch, tmp_path):
    """A function that called sys.exit(0) ended a command as if all verdicts were as expected."""
    own = tmp_path / "own.py"
    own.write_text("import sys\n\n\ndef leave(**_):\n    sys.exit(0)\n")
    module = load_file(own)
    try:
        monkeypatch.setattr(runs, "show_status", module.leave)
        line = refused("status", "here")
        assert line == f"error: {own}:5: SystemExit: 0; mend this line of your own file"
        monkeypatch.setattr(runs, "show_status", lambda **_: sys.exit(7))
        assert invoke("status", "here").exit_code == 7  # a library's own end
    finally:
        del sys.modules[module.__name__]
        sources.remove(module.__name__)


def test_the_status_of_an_extended_run_counts_the_claims_of_its_profile(finished, tmp_path):
    """It called all claims decided, as soon as the extension had begun."""
    directory = tmp_path / "run"
    invoke("copy", finished[0], directory)
    with RunStore.open(directory / session.STORE_NAME) as store:
        store.put_document("run", "extension", {"profile": "standard"})
        document = store.document("claim", COIN)
        store.put_document("claim", COIN, {**document, "profile": "standard"})
    found = json.loads(invoke("status", directory, "--json").stdout)
    assert (found["profile"], found["decided"], len(found["claims"])) == ("standard", 1, 3)
    assert found["earlier_profiles"] == dict.fromkeys(set(found["claims"]) - {COIN}, "quick")
    text = invoke("status", directory).stdout
    assert "1/3 claims decided" in text
    assert re.search(
        r"ifca\.eq3 +PROVED UP TO A LEMMA \(profile quick, to be decided again\)", text
    )
    assert re.search(rf"{re.escape(COIN)} +REFUTED$", text, re.MULTILINE)
    assert json.loads(invoke("status", finished[0], "--json").stdout)["earlier_profiles"] == {}


def test_the_status_of_a_run_that_never_began_lists_the_names_of_its_own_file(tmp_path):
    """Such a run was refused for an "unknown claim", as the status runs no file of a stranger."""
    own = tmp_path / "own.py"
    own.write_text("")
    config = session.RunConfig(claims=("own.*", "own.second[n=3]"))
    with session.create(tmp_path / "run", config) as store:
        recorded = {"path": str(own), "sha256": "0" * 64, "source": ""}
        store.put_document(FILE_KIND, str(own), recorded)
    found = json.loads(invoke("status", tmp_path / "run", "--json").stdout)
    assert found["claims"] == {"own.*": "pending", "own.second[n=3]": "pending"}
    with session.create(tmp_path / "other", config):
        pass
    assert "unknown claim 'own.*'" in refused("status", tmp_path / "other")


@pytest.mark.parametrize(
    "arguments", [["list"], ["info", "ifca.eq3"], ["info", "ifca.eq3[cluster=12]"]]
)
def test_json_of_claims_can_be_read(arguments):
    found = json.loads(invoke(*arguments, "--json").stdout)
    assert "ifca.eq3" in {entry["id"] for entry in found}


def test_json_of_runs_can_be_read(finished):
    directory, _ = finished
    again = invoke("resume", directory, "--json", "--executor", "serial")
    found = json.loads(again.stdout)
    assert found["exit_code"] == again.exit_code == 0
    assert {claim["claim"]: claim["mark"] for claim in found["claims"]}[COIN] == "REFUTED"
    status = json.loads(invoke("status", directory, "--json").stdout)
    assert status["claims"][COIN] == "REFUTED"
    checked = json.loads(invoke("check", directory, "--against", directory, "--json").stdout)
    assert checked["differences"] == []


def test_a_copy_that_fails_takes_away_only_the_folder_that_it_made(finished, tmp_path, monkeypatch):
    """A folder that was there, though empty, is its owner's."""
    directory, _ = finished

    def fails(_store, path):
        path.write_bytes(b"half")
        raise StoreError("is damaged")

    monkeypatch.setattr(RunStore, "copy_to", fails)
    (tmp_path / "mine").mkdir()
    for name in ("mine", "new"):
        assert "is damaged" in refused("copy", directory, tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("machine", [(), ("blas one against two",)])
def test_a_replay_that_agrees_to_rounding_is_told_where_the_machines_differ(
    finished, monkeypatch, machine
):
    """On one machine all bits must be equal."""
    directory, _ = finished
    trial = json.loads(invoke("status", directory, "--json").stdout)["experiments"][0]["trial"]
    replayed = Replay(("a", "b"), np.array([0.5, np.nan]), "ok", 2.5e-13, 7, machine)
    monkeypatch.setattr(runs, "replay", lambda _store, _trial: replayed)
    if not machine:
        line = refused("replay", directory, trial)
        assert "agree to rounding only, with a distance of 2.5e-13" in line
        return
    lines = invoke("replay", directory, trial).stdout.splitlines()
    assert [line.split() for line in lines[:3]] == [["a", "0.5"], ["b", "nan"], ["status", "ok"]]
    assert lines[3].endswith("the largest relative difference is 2.5e-13, 7 floats apart")
    assert lines[4] == "(blas one against two)"
    told = json.loads(invoke("replay", directory, trial, "--json").stdout)
    assert (told["identical"], told["distance"], told["ulps"]) == (False, 2.5e-13, 7)
    assert (told["machine"], told["values"]) == (list(machine), {"a": 0.5, "b": None})


def test_a_copy_is_the_run_and_never_overwrites(finished, tmp_path):
    directory, _ = finished
    assert invoke("copy", directory, tmp_path / "copy").exit_code == 0
    assert digest_and_evidence(tmp_path / "copy") == digest_and_evidence(directory)
    assert "exists already" in refused("copy", directory, tmp_path / "copy")


def test_a_copy_that_comes_second_removes_nothing_of_the_first(finished, tmp_path, monkeypatch):
    """Another copy to the same folder ends just before this one makes it."""
    directory, _ = finished
    target, make = tmp_path / "copy", Path.mkdir

    def make_second(path, *given, **more):
        monkeypatch.setattr(Path, "mkdir", make)
        invoke("copy", directory, target)
        return make(path, *given, **more)

    monkeypatch.setattr(Path, "mkdir", make_second)
    assert "exists already" in refused("copy", directory, target)
    assert digest_and_evidence(target) == digest_and_evidence(directory)


def test_filters_of_list_keep_what_they_name():
    rows = invoke("list", "--verdict", "refuted", "--kind", "UPPER-BOUND").stdout.splitlines()[1:]
    assert rows
    assert all("REFUTED" in row and "upper bound" in row for row in rows)
    assert "known: ifca" in refused("list", "--paper", "nothing")


def test_a_trial_is_found_without_its_run_and_the_error_names_another_run(
    finished, tmp_path, monkeypatch
):
    directory, _ = finished
    trial = evidence_of(directory)[COIN]["witness"]["trial"]
    monkeypatch.chdir(tmp_path)
    assert "no run below runs/ holds" in refused("replay", trial)
    invoke("copy", directory, "runs/old")
    invoke("run", "ifca.eq3", "--executor", "serial", "--output", "runs/new")
    assert "identical to the stored trial of runs/old" in invoke("replay", trial).stdout
    assert "runs/old holds it" in refused("replay", "latest", trial)


def test_a_wild_card_says_which_claims_it_passes_over(tmp_path):
    result = invoke("run", "ifca.eq*[cluster=12]", "--executor",
                    "serial", "--output", tmp_path / "run")  # fmt: skip
    assert result.exit_code == 0
    assert result.stdout.startswith("skipped, they have no parameter 'cluster': ")
    assert "(weaker test: a search with cluster held fixed)" in result.stdout


def test_closed_or_narrow_or_ascii_output_is_no_obstacle(tmp_path):
    run = f"{sys.executable} -m verify run '{COIN}' --executor serial --output {tmp_path}/"
    code, _, err = piped(f"{run}closed >&-")
    assert (code, err) == (0, "")
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    code, out, err = piped(f"{run}ascii", **ascii_only, PYTHONCOERCECLOCALE="0")
    assert (code, err) == (0, "")
    assert re.search(r"k2-random.* observed .*REFUTED", out, re.DOTALL)  # lines may wrap
    assert out.isascii()


@pytest.mark.parametrize("width", [30, 40, 60, 80, 120, 200])
def test_no_line_is_wider_than_the_terminal_and_none_breaks_in_a_word(finished, width):
    directory, _ = finished
    result = invoke("resume", directory, "--executor", "serial", columns=width)
    lines = result.stdout.splitlines()
    shown = lines[: next(i for i, x in enumerate(lines) if x.startswith("run directory"))]
    assert all(len(line) <= width for line in shown), shown
    words = {word for line in invoke("resume", directory).stdout.split() for word in [line]}
    for line in shown:
        for word in line.split():
            whole = any(word in other for other in words)
            assert whole, word
            if word not in words:  # a part of a name, ended where the name has punctuation
                assert width <= 40, word
    assert "REFUTED" in "".join(shown)


def test_an_interrupt_keeps_what_was_done_and_says_how_to_go_on(tmp_path):
    directory = tmp_path / "run"
    arguments = ("run", LONG[0], "--seed", 3, "--jobs", 1, "--output", directory)
    with (tmp_path / "err").open("w+") as err:
        child = stopped_after(2, *arguments, stderr=err)
        child.send_signal(signal.SIGINT)
        assert child.wait() == exits.INTERRUPTED
        err.seek(0)
        (line,) = err.read().splitlines()
    assert line.startswith("interrupted: finished blocks are kept; continue with `")
    assert line.endswith(f" resume {directory}`")
    assert n_blocks(directory / session.STORE_NAME) >= 2


# -- what a run is does not depend on how it was done ---------------------------------------------

#: Thousands of short NumPy trials in two rounds, in 32 blocks.
LONG = ("ifca.oracle-mse[N=64,sigma=1.0,d=2]", "ifca.eq3")


def command(*arguments):
    return [sys.executable, "-m", "verify", *map(str, arguments)]


#: The program, but it stops for ever when it has stored a number of blocks.
STOPPING = """
import sys, threading
from trials.run import engine
from trials.run.store import RunStore
from verify.cli import main

left, put_blocks = int(sys.argv.pop(1)), RunStore.put_blocks
def counted(store, blocks):
    global left
    put_blocks(store, blocks)
    left -= len(blocks)
    if left == 0:
        print("stops", flush=True)
        threading.Event().wait()

if __name__ == "__main__":
    engine.SECONDS_BETWEEN_COMMITS = 0.0  # each block is committed alone
    RunStore.put_blocks = counted
    main()
"""


def stopped_after(n_blocks, *arguments, stderr=subprocess.DEVNULL):
    """A process of the program, in the middle of its work."""
    reading, writing = os.pipe()
    text = [STOPPING, str(n_blocks), *map(str, arguments)]
    child = forking.start(["-c", *text], stdout=writing, stderr=stderr)
    os.close(writing)
    with open(reading) as told:
        assert "stops\n" in told, child.wait()
    return child


def environment():
    return os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}


def digest_and_evidence(directory):
    with store_of(directory) as store:
        return store.content_digest(), evidence_of(directory)


def n_blocks(path):
    """Blocks stored so far, read beside the writing process, 0 while there is no table yet."""
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
            return connection.execute("SELECT COUNT(*) FROM block").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    directory = tmp_path_factory.mktemp("runs") / "whole"
    result = invoke("run", *LONG, "--seed", 3, "--executor", "serial", "--output", directory)
    assert result.exit_code in (0, 2), result.output
    return digest_and_evidence(directory)


def test_a_killed_run_resumed_equals_an_uninterrupted_one(uninterrupted, tmp_path):
    directory = tmp_path / "killed"
    arguments = ("run", *LONG, "--seed", 3, "--jobs", 2, "--output", directory)
    child = stopped_after(4, *arguments)
    child.send_signal(signal.SIGKILL)
    child.wait()
    with store_of(directory) as store:
        assert store.documents("claim") == {}
        assert sum(s.n_blocks for s in store.status()) > 0
        assert store.content_digest() != uninterrupted[0]
    assert "pending" in invoke("status", directory).stdout
    done = forking.run(command("resume", directory, "--jobs", 1)[1:])
    assert done.returncode in (0, 2), done.stderr
    assert digest_and_evidence(directory) == uninterrupted


def test_a_second_resume_of_a_running_run_is_refused_and_reading_works(tmp_path):
    directory = tmp_path / "busy"
    # It holds its run for as long as the test needs.
    child = stopped_after(2, "run", LONG[0], "--seed", 3, "--jobs", 1, "--output", directory)
    try:
        assert "another process is writing this run" in refused("resume", directory)
        assert "pending" in invoke("status", directory).stdout
        with store_of(directory) as store:
            (cell, *_) = (c for c in store.cells() if store.blocks(c.experiment, c.params))
        trial = f"{cell.experiment}:{cell.number:016x}:0"
        assert "identical to the stored trial" in invoke("replay", directory, trial).stdout
        folder = tmp_path / "report"
        asked = {"run": str(directory), "formats": ["tex"], "out_dir": str(folder), "debug": True}
        built = forking.run(["-m", "reports", json.dumps(asked)])
        assert built.returncode == 0, built.stderr
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert invoke("resume", directory, "--executor", "serial").exit_code in (0, 2)


@pytest.mark.parametrize(
    "flags",
    [["--executor", "threads", "--jobs", "3"], ["--executor", "processes", "--jobs", "2"]],
    ids=["threads", "processes"],
)
def test_workers_do_not_change_a_run(uninterrupted, tmp_path, flags):
    directory = tmp_path / "run"
    invoke("run", *LONG, "--seed", 3, *flags, "--output", directory)
    assert digest_and_evidence(directory) == uninterrupted


def test_a_seed_changes_the_trials(uninterrupted, tmp_path):
    directory = tmp_path / "run"
    invoke("run", LONG[0], "--seed", 4, "--executor", "serial", "--output", directory)
    assert digest_and_evidence(directory)[0] != uninterrupted[0]


def test_resuming_a_finished_run_tries_nothing_again(finished):
    directory, _ = finished
    before = digest_and_evidence(directory)
    assert invoke("resume", directory, "--executor", "serial").exit_code == 0
    assert digest_and_evidence(directory) == before


def test_an_extension_keeps_every_earlier_block(tmp_path):
    claim = "ifca.k2-random-as-printed[d=2]"
    directory = tmp_path / "run"
    invoke("run", claim, "--output", directory, "--executor", "serial")

    def blocks():
        with sqlite3.connect(directory / session.STORE_NAME) as connection:
            rows = connection.execute("SELECT cell, block, checksum FROM block").fetchall()
        return {(cell, block): checksum for cell, block, checksum in rows}

    before = blocks()
    assert before
    first = evidence_of(directory)[claim]
    result = invoke("resume", directory, "--profile", "standard", "--executor", "serial")
    assert result.exit_code in (0, 1, 2), result.output
    after = blocks()
    assert before.items() <= after.items()
    second = evidence_of(directory)[claim]
    assert second["n_trials"] >= first["n_trials"]
    with store_of(directory) as store:
        assert store.document("claim", claim)["profile"] == "standard"
    assert "profile standard" in invoke("status", directory).stdout
    assert "must not be smaller" in refused("resume", directory, "--profile", "quick")


def test_documents_are_plain_json(finished):
    directory, _ = finished
    with store_of(directory) as store:
        for kind in ("claim", "run", "finding", "symbol", "paper"):
            documents = store.documents(kind)
            assert documents
            json.dumps(documents, allow_nan=True)
        summary = store.document("run", "summary")
    assert summary["seed"] == 5
    assert summary["content_digest"] == digest_and_evidence(directory)[0]
    shares = [share for _, share in summary["allocation"]]
    assert 0 < sum(shares) <= summary["familywise_level"] / 4 * (1 + 1e-12)  # one paper's share
