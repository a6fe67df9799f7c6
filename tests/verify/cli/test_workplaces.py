"""The executor of a command's settings gets every setting, whatever the others are."""

from __future__ import annotations

from typing import Any

import pytest

from trials.checks import InvalidParameter
from trials.run.executors import MAX_JOBS
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


@pytest.mark.parametrize("jobs", [-1, 0, MAX_JOBS + 1])
@pytest.mark.parametrize("scheduler", [None, "tcp://host:8786"])
def test_a_number_of_workers_out_of_range_is_refused_before_any_is_made(
    jobs: int, scheduler: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    monkeypatch.setattr(workplaces, "make_executor", lambda *a, **k: made.append(a))
    with pytest.raises(InvalidParameter, match=rf"jobs={jobs} must be an integer from 1 to"):
        workplaces.workers("threads", jobs, scheduler)
    workplaces.workers("threads", MAX_JOBS, scheduler)
    assert len(made) == 1


@pytest.mark.parametrize("error", [ValueError("no port"), OSError("x"), KeyError("x")])
def test_an_address_that_dask_refuses_in_its_own_way_is_one_line(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: Any, **_options: Any) -> None:
        raise error

    monkeypatch.setattr(workplaces, "make_executor", refuse)
    with pytest.raises(InvalidParameter, match=type(error).__name__) as found:
        workplaces.workers(None, None, "tcp://host:x")
    assert "give the address of a running dask scheduler" in str(found.value)
    with pytest.raises(type(error)):  # without an address it is no fault of an address
        workplaces.workers(None, None, None)


@pytest.mark.parametrize("address", ["", "  ", "tcp://a\nb", "\x1b"])
def test_an_address_that_cannot_be_printed_is_refused(address: str) -> None:
    with pytest.raises(InvalidParameter, match="must be an address like"):
        workplaces.workers(None, None, address)
