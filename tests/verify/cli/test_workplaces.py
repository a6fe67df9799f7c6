"""The executor of a command's settings gets every setting, whatever the others are."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from trials.checks import InvalidParameter
from trials.run.executors import MAX_JOBS, ProcessExecutor
from verify import session
from verify.cli import running, workplaces
from verify.cli.config import Settings
from verify.deciding import load_claims


@pytest.mark.parametrize(
    ("kind", "scheduler"),
    [(None, None), ("threads", None), ("processes", None), (None, "tcp://host:8786")],
)
@pytest.mark.parametrize("jobs", [None, 1, 3])
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
    kind = None if scheduler else "threads"
    with pytest.raises(InvalidParameter, match=rf"jobs={jobs} must be an integer from 1 to"):
        workplaces.workers(kind, jobs, scheduler)
    workplaces.workers(kind, MAX_JOBS, scheduler)
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


@pytest.mark.parametrize("kind", ["serial", "threads", "processes"])
def test_an_executor_beside_a_scheduler_is_refused(kind: str) -> None:
    """It was passed over in silence."""
    with pytest.raises(InvalidParameter, match=f"executor='{kind}' computes here and scheduler='t"):
        workplaces.workers(kind, None, "tcp://host:8786")
    flags = {"jobs": 2, "executor": kind, "scheduler": "tcp://host:8786", "name": "few-samples"}
    with pytest.raises(InvalidParameter, match="leave one of them out"):
        workplaces.benchmark_workers(flags)


@pytest.mark.parametrize("jobs", [None, 1, 2])
def test_a_benchmark_on_a_scheduler_has_no_executor_of_its_own(
    jobs: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(workplaces, "workers", lambda *given: asked.append(given))
    flags = {"jobs": jobs, "executor": None, "scheduler": "tcp://host:8786", "name": None}
    workplaces.benchmark_workers(flags)
    assert asked == [(None, jobs, "tcp://host:8786")]


@pytest.mark.parametrize("address", ["", "  ", "tcp://a\nb", "\x1b"])
def test_an_address_that_cannot_be_printed_is_refused(address: str) -> None:
    with pytest.raises(InvalidParameter, match="must be an address like"):
        workplaces.workers(None, None, address)


@pytest.mark.parametrize(
    ("n_claims", "jobs", "kind", "expected", "is_loaded"),
    [
        (None, 2, None, "ProcessExecutor", True),
        (None, 3, None, "ProcessExecutor", True),
        (8, 2, None, "ProcessExecutor", False),
        (7, 2, None, "ThreadExecutor", False),
        (1, 2, None, "ThreadExecutor", False),
        (None, 1, None, "ThreadExecutor", False),
        (None, 2, "threads", "ThreadExecutor", False),
        (1, 2, "processes", "ProcessExecutor", False),
        (
            None,
            17,
            None,
            "ProcessExecutor",
            False,
        ),  # so many would fill a memory before they have work
    ],
)
def test_many_claims_get_processes_and_all_claims_are_loaded_at_once(
    n_claims: int | None,
    jobs: int,
    kind: str | None,
    expected: str,
    is_loaded: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(ProcessExecutor, "load", lambda _self, *call: asked.append(call))
    with workplaces.claim_workers(kind, jobs, None, n_claims, "standard") as found:
        assert type(found).__name__ == expected
        assert found.n_workers == jobs
    assert asked == [(load_claims, "standard")] * is_loaded


@pytest.mark.parametrize(("n_cpus", "expected"), [(1, "ThreadExecutor"), (2, "ProcessExecutor")])
def test_the_processors_count_where_no_number_of_workers_is_given(
    n_cpus: int, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workplaces, "usable_cpus", lambda: n_cpus)
    monkeypatch.setattr(ProcessExecutor, "load", lambda _self, *_call: None)
    with workplaces.claim_workers(None, None, None) as found:
        assert type(found).__name__ == expected


def test_a_scheduler_is_never_replaced_by_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(workplaces, "workers", lambda *given: asked.append(given))
    workplaces.claim_workers(None, 2, "tcp://host:8786")
    assert asked == [(None, 2, "tcp://host:8786")]


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ((), [("workers", None), "prepare", "create"]),
        (("ifca.lemma1*",), ["prepare", ("workers", 3), "create"]),
    ],
)
def test_workers_start_before_all_claims_are_prepared_and_after_named_ones_are_counted(
    claims: tuple[str, ...], expected: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class EndOfTest(Exception):
        pass

    done: list[Any] = []

    def workers(_settings: Settings, n_claims: int | None = None) -> Any:
        done.append(("workers", n_claims))
        return nullcontext("executor")

    def prepare(*_given: Any) -> Any:
        done.append("prepare")
        return SimpleNamespace(claims=("a", "b", "c"))

    def create(*_given: Any) -> Any:
        done.append("create")
        raise EndOfTest

    monkeypatch.setattr(Settings, "workers", workers)
    monkeypatch.setattr(session, "prepare", prepare)
    monkeypatch.setattr(session, "create", create)
    with pytest.raises(EndOfTest):
        running.start(config_file=None, as_json=False, claims=claims)
    assert done == expected
