"""The recorded values of the searches: `tests.records` says what a record is."""

from __future__ import annotations

from functools import partial

import pytest

from tests.records import searches
from tests.records.files import compare, recorded_names

NAMES = recorded_names(searches.KIND)


@pytest.mark.parametrize("name", NAMES)
def test_the_values_are_those_that_are_recorded(name: str) -> None:
    compare(searches.KIND, NAMES[name], name, partial(searches.again, name))


def test_everything_has_a_record() -> None:
    assert searches.names() == NAMES
