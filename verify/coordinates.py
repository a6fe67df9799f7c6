"""What the coordinates of a search mean, where their names are words and no letters of the paper.

A search runs over named coordinates.  Some are the paper's letters.  Others are words of ours that
help to build an input, such as the share by which a start leans towards another optimum.  A paper's
folder may hold ``coordinates.toml``, which says what they mean:

    tilt = "share of the separation by which the start leans towards the other optimum"
    "ifca.eq3.others" = "clients of all other clusters"      # in this claim only

A report prints the meanings behind the search's domain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from verify.paper_files import read_toml

FILE = "coordinates.toml"


@cache
def table(paper: str) -> Mapping[str, str]:
    """The meanings by name, or by claim and name.  A paper without the file has none.

    Raises
    ------
    InvalidParameter
        When the file is no flat table of texts.
    """
    return read_toml(paper, FILE, dict[str, str]) or {}


def meaning(claim: str, name: str) -> str:
    """The meaning of a coordinate in a claim, empty where none is given."""
    meanings = table(claim.partition(".")[0])
    return meanings.get(f"{claim}.{name}", meanings.get(name, ""))


def sentence(claim: str, names: Iterable[str]) -> str:
    """The meanings of some coordinates in one sentence, empty where none has one."""
    found = [f"{name}: {text}" for name in names if (text := meaning(claim, name))]
    return f"Coordinates: {'; '.join(found)}." if found else ""
