"""Planted bugs are found, and correct implementations pass.

Continuous integration tries a share.  The task ``subjects`` tries all bugs and 2,000 correct runs.
"""

import os

import pytest

from tests.verify.testing.planted import BUGS, PLAIN
from verify.testing import examples, implementation, try_check, verify

#: Runs of correct implementations, each with a seed of its own.
RUNS = int(os.environ.get("CFL_SUBJECT_RUNS", "5"))
EVERY = 1 if "CFL_SUBJECT_RUNS" in os.environ else 16
#: The least share of the planted bugs that has to be found.
SHARE = 38 / 40


def is_found(bug):
    """Whether some check fails.  The checks after the first one that fails are not tried."""
    call = implementation(bug.function, bug.subject)
    return any(not try_check(check, call, examples=24).passed for check in call.subject.checks)


def test_there_are_forty_bugs_and_three_for_every_subject():
    assert len(BUGS) >= 40
    for subject in PLAIN:
        assert sum(bug.subject == subject for bug in BUGS) >= 3, subject


def test_a_share_of_the_planted_bugs_is_found():
    tried = BUGS[::EVERY]
    missed = [f"{bug.subject}: {bug.what}" for bug in tried if not is_found(bug)]
    assert len(tried) - len(missed) >= SHARE * len(tried), missed


@pytest.mark.statistical
def test_correct_implementations_pass():
    """A run holds at most one statistical check of level 1e-6, so 2,000 fail with 2e-3 at most."""
    names = list(PLAIN)
    for seed in range(RUNS):
        name = names[seed % len(names)]
        plain = getattr(examples, PLAIN[name])
        report = verify(plain, name, examples=6 if EVERY == 1 else 4, seed=seed)
        assert report.passed, (name, seed, report.failures)
