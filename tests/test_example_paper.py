"""The example of `docs/your-own-paper.md` works from outside the source tree, as a user has it."""

import json
import os
import shutil
from pathlib import Path

import pytest

from tests import forking
from trials.run.directory import STORE_NAME
from trials.run.store import RunStore

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    """A folder of the user's own with a copy of the example and nothing else."""
    folder = tmp_path_factory.mktemp("outside")
    shutil.copy(ROOT / "docs" / "example_paper.py", folder / "hoeffding.py")
    return folder


#: Runs command after command, each as `python -m` does, in one process: loading takes CPU seconds.
PROGRAM = """
import json, runpy, sys
for module, *arguments in json.loads(sys.argv[1]):
    sys.argv = [module, *arguments]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code:
            raise
    print("\\0", end="", flush=True)
"""


def commands(folder, *lines):
    """What each of the commands prints."""
    found = forking.run(
        ["-c", PROGRAM, json.dumps(lines)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "120"},
    )
    assert found.returncode == 0, found.stderr
    *outputs, rest = found.stdout.split("\0")
    assert (len(outputs), rest) == (len(lines), "")
    return outputs


def command(folder, *arguments):
    (output,) = commands(folder, arguments)
    return output


def test_list_and_info_know_the_paper(outside):
    listed, told = commands(
        outside,
        ("verify", "list", "--claims", "hoeffding.py"),
        ("verify", "info", "hoeffding.tail", "--claims", "hoeffding.py"),
    )
    assert "hoeffding.tail" in listed
    assert "ifca.thm1" in listed
    assert "P(Ū - 1/2 ≥ t) ≤ exp(-2n t^2)" in told
    assert "Hoeffding, J. Amer. Statist. Assoc. 1963" in told


RUN = ("verify", "run", "hoeffding.*", "--claims", "hoeffding.py", "--output")


@pytest.fixture(scope="module")
def ran(outside):
    """The folder with a run of the paper in it."""
    assert "SUPPORTED" in command(outside, *RUN, "run", "--jobs", "2")
    return outside


def test_a_run_is_replayed_resumed_checked_and_typeset_from_what_it_stored(ran):
    status, resumed, checked, _ = commands(
        ran,
        ("verify", "status", "run"),
        ("verify", "resume", "run"),
        ("verify", "check", "run", "--against", "run"),
        ("verify", "report", "run", "--format", "tex", "--catalogue"),
    )
    assert "hoeffding.tail" in status
    assert "SUPPORTED" in resumed
    assert "no difference" in checked
    (report,) = ran.rglob("catalogue.tex")
    text = report.read_text()
    assert "Hoeffding" in text
    assert "deviation of their mean" in text
    assert "separation" not in text, "no notation of a paper that did not run"


def test_the_example_is_one_page():
    assert len((ROOT / "docs" / "example_paper.py").read_text().splitlines()) <= 60


def test_a_cluster_of_processes_runs_the_paper_without_a_copy_of_its_file(ran):
    """The workers are processes elsewhere: they get the file's text with each message."""
    dask = pytest.importorskip("dask")
    distributed = pytest.importorskip(
        "distributed", reason="the extra cfl-verify[distributed] is not installed"
    )
    forks = dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
    with (
        forks,
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
        ) as cluster,
    ):
        address = cluster.scheduler_address
        assert "SUPPORTED" in command(ran, *RUN, "cluster", "--scheduler", address)
    stored = []
    for name in ("run", "cluster"):
        with RunStore.open(ran / name / STORE_NAME, readonly=True) as store:
            claim = store.document("claim", "hoeffding.tail")
            stored.append((store.content_digest(), claim["evidence"]))
            executor = store.document("run", "summary")["executor"]
    assert executor == "distributed"
    assert stored[0] == stored[1]
