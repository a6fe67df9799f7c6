"""What the program computes is what is recorded: `tests.records` says what a record is."""

from __future__ import annotations

import pytest

import reports.cache
from tests.records.files import compare, recorded_names
from tests.records.kinds import KINDS, names, now

pytestmark = pytest.mark.usefixtures("forked_workers")
ENTRIES = [(kind, name) for kind in KINDS for name in recorded_names(kind)]


@pytest.fixture(autouse=True)
def _nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A drawing that was kept would hide a change."""
    monkeypatch.setattr(reports.cache, "_folder", lambda _base: None)


@pytest.mark.parametrize(("kind", "name"), ENTRIES, ids=map(" ".join, ENTRIES))
def test_the_value_is_the_recorded_one(kind: str, name: str) -> None:
    compare(kind, name, now(kind, name))


@pytest.mark.parametrize("kind", KINDS)
def test_everything_has_a_record(kind: str) -> None:
    assert sorted(names(kind)) == sorted(recorded_names(kind))
