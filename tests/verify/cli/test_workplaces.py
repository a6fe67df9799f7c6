"""The executor of a command's settings gets every setting, whatever the others are."""

from __future__ import annotations

from typing import Any

import pytest

from verify.cli import workplaces


@pytest.mark.parametrize("kind", [None, "threads", "processes"])
@pytest.mark.parametrize("jobs", [None, 1, 3])
@pytest.mark.parametrize("scheduler", [None, "tcp://host:8786"])
def test_every_setting_reaches_the_executor(
    kind: str | None, jobs: int | None, scheduler: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr(
        workplaces,
        "make_executor",
        lambda kind, jobs, address=None: asked.append((kind, jobs, address)),
    )
    workplaces.workers(kind, jobs, scheduler)
    expected = "threads" if kind is None else kind
    assert asked == [("distributed" if scheduler else expected, jobs, scheduler)]
