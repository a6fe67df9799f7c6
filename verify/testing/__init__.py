"""Tests of one's own implementation: checks of a subject, smallest failures, replay.

* `verify` -- try a function with all checks of a subject, e.g. ``ifca.step``.
* `implementation`, `try_check` -- the same in two steps, for other test runners.
* `replay` -- judge a function on a saved failure again.
* `verify.testing.strategies` -- Hypothesis strategies for tests of one's own.
* `verify.testing.examples` -- a plain NumPy implementation of every subject.

The program is ``cfl-verify subject``, and the pytest marker is ``verifies``.
"""

from verify.testing.check import DoesNotFit, Violation
from verify.testing.regression import load_target, replay, save_failure
from verify.testing.runner import Outcome, Report, implementation, try_check, verify
from verify.testing.subjects import SUBJECTS

__all__ = [
    "SUBJECTS",
    "DoesNotFit",
    "Outcome",
    "Report",
    "Violation",
    "implementation",
    "load_target",
    "replay",
    "save_failure",
    "try_check",
    "verify",
]
