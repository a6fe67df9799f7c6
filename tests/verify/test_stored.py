"""Documents of any shape end in one line, in every command that reads them."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from trials.run.directory import STORE_NAME
from trials.run.store import RunStore, StoreError
from verify import session
from verify.cli import exits
from verify.cli.app import application
from verify.session import RunConfig
from verify.stored import claim_document, claim_documents, read_planned, summary

CLAIM = "ifca.eq3"
CELL = {"params": {}, "n_trials": 3, "observed": None}
GOOD = {"evidence": {"verdict": "SUPPORTED", "cells": [CELL]}, "profile": "quick"}
ODD = [
    {"evidence": 1.5},
    {"evidence": {}},
    {"evidence": {"verdict": 3, "cells": []}, "profile": "quick"},
    {"evidence": {"verdict": "SUPPORTED", "cells": "none"}, "profile": "quick"},
    {"evidence": {"verdict": "SUPPORTED", "cells": [{}]}, "profile": "quick"},
    {
        "evidence": {"verdict": "SUPPORTED", "cells": [{**CELL, "observed": "x"}]},
        "profile": "quick",
    },
    {**GOOD, "profile": None},
]


@pytest.fixture
def directory(tmp_path):
    session.create(tmp_path / "run", RunConfig(claims=(CLAIM,))).close()
    return tmp_path / "run"


def put(directory, kind, key, body):
    with RunStore.open(directory / STORE_NAME) as store:
        store.put_document(kind, key, body)


@pytest.mark.parametrize("body", ODD, ids=str)
def test_an_odd_claim_is_refused_in_one_line(directory, body):
    """`{"evidence": 1.5}` was an internal error."""
    put(directory, "claim", CLAIM, body)
    with RunStore.open(directory / STORE_NAME, readonly=True) as store:
        for read in (claim_documents, lambda s: claim_document(s, CLAIM)):
            with pytest.raises(StoreError, match=f"document claim/{CLAIM}"):
                read(store)
    run = str(directory)
    for line in (
        ["status", run],
        ["check", run, "--against", run],
        ["resume", run],
        ["mutate", run],
    ):
        told = CliRunner().invoke(application, line)
        assert told.exit_code == exits.USAGE, (line, told.output)
        assert len(told.stderr.splitlines()) == 1


def test_a_good_claim_is_read_whole(directory):
    put(directory, "claim", CLAIM, {**GOOD, "more": [1]})
    with RunStore.open(directory / STORE_NAME, readonly=True) as store:
        assert claim_documents(store) == {CLAIM: {**GOOD, "more": [1]}}
        assert claim_document(store, CLAIM) == {**GOOD, "more": [1]}
        assert claim_document(store, "another") is None


@pytest.mark.parametrize("profile", ["{", "", "quick\n"])
def test_an_unknown_profile_of_an_extension_is_refused_in_one_line(directory, profile):
    put(directory, "run", "extension", {"profile": profile})
    for command in ("status", "resume"):
        told = CliRunner().invoke(application, [command, str(directory)])
        assert told.exit_code == exits.USAGE, told.output
        assert "is damaged (its configuration: " in told.stderr
        assert len(told.stderr.splitlines()) == 1


def test_odd_summaries_and_plans_are_refused(directory):
    put(directory, "run", "summary", {"environment": [1]})
    put(directory, "run", "plan", {"claims": 7})
    with RunStore.open(directory / STORE_NAME, readonly=True) as store:
        for read in (summary, read_planned):
            with pytest.raises(StoreError, match="is not as expected"):
                read(store)


def test_a_system_without_threads_is_explained():
    code, line = exits.explain(RuntimeError("can't start new thread"))
    assert (code, "--jobs" in line) == (exits.USAGE, True)


def test_a_file_system_without_locks_is_explained(tmp_path, monkeypatch):
    """SQLite says "busy" there, as if another process were writing."""
    import errno
    import fcntl
    import sqlite3

    def refuse(*_arguments):
        raise OSError(errno.ENOLCK, "No locks available")

    class Locked:
        def execute(self, _statement):
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise error

        def close(self):
            pass

    monkeypatch.setattr(fcntl, "lockf", refuse)
    monkeypatch.setattr(sqlite3, "connect", lambda *_a, **_k: Locked())
    with pytest.raises(StoreError, match="its file system has no locks"):
        RunStore.create(tmp_path / "run", root_seed=1, config={})
