"""A search for a claim's id finds the statement and the claim."""

from __future__ import annotations

from pathlib import Path

import pytest

import bounds
import verify.claims
from verify.papers import catalogue

FOLDERS = [Path(package.__file__).parent for package in (bounds, verify.claims)]


@pytest.mark.parametrize("paper", ["ifca", "odcl", "sxy"])
@pytest.mark.parametrize("folder", FOLDERS, ids=["bounds", "claims"])
def test_every_id_stands_in_full(folder: Path, paper: str) -> None:
    text = "".join(file.read_text() for file in (folder / paper).glob("*.py"))
    ids = [id_ for id_ in catalogue() if id_.startswith(f"{paper}.")]
    assert ids
    assert not [id_ for id_ in ids if f'"{id_}"' not in text]
