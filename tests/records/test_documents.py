"""The recorded values of the documents: `tests.records` says what a record is."""

from __future__ import annotations

from functools import partial

import pytest

import reports.cache
from tests.records import documents
from tests.records.files import compare, recorded_names

NAMES = recorded_names(documents.KIND)


@pytest.mark.parametrize("name", NAMES)
def test_the_values_are_those_that_are_recorded(name: str) -> None:
    compare(documents.KIND, NAMES[name], name, partial(documents.again, name))


def test_everything_has_a_record() -> None:
    assert documents.names() == NAMES


@pytest.fixture(autouse=True)
def _nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A drawing that was kept would hide a change."""
    monkeypatch.setattr(reports.cache, "_folder", lambda _base: None)
