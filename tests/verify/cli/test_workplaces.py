"""The executor of a command's settings gets every setting, whatever the others are."""

from __future__ import annotations

from typing import Any

import pytest

from trials.checks import InvalidParameter
from trials.run.executors import MAX_JOBS, ProcessExecutor
from verify.cli import workplaces
from verify.deciding import load_claims


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


@pytest.mark.parametrize(
    ("claims", "jobs", "kind", "expected", "n_loads"),
    [
        ((), 2, None, "ProcessExecutor", 2),
        (("ifca.*",), 3, None, "ProcessExecutor", 3),
        (("ifca.thm1", "sxy.lemma1?"), 2, None, "ProcessExecutor", 2),
        (("ifca.thm1", "sxy.lemma1"), 2, None, "ThreadExecutor", 0),
        ((), 1, None, "ThreadExecutor", 0),
        ((), 2, "threads", "ThreadExecutor", 0),
        (("ifca.thm1",), 2, "processes", "ProcessExecutor", 0),
        ((), 17, None, "ProcessExecutor", 0),  # so many would fill a memory before they have work
    ],
)
def test_many_claims_get_processes_that_load_at_once_and_few_get_threads(
    claims: tuple[str, ...],
    jobs: int,
    kind: str | None,
    expected: str,
    n_loads: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(ProcessExecutor, "submit_call", lambda _self, call: asked.append(call))
    with workplaces.claim_workers(kind, jobs, None, claims) as found:
        assert type(found).__name__ == expected
        assert found.n_workers == jobs
    assert asked == [load_claims] * n_loads


@pytest.mark.parametrize(("n_cpus", "expected"), [(1, "ThreadExecutor"), (2, "ProcessExecutor")])
def test_the_processors_count_where_no_number_of_workers_is_given(
    n_cpus: int, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workplaces, "usable_cpus", lambda: n_cpus)
    monkeypatch.setattr(ProcessExecutor, "submit_call", lambda _self, _call: None)
    with workplaces.claim_workers(None, None, None, ()) as found:
        assert type(found).__name__ == expected


def test_a_scheduler_is_never_replaced_by_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(workplaces, "workers", lambda *given: asked.append(given))
    workplaces.claim_workers(None, 2, "tcp://host:8786", ())
    assert asked == [(None, 2, "tcp://host:8786")]
