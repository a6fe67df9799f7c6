"""Planted bugs are found, and correct implementations pass.

Continuous integration tries all bugs without shrinking their inputs, and each correct
implementation once.  The task ``subjects`` tries more inputs, and 2,000 correct runs.
"""

import os

import pytest

from tests.verify.testing.planted import BUGS, PLAIN
from verify.testing import examples, implementation, try_check, verify

#: Runs of correct implementations, each with a seed of its own.
RUNS = int(os.environ.get("CFL_SUBJECT_RUNS", "0"))


def is_found(bug):
    """Whether some check fails.  The checks after the first one that fails are not tried."""
    call = implementation(bug.function, bug.subject)
    return any(
        not try_check(check, call, examples=24, shrink=bool(RUNS)).passed
        for check in call.subject.checks
    )


def test_there_are_forty_bugs_and_three_for_every_subject():
    assert len(BUGS) >= 40
    for subject in PLAIN:
        assert sum(bug.subject == subject for bug in BUGS) >= 3, subject


@pytest.mark.parametrize("subject", PLAIN)
def test_the_planted_bugs_are_found(subject):
    assert [b.what for b in BUGS if b.subject == subject and not is_found(b)] == []


@pytest.mark.statistical
@pytest.mark.parametrize("name", PLAIN)
def test_a_correct_implementation_passes(name):
    """A run holds at most one statistical check of level 1e-6."""
    report = verify(getattr(examples, PLAIN[name]), name, examples=4)
    assert report.passed, report.failures


@pytest.mark.statistical
@pytest.mark.skipif(not RUNS, reason="run by `tox -e subjects`")
def test_correct_implementations_pass():
    """A run holds at most one statistical check of level 1e-6, so 2,000 fail with 2e-3 at most."""
    names = list(PLAIN)
    for seed in range(RUNS):
        name = names[seed % len(names)]
        report = verify(getattr(examples, PLAIN[name]), name, examples=6, seed=seed)
        assert report.passed, (name, seed, report.failures)
