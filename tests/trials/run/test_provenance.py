"""Blocks of two versions of the code never meet: in a run, in a worker, in one process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import partial
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

import trials.experiments  # noqa: F401  (registers every experiment)
from tests.trials.toys import TOY
from trials import sources
from trials.run import provenance
from trials.run.cell import cell_number
from trials.run.engine import Demand, ensure
from trials.run.executors import Task, make_executor
from trials.run.experiment import experiment
from trials.run.origin import load_file
from trials.run.store import RunStore, StoreError
from trials.run.wire import answer, pack_blocks, pack_call, unpack_value

ROOT = Path(__file__).parents[3]

HELPER = next(
    line.split("(")[0].removeprefix("def ")
    for line in (ROOT / "trials" / "norms.py").read_text().splitlines()
    if line.startswith("def ")
)

OWN = """
import numpy as np
from trials.norms import {helper}
from trials.run.experiment import Experiment, register, user_design

def simulate(params, rng, n_trials):
    return rng.standard_normal((n_trials, 1))

def check(params):
    return dict(params)

E = register(Experiment(name="own.e", design=user_design("own.e"), columns=("x",),
                        simulate=simulate, check=check, block_size=4))
"""

SCRIPT = """
import sys
from trials.run.engine import Demand, ensure
from trials.run.executors import ExecutorError, make_executor
from trials.run.origin import load_file
from trials.run.provenance import run_code
from trials.run.store import RunStore, StoreError
from trials.run.wire import answer, pack_blocks
own, path, n_blocks, kind = sys.argv[1:5]
experiment = load_file(own).E
try:
    try:
        store = RunStore.open(path)
    except StoreError:
        store = RunStore.create(path, root_seed=1, config={}, code=run_code())
    with store, make_executor("serial") as executor:
        ensure(store, [Demand(experiment, {}, int(n_blocks))], executor)
        if kind == "edit, then processes":
            with open(sys.argv[5], "a") as file:
                file.write("# edited" + chr(10))
            with make_executor("processes", 1) as workers:
                ensure(store, [Demand(experiment, {}, int(n_blocks) + 5)], workers)
except (StoreError, ExecutorError) as error:
    print(type(error).__name__, error)
with RunStore.open(path, readonly=True) as store:
    print(sorted(store.blocks(experiment, {})), len(store.codes()))
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A copy of the package, a user's file, and a run that was made with them."""
    folder = tmp_path_factory.mktemp("made")
    shutil.copytree(ROOT / "trials", folder / "tree" / "trials")
    (folder / "own.py").write_text(OWN.format(helper=HELPER))
    assert _run(folder, 3) == ["[0, 1, 2] 1"]
    return folder


@pytest.fixture
def copy(tmp_path, made):
    """A copy of all of it, which a test may edit."""
    return shutil.copytree(made, tmp_path / "copy")


def _run(folder, n_blocks, *more):
    found = subprocess.run(
        [
            *(sys.executable, "-W", "ignore", "-c", SCRIPT, folder / "own.py", folder / "run"),
            *(str(n_blocks), *(more or ("serial",))),
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "tree")},
        capture_output=True,
        text=True,
        check=True,
    )
    return found.stdout.splitlines()


def _edit(folder, module):
    with (folder / "tree" / "trials" / module).open("a") as file:
        file.write("\n# edited\n")


def test_a_message_looks_at_the_files_only_after_an_import(monkeypatch):
    """A look is a call of the file system for each of 200 modules, and was made twice a block."""
    owner = experiment("ifca.step")
    tasks = [Task(owner, owner.check({}), 0, block) for block in range(20)]
    pack_blocks(tasks[:1])
    looks = []
    monkeypatch.setattr(sources, "find_changed", lambda found: looks.append(found) or [])
    assert len({answer(pack_blocks([task])) for task in tasks}) == 20
    assert not looks


def test_a_run_is_not_resumed_by_other_code_and_stays_readable(copy):
    _edit(copy, "norms.py")
    refusal, blocks = _run(copy, 5)
    assert refusal == (
        f"StoreError {copy / 'run'}: experiment own.e has changed since this run was made "
        "(trials.norms differs; then against now); start a new run, or continue this one with the "
        "older version (it can still be read and reported)"
    )
    assert blocks == "[0, 1, 2] 1"


def test_an_edit_that_the_experiment_does_not_depend_on_does_no_harm(copy):
    _edit(copy, "ifca/skipping.py")
    assert _run(copy, 5) == ["[0, 1, 2, 3, 4] 1"]


def test_the_users_own_file_is_part_of_the_code(copy):
    with (copy / "own.py").open("a") as file:
        file.write("# edited\n")
    refusal, blocks = _run(copy, 5)
    assert "own.e has changed since this run was made (own.py differs" in refusal
    assert blocks == "[0, 1, 2] 1"


def test_worker_processes_refuse_other_code_than_the_callers(copy):
    """The file changes on disk after the caller imported it: its workers import the new one."""
    norms = copy / "tree" / "trials" / "norms.py"
    refusal, blocks = _run(copy, 3, "edit, then processes", str(norms))
    assert refusal.startswith("CodeMismatch worker ")
    assert "has other code for experiment own.e than this process: trials.norms differs" in refusal
    assert "start them again, then resume the run" in refusal
    assert blocks == "[0, 1, 2] 1"


def test_a_library_of_another_version_is_named(tmp_path, monkeypatch):
    with RunStore.create(tmp_path / "run", root_seed=1, config={}, code=provenance.run_code()) as s:
        ensure(s, [Demand(TOY, {}, 1)], make_executor("serial"))
    other = {**provenance.libraries(), "numpy": "1.0.0"}
    monkeypatch.setattr(provenance, "libraries", lambda: other)
    monkeypatch.setattr(provenance, "_codes", {})
    with RunStore.open(tmp_path / "run") as store:
        with pytest.raises(StoreError, match=r"\(numpy [0-9.]+ against 1\.0\.0; then against now"):
            ensure(store, [Demand(TOY, {}, 2)], make_executor("serial"))
        assert store.blocks(TOY, {}) == {0}
        assert store.table(TOY, {}).n_trials == 16


def test_a_library_keeps_its_version_where_an_experiment_simulates_with_its_module(monkeypatch):
    """Before, the digest of the module's text stood in the place of the version."""
    parts = {"numpy": "0123456789abcdef"}
    code = provenance.Code("digest", parts)
    monkeypatch.setattr(provenance, "_codes_of", lambda every: [code for _ in every])
    assert provenance.run_code()["numpy"] == provenance.libraries()["numpy"]


def test_two_users_files_of_one_name_are_no_change_of_code(tmp_path):
    """Before, the second file's digest stood for the first file, and a new run refused it."""
    made = []
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        own = tmp_path / folder / "own.py"
        own.write_text(OWN.format(helper=HELPER).replace("own.e", f"own.{folder}"))
        made.append(load_file(own).E)
    with RunStore.create(tmp_path / "run", root_seed=1, config={}, code=provenance.run_code()) as s:
        for own_experiment in made:
            assert ensure(s, [Demand(own_experiment, {}, 2)], make_executor("serial")) == 2


def test_blocks_without_a_digest_are_not_extended(tmp_path):
    with RunStore.create(tmp_path / "run", root_seed=1, config={}) as store:
        ensure(store, [Demand(TOY, {}, 1)], make_executor("serial"))
        table = store.table(TOY, {})
        store.put_block(TOY, {"mean": 1.0}, 0, table.values)
        with pytest.raises(StoreError, match="its code differs"):
            ensure(store, [Demand(TOY, {"mean": 1.0}, 2)], make_executor("serial"))


def test_the_code_covers_what_the_experiment_imports_and_no_more():
    names = set(provenance.code_of(experiment("ifca.step")).parts)
    assert {"python", "numpy", "numba", "llvmlite", "scipy"} <= names
    assert {
        *("trials.experiments.ifca.step", "trials.experiments.ifca.geometry", "trials.laws.step"),
        *("trials.laws.wishart", "trials.run.block", "trials.run.streams", "trials.run.cell"),
    } <= names
    assert not {"trials.run.store", "trials.run.distributed", "trials.ifca.skipping"} & names


def test_an_experiment_made_of_another_ones_function_depends_on_both_modules():
    other = replace(TOY, simulate=partial(experiment("gauss.noise").simulate))
    names = set(provenance.code_of(other).parts)
    assert {"tests.trials.toys", "trials.experiments.gaussian", "trials.laws.noise"} <= names


def test_a_file_that_changed_before_it_was_imported_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "late_module.py"
    path.write_text("x = 1\n")
    known = sources._read("late_module", path)
    path.write_text("x = 22\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(provenance, "_loaded", {})
    with pytest.raises(provenance.ExecutorError, match="changed on disk after this process st"):
        provenance._refuse_a_mixture((known,))
    __import__("late_module")  # the new text, under the old digest
    with pytest.raises(provenance.ExecutorError, match=r"late_module\.py changed on disk"):
        provenance._refuse_a_mixture((known,))


def test_a_file_that_changed_after_it_was_imported_is_said_once(tmp_path, monkeypatch):
    path = tmp_path / "early_module.py"
    path.write_text("x = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(provenance, "_loaded", {})
    __import__("early_module")
    known = sources._read("early_module", path)
    provenance._refuse_a_mixture((known,))
    path.write_text("x = 22\n")
    with pytest.warns(UserWarning, match="goes on with the version that it imported"):
        provenance._refuse_a_mixture((known,))
    provenance._refuse_a_mixture((known,))
    path.write_text("x = 1\n")  # touched only
    assert sources.find_changed((known,)) == []


def test_a_module_that_is_imported_again_is_looked_at_again(monkeypatch):
    """A worker goes on for days: what it imports late may be another version."""
    for name in ("_seen", "_loaded", "_told"):
        monkeypatch.setattr(provenance, name, type(getattr(provenance, name))())
    before = provenance.digest_after_block(TOY)
    assert provenance.digest_after_block(TOY) == before
    looks, changed = [], []
    monkeypatch.setattr(sources, "find_changed", lambda found: looks.append(1) or changed)
    again = ModuleType("trials.run.streams")
    again.__spec__ = ModuleSpec("trials.run.streams", None)
    monkeypatch.setitem(sys.modules, "trials.run.streams", again)
    assert provenance.digest_after_block(TOY) == before
    assert len(looks) == 1
    assert provenance.digest_after_block(TOY) == before
    assert len(looks) == 1  # nothing was imported since
    changed.append("trials.run.streams")
    monkeypatch.setattr(again, "__spec__", ModuleSpec("trials.run.streams", None))
    with pytest.raises(provenance.ExecutorError, match=r"streams\.py changed on disk"):
        provenance.digest_after_block(TOY)


def test_the_files_of_a_called_module_are_looked_at_once_between_two_imports(monkeypatch):
    """Each of the hundreds of calls of a run looked at all files of the program, on both sides."""
    monkeypatch.setattr(provenance, "_seen", {})
    find, looks = sources.find_changed, []
    monkeypatch.setattr(sources, "find_changed", lambda found: looks.append(1) or find(found))
    message = pack_call(cell_number, ({"m": 3},))
    assert unpack_value(cell_number, answer(message)) == cell_number({"m": 3})
    assert pack_call(cell_number, ({"m": 3},)) == message
    assert len(looks) == 1
    again = ModuleType("trials.run.cell")
    again.__spec__ = ModuleSpec("trials.run.cell", None)
    monkeypatch.setitem(sys.modules, "trials.run.cell", again)
    assert pack_call(cell_number, ({"m": 3},)) == message
    assert len(looks) == 2  # another module of that name was imported


def test_another_experiment_of_the_same_name_has_the_digest_of_its_own_code():
    other = replace(TOY, simulate=experiment("gauss.noise").simulate)
    digests = [provenance.digest_after_block(one) for one in (TOY, other, TOY)]
    assert digests == [provenance.code_of(one).digest for one in (TOY, other, TOY)]
    assert digests[0] != digests[1]


def test_differences_are_in_words_the_libraries_first():
    """The second code is told against the first one, part by part."""
    old = {"mine": "a", "numpy": "1.0", "gone": "b", "same": "c"}
    new = {"mine": "z", "numpy": "2.0", "came": "d", "same": "c"}
    assert provenance.differences(old, new) == [
        "numpy 1.0 against 2.0", "came is new", "gone is gone", "mine differs",
    ]  # fmt: skip
    assert provenance.differences({}, {"scipy": "1"}) == ["scipy absent against 1"]
