"""The words of a failure, line by line."""

import shlex
from pathlib import Path

import numpy as np
import pytest

from verify.testing import report
from verify.testing.check import Check, law_check, property_check
from verify.testing.runner import Outcome


def judge(_call, _case):
    """It is right."""


def failed(check: Check, case) -> Outcome:
    return Outcome(check=check, message="it is 3", case=case)


ORDINARY = property_check("small", "It is small.", lambda _scope: None, judge)


def test_a_failure_has_its_statement_its_message_and_its_input():
    found = report.failure_text(failed(ORDINARY, {"a": np.array([1.0]), "k": 2}), None)
    assert found == "It is small.\nit is 3\nsmallest input found:\n  a = [1.0]\n  k = 2"
    assert report.failure_text(failed(ORDINARY, None), None) == "It is small.\nit is 3"


def test_a_statistical_failure_has_its_level_and_its_seed():
    found = report.failure_text(failed(law_check("It is normal.", judge), {"data_seed": 5}), None)
    assert found.splitlines() == [
        "It is normal.",
        "it is 3",
        "A correct implementation is rejected with probability 1e-06.",
        "seed of the data:",
        "  data_seed = 5",
    ]


@pytest.mark.parametrize(("known", "needs"), [(True, ""), (False, " (pip install pytest)")])
def test_a_saved_failure_has_the_command_that_replays_it(monkeypatch, known, needs):
    monkeypatch.setattr(report, "find_spec", lambda name: (known and name == "pytest") or None)
    found = report.failure_text(failed(ORDINARY, None), Path("a/test_b.py"))
    assert found.splitlines()[2:] == [
        f"saved: python -m pytest {Path('a/test_b.py')} replays it{needs}"
    ]


def test_the_command_that_replays_a_failure_can_be_copied(monkeypatch):
    monkeypatch.setattr(report, "find_spec", lambda _name: True)
    found = report.failure_text(failed(ORDINARY, None), Path("my folder/test_b.py"))
    assert shlex.split(found.splitlines()[-1])[1:5] == [
        *("python", "-m", "pytest"), str(Path("my folder/test_b.py"))
    ]  # fmt: skip
