"""The recorded values of the checks of implementations: `tests.records` says what a record is."""

from __future__ import annotations

from functools import partial

import pytest

from tests.records import subjects
from tests.records.files import compare, recorded_names

NAMES = recorded_names(subjects.KIND)


@pytest.mark.parametrize("name", NAMES)
def test_the_values_are_those_that_are_recorded(name: str) -> None:
    compare(subjects.KIND, NAMES[name], name, partial(subjects.again, name))


def test_everything_has_a_record() -> None:
    assert subjects.names() == NAMES
