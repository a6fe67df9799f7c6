"""Failures that are saved: the names of functions, what a file holds, and its replay."""

import functools
import inspect
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from tests import forking
from trials.checks import InvalidParameter
from verify.testing import (
    DoesNotFit,
    Outcome,
    Violation,
    examples,
    implementation,
    load_target,
    regression,
    replay,
    save_failure,
    try_check,
)
from verify.testing.case import load


def half(models, clients, step_size):
    return examples.ifca_step(models, clients, step_size / 2)


class Held:
    class Inner:
        @staticmethod
        def step(models, clients, step_size):
            return examples.ifca_step(models, clients, step_size)


def _hidden():
    """No public function."""


NUMBER = 3

# -- names of functions --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("mypkg", "^'mypkg' must be MODULE:FUNCTION"),
        ("mypkg:", "must be MODULE:FUNCTION"),
        (":step", "must be MODULE:FUNCTION"),
        (
            "here/mine.py:step",
            "names a file: write MODULE:FUNCTION, as in mine:step, from the folder",
        ),
        ("no_such_package.step:run", "importable from the current folder or installed"),
        ("verify.no_such_module:run", "importable from the current folder or installed"),
        ("os.path:no_such_function", "^os.path has no no_such_function; its functions are: "),
        ("no_such_module:step", "importable from the current folder or installed"),
        ("verify.testing.examples:stepp", "has no stepp; its functions are: "),
        ("verify.testing.examples:np", "it must be a function"),
        # a name ends at the first colon, and what holds no names has no functions
        ("json:JSONDecoder:decode", "^json has no JSONDecoder:decode; its functions are: JSOND"),
        ("json:dumps:", "^json has no dumps:; its functions are: "),
        ("math:pi.step", r"^math has no pi\.step; its functions are: none$"),
        ("math:sin.", r"^math has no sin\.; its functions are: none$"),
    ],
)
def test_a_target_that_cannot_be_imported_is_refused_with_a_hint(target, says):
    with pytest.raises(DoesNotFit, match=says):
        load_target(target)


def test_an_error_inside_the_users_module_is_told_apart(tmp_path, monkeypatch):
    (tmp_path / "broken_one.py").write_text("import no_such_module")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DoesNotFit, match="the error is in the module or in what it imports"):
        load_target("broken_one:step")


def test_a_missing_module_is_told_apart_from_one_of_a_longer_name(tmp_path, monkeypatch):
    """The module needs another one whose name begins as its own does."""
    (tmp_path / "needs.py").write_text("import needs_more")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DoesNotFit, match="the error is in the module or in what it imports"):
        load_target("needs:step")
    (tmp_path / "raises.py").write_text("raise ZeroDivisionError('of its own')")
    with pytest.raises(DoesNotFit, match="ZeroDivisionError: of its own; the error is in the mod"):
        load_target("raises:step")


def test_functions_of_the_current_folder_are_found_first_and_listed(tmp_path, monkeypatch):
    text = "one = 1\ndef _two(): ...\ndef three(): ...\nclass Four:\n    def five(self): ...\n"
    (tmp_path / "my_listed.py").write_text(text)
    (tmp_path / "my_bare.py").write_text("one = 1")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["elsewhere", *sys.path])
    before = list(sys.path)
    found = load_target("my_listed:three")
    assert (found.__module__, found.__name__) == ("my_listed", "three")
    assert sys.path == [os.getcwd(), *before]
    assert load_target("my_listed:Four.five") is sys.modules["my_listed"].Four.five
    assert sys.path == [os.getcwd(), *before]  # once is enough
    with pytest.raises(DoesNotFit, match=r"my_listed has no six; its functions are: three, Four$"):
        load_target("my_listed:six")
    with pytest.raises(DoesNotFit, match=r"my_listed has no Four.six; its functions are: five$"):
        load_target("my_listed:Four.six")
    with pytest.raises(DoesNotFit, match=r"my_bare has no six; its functions are: none$"):
        load_target("my_bare:six")
    with pytest.raises(DoesNotFit, match=r"^my_bare:one is 1: it must be a function$"):
        load_target("my_bare:one")


def test_the_name_of_a_function_leads_to_it_or_is_none():
    assert regression.target_of(half) == f"{__name__}:half"
    assert regression.target_of(Held.Inner.step) == f"{__name__}:Held.Inner.step"
    assert regression.target_of(lambda: None) is None

    def inside():
        """No name leads here."""

    assert regression.target_of(inside) is None
    inside.__qualname__ = "half"  # it leads to another function
    assert regression.target_of(inside) is None
    assert regression.target_of(NUMBER) is None


# -- saved failures ------------------------------------------------------------------------------


@functools.cache
def failed(**declared):
    """An implementation, and the outcome of its first check."""
    call = implementation(half, "ifca.step", **declared)
    return call, try_check(call.subject.checks[0], call, examples=10)


def saved_failure(folder, **declared):
    return save_failure(folder, "mine:step", *failed(**declared))


def test_a_saved_failure_fails_again_until_the_implementation_is_right(tmp_path):
    path = saved_failure(tmp_path).with_suffix(".npz")
    with pytest.raises(Violation, match="our kernel has"):
        replay(path, half)
    replay(path, examples.ifca_step)


def test_the_saved_test_runs_on_its_own(tmp_path, monkeypatch):
    test = saved_failure(tmp_path)
    source = "from verify.testing.examples import ifca_step\n"
    step = "def step(models, clients, step_size):\n    return ifca_step(models, clients, {})\n"

    def outcome(size):
        (tmp_path / "mine.py").write_text(source + step.format(size))
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
        command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", test.name]
        root = str(Path(__file__).resolve().parents[3])
        monkeypatch.setenv("PYTHONPATH", root)
        done = forking.run(command, cwd=tmp_path)
        return done.returncode, done.stdout

    code, text = outcome("step_size / 2")
    assert code == 1
    assert "our kernel has" in text
    assert outcome("step_size")[0] == 0


def test_a_saved_failure_holds_what_its_replay_needs(tmp_path):
    folder = tmp_path / "new" / "folder"
    declared = {"precision": "single", "accuracy": 0.001, "equal_sizes": True}
    test = saved_failure(folder, **declared)
    assert test == folder / "test_ifca_step_kernel_mine_step.py"
    assert sorted(path.name for path in folder.iterdir()) == [
        "test_ifca_step_kernel_mine_step.npz", "test_ifca_step_kernel_mine_step.py",
    ]  # fmt: skip
    case, facts = load(test.with_suffix(".npz"))
    assert {name: np.asarray(case[name]).tolist() for name in ("models", "step_size")} == {
        "models": [[0.0]], "step_size": 0.5,
    }  # fmt: skip
    message = facts.pop("message")
    assert message.startswith("model 0 is [0.5]; our kernel has [1.0].")
    assert facts == {
        "target": "mine:step",
        "subject": "ifca.step",
        "check": "kernel",
        "declared": {"arrays": "numpy", **declared},
    }
    assert test.read_text(encoding="utf-8") == (
        '"""mine:step failed here as ifca.step: kernel.\n\n'
        "Labels and models are those of our kernel, to rounding.\n\n"
        "Found and written by cfl-verify.  The test passes once the implementation is right.\n"
        '"""\n\nfrom pathlib import Path\n\nfrom verify.testing import replay\n\n\n'
        "def test_ifca_step_kernel_mine_step():\n"
        '    replay(Path(__file__).with_suffix(".npz"))\n'
    )
    assert saved_failure(folder) == test  # it may be written again


def test_failures_of_two_implementations_lie_beside_each_other(tmp_path):
    call = implementation(half, "ifca.step")
    check = next(check for check in call.subject.checks if check.name == "kernel")
    outcome = try_check(check, call, seed=0, examples=20)
    one, two = (save_failure(tmp_path, target, call, outcome) for target in ("a:f", "b:f"))
    assert one != two
    assert len(list(tmp_path.iterdir())) == 4


def test_what_has_passed_is_not_saved(tmp_path):
    call = implementation(half, "ifca.step")
    with pytest.raises(InvalidParameter, match="kernel has not failed: there is no input to save"):
        save_failure(tmp_path, "mine:step", call, Outcome(check=call.subject.checks[0]))
    assert list(tmp_path.iterdir()) == []


def test_a_replay_imports_the_function_where_none_is_given(tmp_path, monkeypatch):
    path = saved_failure(tmp_path).with_suffix(".npz")
    (tmp_path / "mine.py").write_text(
        "from verify.testing.examples import ifca_step\n"
        "def step(models, clients, step_size):\n"
        "    return ifca_step(models, clients, 2 * step_size)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(Violation) as caught:
        replay(str(path))
    states, message, case = str(caught.value).split("\n", 2)
    assert states == "Labels and models are those of our kernel, to rounding."
    assert message.startswith("model 0 is [2.0]; our kernel has [1.0].")
    assert case == "models = [[0.0]]\nclients = [([[1.0]], [1.0])]\nstep_size = 0.5"
    monkeypatch.delitem(sys.modules, "mine")


def test_a_replay_judges_by_what_was_declared(tmp_path):
    """An accuracy of one allows half a gradient, and a file that claims it passes."""
    path = saved_failure(tmp_path).with_suffix(".npz")
    case, facts = load(path)
    regression.save(path, case, {**facts, "declared": {**facts["declared"], "accuracy": 1.0}})
    replay(path, half)
    regression.save(path, case, {**facts, "declared": {**facts["declared"], "precision": "half"}})
    with pytest.raises(InvalidParameter, match="precision='half'"):
        replay(path, half)


def test_a_file_that_is_no_saved_failure_of_this_version_is_refused_in_one_line(tmp_path):
    path = saved_failure(tmp_path).with_suffix(".npz")
    case, facts = load(path)
    lacking = [{k: v for k, v in facts.items() if k != name} for name in facts if name != "message"]
    assert len(lacking) == 4
    for other, says in (
        *((one, "must be a saved failure: its facts are ") for one in [{}, *lacking]),
        ({**facts, "declared": 7}, "must be a saved failure: its facts are "),
        ({**facts, "declared": {**facts["declared"], "units": 1, "tie": 2}}, "declares tie, units"),
    ):
        regression.save(path, case, other)
        with pytest.raises(InvalidParameter, match=says) as refused:
            replay(path, half)
        assert len(str(refused.value).splitlines()) == 1
    declared = inspect.signature(implementation).parameters.keys() - {"function", "subject"}
    assert facts["declared"].keys() == declared


def test_a_replay_of_a_check_that_is_gone_is_refused(tmp_path):
    path = saved_failure(tmp_path).with_suffix(".npz")
    case, facts = load(path)
    regression.save(path, case, {**facts, "check": "kernels"})
    with pytest.raises(InvalidParameter, match=r"npz: ifca\.step has no check kernels$"):
        replay(path, half)


@pytest.mark.parametrize("name", ["ties", "fixed-point"])
def test_a_replay_judges_the_check_of_its_name(tmp_path, name):
    """Every model is moved: only noiseless data tell it apart from what the labels say."""

    def moved(models, clients, step_size):
        new, labels = examples.ifca_step(models, clients, step_size)
        return new + 1.0, labels

    path = saved_failure(tmp_path).with_suffix(".npz")
    case, facts = load(path)
    regression.save(path, case, {**facts, "check": name})
    if name == "ties":
        replay(path, moved)
    else:
        with pytest.raises(Violation, match=r"^Models that fit noiseless data stay"):
            replay(path, moved)
