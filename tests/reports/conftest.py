"""Reports in tests draw every figure anew: a drawing that was kept would hide a change."""

from __future__ import annotations

import pytest

import reports.cache


@pytest.fixture(autouse=True)
def _nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports.cache, "_folder", lambda _base: None)
