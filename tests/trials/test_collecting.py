"""How often unused cycles are looked for: in the command line, in workers, and by a user's wish."""

from __future__ import annotations

import gc

import pytest

from trials.collecting import RARELY, collect_rarely
from trials.run.executors import make_executor
from verify import cli
from verify.cli import app


@pytest.fixture(autouse=True)
def _as_before():
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.parametrize(("new", "then"), [(700, RARELY), (RARELY + 1, RARELY + 1), (0, 0)])
def test_collections_become_rarer_and_never_more_frequent(new, then):
    gc.set_threshold(new, 11, 12)
    collect_rarely()
    assert gc.get_threshold() == (then, 11, 12)


@pytest.mark.usefixtures("forked_workers")
def test_a_worker_collects_rarely():
    gc.set_threshold(700, 10, 10)
    with make_executor("processes", 1) as executor:
        assert executor.submit_call(gc.get_threshold).result()[0] == RARELY
    assert gc.get_threshold()[0] == 700


def test_the_command_line_collects_rarely(monkeypatch):
    gc.set_threshold(700, 10, 10)
    seen = []
    monkeypatch.setattr(cli, "quick_exit", lambda: None)
    monkeypatch.setattr(cli, "settle", lambda: True)
    monkeypatch.setattr(app.application, "main", lambda: seen.append(gc.get_threshold()[0]))
    cli.main()
    assert seen == [RARELY]
