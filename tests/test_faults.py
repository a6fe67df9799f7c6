"""Planting faults: every place gives one, the text around it stays, and a test finds it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.faults.known import KNOWN, known_faults
from tests.faults.planting import Fault, faults_in, modules

ROOT = Path(__file__).parents[1]
SOURCE = '''"""Text with 1 / 2."""
from __future__ import annotations


def share(level: float, cells: list[int], é: int = 1) -> float:
    """Halve 3 < 4."""
    if not cells or level <= 0.5:
        raise ValueError(f"{1 + 1} is wrong")
    total = max(len(cells), 2)
    total += é
    print(total)
    return -level / total
'''


def test_each_kind_of_place_is_found_and_replaced() -> None:
    shown = {(f.line, f.kind, f.old, f.new) for f in faults_in("a.py", SOURCE)}
    assert {
        (7, "and/or changed", "not cells or level <= 0.5", "(not cells and level <= 0.5)"),
        (7, "sign dropped", "not cells", "(cells)"),
        (7, "comparison flipped", "level <= 0.5", "(level > 0.5)"),
        (7, "constant changed", "0.5", "1.0"),
        (8, "line dropped", 'raise ValueError(f"{1 + 1} is wrong")', "pass"),
        (9, "function changed", "max", "min"),
        (9, "constant changed", "2", "3"),
        (10, "line dropped", "total += é", "pass"),
        (11, "line dropped", "print(total)", "pass"),
        (12, "divisor dropped", "-level / total", "(-level)"),
        (12, "sign dropped", "-level", "(level)"),
        (5, "constant changed", "1", "2"),
    } == shown


def test_a_planted_fault_changes_one_place_and_still_parses() -> None:
    for fault in faults_in("a.py", SOURCE):
        planted = fault.planted(SOURCE)
        ast.parse(planted)
        assert planted != SOURCE
        assert planted[: fault.start] == SOURCE[: fault.start]
        assert planted.endswith(SOURCE[fault.start + len(fault.old) :])


def test_a_fault_in_changed_text_is_refused() -> None:
    fault = Fault("a.py", 0, "x", "y", "known", 1)
    with pytest.raises(ValueError, match=r"a\.py:1: the text has changed"):
        fault.planted("z")


def test_the_listed_faults_have_their_places_and_planting_them_parses() -> None:
    faults = known_faults(ROOT)
    assert len(faults) == len(KNOWN) > 30
    for fault in faults:
        ast.parse(fault.planted((ROOT / fault.path).read_text()))


def test_every_module_with_code_is_drawn_from() -> None:
    found = modules(ROOT, "verify")
    assert "verify/decisions/rates.py" in found
    assert not any("/claims/" in path or path.endswith("__init__.py") for path in found)
