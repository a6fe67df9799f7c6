"""What a run says of an implementation: misfits, failures, small inputs, replays, other arrays."""

import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from trials.checks import InvalidParameter
from verify.testing import (
    DoesNotFit,
    Violation,
    examples,
    implementation,
    load_target,
    replay,
    save_failure,
    try_check,
    verify,
)
from verify.testing.arrays import Border
from verify.testing.case import Clients, described, load, save
from verify.testing.subjects import SUBJECTS


def half(models, clients, step_size):
    return examples.ifca_step(models, clients, step_size / 2)


def first_failure(function, subject, **options):
    return verify(function, subject, **options).failures[0]


# -- fitting -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda models, clients: models, r"<lambda>\(models, clients\) does not fit ifca.step"),
        (lambda a, b, c: a, r"it returned .*; it must return two arrays \(models, labels\)"),
        (lambda a, b, c: (a[:1], [0, 1, 1]), r"models has the shape \(1, 2\); it must be \(2, 2\)"),
        (lambda a, b, c: (a, [0.0, 1.0, 1.0]), "labels must be integers; their type is float64"),
        (lambda a, b, c: (a, "abc"), "labels must be an array of numbers"),
        (lambda a, b, c: a.no_such_method(), "it raised AttributeError"),
    ],
)
def test_a_function_that_does_not_fit_is_refused_in_one_line_with_the_signature(function, says):
    with pytest.raises(DoesNotFit, match=says) as caught:
        verify(function, "ifca.step")
    assert "(models, clients, step_size) -> (models, labels)" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"subject": "ifca"}, "subject='ifca' must be one of ifca.step, ifca.run"),
        ({"arrays": "no_such_package"}, "arrays='no_such_package' must be a package"),
        ({"arrays": "math"}, "must be a package with the array API's from_dlpack"),
        ({"precision": "half"}, "precision='half' must be one of double, single"),
        ({"accuracy": -1.0}, "accuracy=-1.0 must be a finite number"),
        ({"examples": 0}, "examples=0 must be an integer >= 1"),
        ({"checks": ["low"]}, "check='low' must be one of kernel, ties"),
    ],
)
def test_wrong_options_are_refused(options, says):
    with pytest.raises(InvalidParameter, match=says):
        verify(examples.ifca_step, **{"subject": "ifca.step", **options})


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("mypkg", "must be MODULE:FUNCTION"),
        ("no_such_module:step", "importable from the current folder or installed"),
        ("verify.testing.examples:stepp", "has no stepp; its functions are: "),
        ("verify.testing.examples:np", "it must be a function"),
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


def test_every_subject_has_three_kinds_of_checks_and_a_definition():
    for subject in SUBJECTS.values():
        kinds = {check.kind for check in subject.checks}
        assert kinds == {"property", "differential", "statistical"}, subject.name
        names = [check.name for check in subject.checks]
        assert len(set(names)) == len(names)
        assert subject.signature.startswith(f"({', '.join(subject.arguments)}) -> ")
        assert all(0 < c.level <= 1e-6 for c in subject.checks if c.kind == "statistical")


# -- failures ------------------------------------------------------------------------------------


def test_a_failure_shrinks_to_one_client_with_one_row():
    outcome = first_failure(half, "ifca.step", checks=["kernel"], examples=20)
    assert described(outcome.case) == (
        "models = [[0.0]]\nclients = [([[1.0]], [1.0])]\nstep_size = 0.5"
    )
    assert "our kernel has [1.0]" in outcome.message


def test_an_upper_bound_would_not_see_half_a_gradient_but_the_law_does():
    assert first_failure(half, "ifca.step", checks=["law"]).message.startswith("the distance of")


def test_arguments_that_are_changed_in_place_are_named():
    def step(models, clients, step_size):
        clients[0][1][:] = 0.0
        return examples.ifca_step(models, clients, step_size)

    assert (
        "changed its argument 'clients'"
        in first_failure(step, "ifca.step", checks=["kernel"], examples=6).message
    )


def test_results_that_are_not_finite_or_vary_are_failures():
    rng = np.random.default_rng(0)
    noisy = verify(
        lambda points, centres: (
            centres + 1e-3 * rng.standard_normal(centres.shape),
            [0] * len(points),
        ),
        "kmeans",
        checks=["stationary"],
    )
    assert not noisy.passed
    lost = first_failure(lambda points, penalty: points * np.nan, "convex_clustering", examples=6)
    assert lost.message == "minimiser holds nan"


def test_equal_seeds_find_equal_inputs():
    first, second = (
        first_failure(half, "ifca.step", seed=5, checks=["kernel"], examples=10) for _ in range(2)
    )
    assert described(first.case) == described(second.case)


def test_an_implementation_for_equal_sizes_only_is_tried_with_those():
    def step(models, clients, step_size):
        x, y = (np.stack(parts) for parts in zip(*clients, strict=True))
        residuals = np.einsum("mnd,kd->mkn", x, models) - y[:, None]
        labels = (residuals**2).mean(axis=2).argmin(axis=1)
        own = residuals[np.arange(len(y)), labels]
        gradients = 2 / y.shape[1] * np.einsum("mnd,mn->md", x, own)
        new = models.copy()
        np.add.at(new, labels, -step_size / len(y) * gradients)
        return new, labels

    assert verify(step, "ifca.step", equal_sizes=True, examples=6).passed
    ragged = first_failure(step, "ifca.step", checks=["kernel"], examples=20)
    assert "it raised ValueError" in ragged.message


def test_a_claimed_accuracy_is_allowed_and_no_more():
    def rough(points, centres):
        new, labels = examples.kmeans(points, centres)
        return new * (1 + 1e-9), labels

    assert verify(rough, "kmeans", checks=["stationary"], accuracy=1e-8).passed
    assert not verify(rough, "kmeans", checks=["stationary"], accuracy=1e-10).passed


# -- saved failures ------------------------------------------------------------------------------


def saved_failure(folder, function=half):
    call = implementation(function, "ifca.step")
    check = call.subject.checks[0]
    outcome = try_check(check, call, examples=10)
    return save_failure(folder, "mine:step", call, outcome)


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
        command = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", test.name]
        root = str(Path(__file__).resolve().parents[3])
        monkeypatch.setenv("PYTHONPATH", root)
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    code, text = outcome("step_size / 2")
    assert code == 1
    assert "our kernel has" in text
    assert outcome("step_size")[0] == 0


def test_cases_are_read_as_they_were_saved(tmp_path):
    pairs = ((np.ones((2, 3)), np.zeros(2)), (np.full((1, 3), -0.0), np.array([1e-300])))
    case = {"models": np.eye(3), "clients": Clients(pairs), "step_size": 0.1, "n_steps": 3}
    save(tmp_path / "a.npz", case, {"why": "because"})
    again, facts = load(tmp_path / "a.npz")
    assert facts == {"why": "because"}
    assert described(again) == described(case)
    assert type(again["n_steps"]) is int
    (tmp_path / "b.npz").write_bytes(b"no archive")
    with pytest.raises(InvalidParameter, match="must be a saved case"):
        load(tmp_path / "b.npz")


# -- arrays --------------------------------------------------------------------------------------


def test_any_package_with_from_dlpack_can_be_named(monkeypatch):
    """A package whose arrays are not NumPy's: they are exported by DLPack only."""

    class Foreign:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    package = types.ModuleType("foreign")
    package.from_dlpack = lambda array: Foreign(np.from_dlpack(array))
    monkeypatch.setitem(sys.modules, "foreign", package)

    def assignment(points, centres):
        assert isinstance(points, Foreign)
        return Foreign(examples.assignment(points.array, centres.array))

    assert verify(assignment, "assignment", arrays="foreign", examples=6).passed

    def careless(points, centres):
        points.array[:] += 1.0
        return assignment(points, centres)

    found = first_failure(careless, "assignment", arrays="foreign", examples=6)
    assert "changed its argument 'points'" in found.message


def test_single_precision_is_judged_by_its_own_rounding():
    def step(models, clients, step_size):
        assert models.dtype == np.float32
        return examples.ifca_step(models, clients, np.float32(step_size))

    assert verify(step, "ifca.step", precision="single", examples=6).passed
    wrong = verify(half, "ifca.step", precision="single", examples=6, checks=["kernel"])
    assert not wrong.passed
    assert Border(precision="single").unit == 2.0**-24
