"""Kept drawings: found again, never trusted when damaged, removed when there are too many."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import reports.cache
from reports.cache import _prune, keep


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(reports.cache, "_folder", lambda _base: tmp_path)
    return tmp_path


def test_a_drawing_is_made_once_for_each_key(folder: Path) -> None:
    made: list[bytes] = []

    def make(content: bytes) -> bytes:
        made.append(content)
        return content

    assert [keep(key, lambda key=key: make(key)) for key in (b"a", b"b", b"a")] == [
        b"a", b"b", b"a",
    ]  # fmt: skip
    assert made == [b"a", b"b"]
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("damage", [b"", b"x", b"y" * 100])
def test_a_damaged_file_is_drawn_again(folder: Path, damage: bytes) -> None:
    keep(b"a", lambda: b"drawing")
    (path,) = folder.iterdir()
    path.write_bytes(damage)
    assert keep(b"a", lambda: b"drawing") == b"drawing"
    assert keep(b"a", lambda: b"other") == b"drawing"


def test_without_a_private_folder_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports.cache, "_folder", lambda _base: None)
    assert keep(b"a", lambda: b"1") == b"1"
    assert keep(b"a", lambda: b"2") == b"2"


def test_the_oldest_drawings_go_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports.cache, "LIMIT", 25)
    for age, name in enumerate("abcd"):
        (folder / name).write_bytes(b"x" * 10)
        os.utime(folder / name, (1000 - age, 1000 - age))
    _prune(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["a", "b"]
