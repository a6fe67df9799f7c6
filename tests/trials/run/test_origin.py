"""Experiments that a user brings in a file of his own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from trials import sources
from trials.checks import InvalidParameter
from trials.run import experiment as registry
from trials.run.block import Task, simulate_block
from trials.run.engine import Demand, ensure
from trials.run.executors import ExecutorError, make_executor
from trials.run.experiment import (
    MAX_DESIGN,
    USER_DESIGNS,
    Experiment,
    experiment,
    experiments,
    register,
    user_design,
)
from trials.run.origin import Origin, load, load_file, origin_of, user_module_name
from trials.run.store import RunStore
from trials.run.wire import answer, pack_blocks, unpack_blocks

ROOT = Path(__file__).parents[3]

FILE = """
from dataclasses import dataclass

import numpy as np

from trials.run.experiment import Experiment, register, user_design

@dataclass(frozen=True)
class Scale:
    value: float

def simulate(params, rng, n_trials):
    return Scale({scale}).value * rng.standard_normal((n_trials, 1))

def check(params):
    return {{"n": int(params.get("n", 1))}}

def double(x):
    return 2 * x

EXPERIMENT = register(
    Experiment(name="{name}", design=user_design("{name}"), columns=("x",), simulate=simulate,
               check=check, block_size=4)
)
"""


def _write(folder, name, text=None, scale=2.0):
    path = folder / f"{name.replace('.', '_')}.py"
    path.write_text(FILE.format(name=name, scale=scale) if text is None else text)
    return path


def test_a_file_is_loaded_once_and_under_a_name_made_of_its_text(tmp_path):
    path = _write(tmp_path, "mine.once")
    module = load_file(path)
    assert load_file(str(path)) is module
    assert module.__name__ == user_module_name(path.read_bytes())
    assert experiment("mine.once") is module.EXPERIMENT
    assert module.EXPERIMENT.design >= USER_DESIGNS


@pytest.mark.parametrize("kind", ["serial", "threads", "processes"])
def test_its_blocks_are_the_same_everywhere(tmp_path, kind):
    module = load_file(_write(tmp_path, "mine.everywhere"))
    with (
        RunStore.create(tmp_path / "run", root_seed=3, config={}) as store,
        make_executor(kind, 2) as executor,
    ):
        ensure(store, [Demand(module.EXPERIMENT, {}, 5)], executor)
        assert executor.submit_call(module.double, 2).result() == 4
        values = store.table(module.EXPERIMENT, {}).values
    with (
        RunStore.create(tmp_path / "again", root_seed=3, config={}) as store,
        make_executor("serial") as executor,
    ):
        ensure(store, [Demand(module.EXPERIMENT, {}, 5)], executor)
        assert store.table(module.EXPERIMENT, {}).values.tobytes() == values.tobytes()
    assert np.isfinite(values).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = (\n", r"line 1: '\(' was never closed"),
        ("\n\nx = undefined\n", "line 3: NameError: name 'undefined' is not defined"),
        ("import no_such_module\n", "line 1: ModuleNotFoundError: No module named 'no_such"),
        ("raise SystemExit(3)\n", "line 1: SystemExit: 3"),
        ("def f():\n    1 / 0\n\nf()\n", "line 2: ZeroDivisionError"),
        ("\0", "is not Python source|source code string cannot contain null bytes"),
        ("x = '\udcff'", "line 1|is not Python source"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_one_line(tmp_path, text, message):
    path = tmp_path / "bad.py"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InvalidParameter, match=message) as caught:
        load_file(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    assert user_module_name(path.read_bytes()) not in sys.modules


@pytest.mark.parametrize("path", ["missing.py", "", ".", "a\0b", "x" * 5000])
def test_a_path_that_cannot_be_read_is_one_line(tmp_path, path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidParameter) as caught:
        load_file(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


def test_a_file_too_large_for_messages_is_refused(tmp_path):
    path = _write(tmp_path, "large", "x = 1\n" + "#" * (1 << 20))
    with pytest.raises(InvalidParameter, match="must be at most 1048576"):
        load_file(path)


def test_a_clash_names_both_sides_and_registers_nothing(tmp_path):
    load_file(_write(tmp_path, "mine.first"))
    before = [e.name for e in experiments()]
    both = FILE.format(name="mine.second", scale=1.0) + FILE.format(name="mine.first", scale=3.0)
    path = _write(tmp_path, "mine.both", both)
    with pytest.raises(InvalidParameter, match=r"'mine\.first' .* clashes with 'mine\.first'"):
        load_file(path)
    assert [e.name for e in experiments()] == before
    number = experiment("mine.first").design
    text = FILE.format(name="mine.third", scale=1.0).replace(
        'user_design("mine.third")', str(number)
    )
    with pytest.raises(InvalidParameter, match=f"design {number}"):
        load_file(_write(tmp_path, "mine.number", text))


def test_design_numbers_below_the_users_range_are_refused(tmp_path):
    text = FILE.format(name="mine.low", scale=1.0).replace('user_design("mine.low")', "101_000")
    with pytest.raises(InvalidParameter, match=r"design=101000 must be at least 2\*\*31 outside"):
        load_file(_write(tmp_path, "mine.low", text))
    names = [f"a.{i}" for i in range(2000)]
    assert all(USER_DESIGNS <= user_design(name) <= MAX_DESIGN for name in names)
    assert len({user_design(name) for name in names}) == len(names)


def test_a_worker_loads_the_text_and_refuses_what_it_cannot_load(tmp_path):
    path = _write(tmp_path, "mine.shipped")
    text = path.read_bytes()
    module = load(Origin(user_module_name(text), str(path), text))
    assert origin_of(module.__name__) == Origin(module.__name__, str(path), text)
    assert load_file(path) is module
    with pytest.raises(ExecutorError, match=r"cannot import no_such_package .*; install the same"):
        load(Origin("no_such_package"))
    bad = b"x = 1 / 0\n"
    with pytest.raises(ExecutorError, match=r"cannot load .*line 1: ZeroDivisionError"):
        load(Origin(user_module_name(bad), "bad.py", bad))
    assert origin_of("trials.experiments.gaussian") == Origin("trials.experiments.gaussian")


SCRIPT = """
import sys
from trials.run.engine import Demand, ensure
from trials.run.executors import make_executor
from trials.run.store import RunStore
{body}
if __name__ == "__main__":
    for kind in sys.argv[1:]:
        with RunStore.create("run-" + kind, root_seed=3, config={{}}) as store:
            with make_executor(kind, 1) as executor:
                ensure(store, [Demand(EXPERIMENT, {{}}, 4)], executor)
            print(store.content_digest())
"""


def test_an_experiment_of_a_script_runs_in_worker_processes(tmp_path):
    (tmp_path / "script.py").write_text(
        SCRIPT.format(body=FILE.format(name="script.e", scale=1.0).replace("{{", "{"))
    )
    digests = subprocess.run(
        [sys.executable, "script.py", "serial", "processes"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert len(digests) == 2
    assert digests[0] == digests[1] != ""


def test_an_experiment_of_a_prompt_is_refused_by_workers_that_could_not_find_it(tmp_path):
    program = SCRIPT.format(body=FILE.format(name="prompt.e", scale=1.0)).replace("{{", "{")
    found = subprocess.run(
        [sys.executable, "-c", program, "processes"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    last = found.stderr.strip().splitlines()[-1]
    assert "has no file that a worker could load; put it into a file" in last


GOOD = {
    "name": "range.e",
    "design": MAX_DESIGN,
    "columns": ("x",),
    "simulate": np.zeros,
    "check": dict,
}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        *(({"name": name}, "name") for name in ("", "a b", "a:b", "a\n", "ä", 7, "x" * 101)),
        *(({"name": name}, "without '.' or '-' at its start") for name in (".a", "-a")),
        ({"measured": ("b",)}, "measured="),
        *(({"design": d}, "design=") for d in (-1, 1 << 32, 1.5, True, "1", None)),
        *(({"columns": c}, "columns=") for c in ((), ("a", "a"), ("",), ["a"], (1,), "ab")),
        *(({"block_size": b}, "block_size=") for b in (0, 1.5, (1 << 20) + 1, False)),
        *(({name: 3}, f"{name}=3") for name in ("simulate", "check", "cost")),
    ],
)
def test_an_experiment_outside_its_ranges_is_refused_in_one_line(bad, message):
    with pytest.raises(InvalidParameter, match=message) as caught:
        Experiment(**{**GOOD, **bad})
    assert "\n" not in str(caught.value)


def test_the_same_experiment_is_not_registered_twice():
    one = Experiment(**{**GOOD, "name": "range.twice", "design": user_design("range.twice")})
    try:
        register(one)
        with pytest.raises(InvalidParameter, match="clashes"):
            register(one)
    finally:
        registry._REGISTRY.pop("range.twice", None)
        registry._MODULES.pop("range.twice", None)


@pytest.fixture
def fresh_registry(monkeypatch):
    """A registry that may be emptied, and sources that may be forgotten."""
    for module, name in ((registry, "_REGISTRY"), (registry, "_MODULES"), (sources, "_sources")):
        monkeypatch.setattr(module, name, dict(getattr(module, name)))


def test_a_worker_that_lacks_the_experiment_loads_it_from_the_message(
    tmp_path, monkeypatch, fresh_registry
):
    module = load_file(_write(tmp_path, "mine.sent", scale=3.0))
    task = Task(module.EXPERIMENT, {"n": 1}, 5, 2)
    here = simulate_block(task)
    message = pack_blocks([task])
    monkeypatch.delitem(sys.modules, module.__name__)
    del registry._REGISTRY["mine.sent"], registry._MODULES["mine.sent"]
    sources.remove(module.__name__)
    (found,) = unpack_blocks([task], answer(message))
    assert found.values.tobytes() == here.values.tobytes()
    assert sys.modules[module.__name__] is not module


def test_an_experiment_that_no_worker_could_find_is_refused(tmp_path, fresh_registry):
    module = load_file(_write(tmp_path, "mine.nowhere"))
    del registry._REGISTRY["mine.nowhere"]
    with pytest.raises(InvalidParameter, match=r"'mine\.nowhere' must be registered"):
        pack_blocks([Task(module.EXPERIMENT, {"n": 1}, 5, 0)])


def test_modules_come_by_their_name_or_by_their_text(tmp_path, monkeypatch, fresh_registry):
    assert origin_of("json") == Origin("json")
    script = tmp_path / "script.py"
    script.write_text("x = 3\n")
    main = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    sources._sources.pop("__main__", None)
    with pytest.raises(InvalidParameter, match="at a prompt or in a notebook has no file"):
        origin_of("__main__")
    main.__file__ = str(script)
    name = user_module_name(b"x = 3\n")
    assert origin_of("__main__") == Origin(name, str(script), b"x = 3\n")
    # a module of the user's own whose name begins like one of ours
    for own in ("trials_of_mine", "verifying", "bounds2"):
        (tmp_path / f"{own}.py").write_text("x = 5\n")
        module = ModuleType(own)
        module.__file__ = str(tmp_path / f"{own}.py")
        monkeypatch.setitem(sys.modules, own, module)
        assert origin_of(own) == Origin(own, module.__file__, b"x = 5\n")
        sources._sources.pop(own)
    assert origin_of("trials.run.block") == Origin("trials.run.block")
    # a module of the user's own that a worker lacks is made of its text, under its name
    found = load(Origin("mine_alone_here", "alone.py", b"x = 4\n"))
    assert (found.__name__, found.x, sys.modules.pop("mine_alone_here")) == (
        "mine_alone_here", 4, found,
    )  # fmt: skip
    with pytest.raises(ExecutorError, match=r"cannot import mine_alone\.below"):
        load(Origin("mine_alone.below", "below.py", b"x = 4\n"))


def test_an_interrupt_while_a_file_is_loaded_is_no_fault_of_the_file(tmp_path):
    path = tmp_path / "interrupted.py"
    path.write_text("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        load_file(path)
    assert user_module_name(path.read_bytes()) not in sys.modules
