"""Which tests share a worker, and what the workers of pytest-xdist send.

`group_of` names the group of a test, and `scheduler` keeps it together.  `send_less` leaves out
what nobody reads.

pytest-xdist 3.8 writes a group into ``item._nodeid``.  pytest 9.1 and later make ``nodeid`` from
another attribute, so that the scheduler of ``--dist loadgroup`` sees no group and hands out single
tests.  Each worker then makes the fixtures of every file.  So the group is read off the id here.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

#: Files that share what one of them computes: certificates that were checked, claims that were
#: decided on invented trials, and the sources' syntax trees.
TOGETHER = {
    "tests/test_unused.py": "tests/test_architecture.py",
    "tests/verify/proofs/test_reductions.py": "tests/verify/proofs/test_shelf.py",
    "tests/verify/proofs/test_sums.py": "tests/verify/proofs/test_shelf.py",
    "tests/verify/proofs/test_unproved.py": "tests/verify/proofs/test_shelf.py",
    "tests/verify/test_all_failed.py": "tests/verify/test_evidence_of_claims.py",
    "tests/verify/test_failed_trials.py": "tests/verify/test_evidence_of_claims.py",
}


def group_of(nodeid: str) -> str:
    """The group of a test: its file, or the first of files that share what they compute.

    Two files are too long for one group: each of their parts is one.

    >>> group_of("tests/test_every_claim.py::test_a_claim_is_complete[ifca.thm1]")
    'tests/test_every_claim.py::ifca.thm1'
    >>> group_of("tests/records/test_records.py::test_the_value_is_the_recorded_one[calls k-means]")
    'tests/records/test_records.py::calls'
    >>> group_of("tests/verify/test_plan.py::test_wild[a::b]")
    'tests/verify/test_plan.py'
    >>> group_of("tests/verify/proofs/test_sums.py::test_a_sum")
    'tests/verify/proofs/test_shelf.py'
    """
    file, _, test = nodeid.partition("::")
    file = TOGETHER.get(file, file)
    _, parametrised, values = test.partition("[")
    if not parametrised:
        return file
    if file.endswith("test_every_claim.py"):
        return f"{file}::{values.removesuffix(']')}"
    if file.endswith("test_records.py"):
        kind = values.removesuffix("]").split(" ")[0]
        return f"{file}::{'claims' if kind == 'phrases' else kind}"  # phrases are the claims' own
    return file


def scheduler(config: Any, log: Any) -> Any:
    """The scheduler of pytest-xdist that hands out whole groups, None where another is asked for.

    With ``-n 2`` alone xdist would hand out single tests, and each worker would make the fixtures
    of most files.

    pytest-xdist looks through the list of all tests for each test that it hands out, and through
    all tests that a worker has had after each that ends.  So its time grows as the square of the
    number of tests, and the workers wait for it.  Here both are short for any number.
    """
    if config.getoption("dist") not in ("load", "loadgroup"):  # the former goes without saying
        return None
    from xdist.scheduler.loadscope import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        """A group goes to one worker."""

        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

        def _pending_of(self, workload: dict[str, dict[str, bool]]) -> int:
            """The tests that a worker has not run.  Groups that have ended are forgotten."""
            for name in [name for name, group in workload.items() if all(group.values())]:
                del workload[name]
            return sum(list(group.values()).count(False) for group in workload.values())

        @cached_property
        def _numbers(self) -> dict[str, int]:
            """A test's place in the list of all tests, which is the same for all workers."""
            return {name: i for i, name in enumerate(self.collection or ())}

        def _assign_work_unit(self, node: Any) -> None:
            """Send the next group to a worker."""
            name, group = self.workqueue.popitem(last=False)
            self.assigned_work.setdefault(node, {})[name] = group
            left = [self._numbers[test] for test, ended in group.items() if not ended]
            node.send_runtest_some(left)

    return Groups(config, log)


def says_nothing(report: pytest.TestReport) -> bool:
    """Whether a report says no more than that a test's set-up or its clearing away passed.

    What either of them printed is shown where the test fails, so that such a report stays.
    """
    return report.when != "call" and report.passed and not report.sections


def send_less(config: pytest.Config) -> None:
    """In a worker of pytest-xdist: send no report that says nothing, and no start of a test.

    Each test otherwise has six messages, which cost the sender and the receiver a millisecond, and
    the receiver runs beside the workers.  Tables of durations and files of JUnit need them all.
    """
    if any(config.getoption(name, None) is not None for name in ("durations", "xmlpath")):
        return
    for hook in (config.hook.pytest_runtest_logreport, config.hook.pytest_runtest_logstart):
        for implementation in hook.get_hookimpls():
            if type(implementation.plugin).__name__ == "WorkerInteractor":
                implementation.function = _shortened(implementation.function)


def _shortened(send: Any) -> Any:
    """A sender of reports, or of starts, that leaves out what `send_less` says."""
    if send.__name__ == "pytest_runtest_logstart":
        return lambda nodeid, location: None
    return lambda report: None if says_nothing(report) else send(report)
