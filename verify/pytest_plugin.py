"""The pytest plug-in: one test for each check of a subject.

    @pytest.mark.verifies("ifca.step")
    def test_step(verify):
        verify(mypkg.step)

The marker takes what `verify.testing.verify` takes: ``seed``, ``examples``, ``arrays``,
``precision``, ``accuracy`` and ``equal_sizes``.  A failure is saved below the folder that
``--subject-output`` names, with a test that replays it.

Nothing of this suite is imported before a test uses the marker, because pytest loads every plug-in
that is installed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MARKER = "verifies"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the folder of saved failures."""
    parser.getgroup("cfl-verify").addoption(
        "--subject-output",
        default="subject-failures",
        metavar="DIR",
        help="Folder of saved failures of subjects, from the root.  [default: subject-failures]",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line(
        "markers", f"{MARKER}(subject, **declared): try an implementation with a subject's checks"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test of every check of the subject that the marker names."""
    marker = metafunc.definition.get_closest_marker(MARKER)
    if marker is None or "verify" not in metafunc.fixturenames:
        return
    from trials.checks import InvalidParameter
    from verify.testing.subjects import subject

    if len(marker.args) != 1:
        _fail_alone(metafunc, f'write @pytest.mark.{MARKER}("ifca.step") with one subject')
        return
    try:
        checks = subject(marker.args[0]).checks
    except InvalidParameter as error:
        _fail_alone(metafunc, str(error))
        return
    metafunc.parametrize("verify", checks, indirect=True, ids=[check.name for check in checks])


def _fail_alone(metafunc: pytest.Metafunc, message: str) -> None:
    """A wrong marker fails its own test.  An error here would stop the collection of all tests."""
    metafunc.parametrize("verify", [message], indirect=True, ids=["marker"])


@pytest.fixture
def verify(request: pytest.FixtureRequest) -> Callable[[Callable[..., Any]], None]:
    """A function that tries an implementation with one check of the marked subject."""
    marker = request.node.get_closest_marker(MARKER)
    if marker is None:
        raise pytest.UsageError(
            f'the fixture verify needs @pytest.mark.{MARKER}("ifca.step") on its test'
        )
    if isinstance(request.param, str):
        pytest.fail(request.param, pytrace=False)
    declared = dict(marker.kwargs)
    effort = {name: declared.pop(name) for name in ("seed", "examples") if name in declared}

    def run(function: Callable[..., Any]) -> None:
        from verify.testing.regression import save_failure, target_of
        from verify.testing.report import failure_text
        from verify.testing.runner import implementation, try_check

        call = implementation(function, marker.args[0], **declared)
        outcome = try_check(request.param, call, **effort)
        if outcome.passed:
            return
        target = target_of(function)
        saved = None
        if target is not None:
            folder = Path(request.config.rootpath, request.config.getoption("subject_output"))
            saved = save_failure(folder, target, call, outcome)
        pytest.fail(failure_text(outcome, saved), pytrace=False)

    return run
