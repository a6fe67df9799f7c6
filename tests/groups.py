"""Which tests share a worker: `group_of` names the group, and `scheduler` keeps it together.

pytest-xdist 3.8 writes a group into ``item._nodeid``.  pytest 9.1 and later make ``nodeid`` from
another attribute, so that the scheduler of ``--dist loadgroup`` sees no group and hands out single
tests.  Each worker then makes the fixtures of every file.  So the group is read off the id here.
"""

from __future__ import annotations

from typing import Any


def group_of(nodeid: str) -> str:
    """The group of a test: its file, and a part of it in the two files that are too long.

    >>> group_of("tests/test_every_claim.py::test_a_claim_is_complete[ifca.thm1]")
    'tests/test_every_claim.py::ifca.thm1'
    >>> group_of("tests/records/test_records.py::test_the_value_is_the_recorded_one[calls k-means]")
    'tests/records/test_records.py::calls'
    >>> group_of("tests/verify/test_plan.py::test_wild[a::b]")
    'tests/verify/test_plan.py'
    """
    file, _, test = nodeid.partition("::")
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
    """The scheduler of pytest-xdist that hands out whole groups."""
    from xdist.scheduler.loadscope import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        """A group goes to one worker."""

        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    return Groups(config, log)
