"""Documents of any shape end in one line, in every command that reads them."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from reports import benchmark_page
from reports import schema as reports
from reports.errors import ReportError
from trials.run.directory import STORE_NAME
from trials.run.engine import MIXED, mixture_allowed
from trials.run.store import RunStore, StoreError
from verify import session
from verify.benchmark.design import NAMED, Benchmark
from verify.cli import exits
from verify.cli.app import application
from verify.papers import FILE_KIND
from verify.session import RunConfig
from verify.stored import (
    claim_document,
    claim_documents,
    claims_files,
    declared_benchmarks,
    holds_benchmarks,
    read_commands,
    read_planned,
    read_scores,
    read_time,
    summary,
)

CLAIM = "ifca.eq3"
CELL = {"params": {}, "n_trials": 3} | dict.fromkeys(
    ("observed", "se", "lower", "upper", "bound", "ratio")
)
TOLD = {"summary": "", "level": 0.01, "n_trials": 3, "n_failed": 0}
GOOD = {"evidence": {"verdict": "SUPPORTED", "cells": [CELL], **TOLD}, "profile": "quick"}


def good(**parts):
    """A decided claim with other parts of its evidence."""
    return {**GOOD, "evidence": {**GOOD["evidence"], **parts}}


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
    # `export`, `check`, `falsify` and `mutate` called these a fault of cfl-verify
    *({**GOOD, field: 5} for field in ("title", "source", "expected", "identity")),
    {**GOOD, "own_values": {"weaker": 5}},
    # `resume` called this a fault of cfl-verify, and took a level below 0 for one to spend
    good(verdict="MAYBE"),
    good(level=-1.0),
    good(level=float("nan")),
    good(level="x"),
    good(n_trials="many"),
    good(n_trials=10**30),
    good(summary=5),
    good(mark=[1]),
    good(cells=[{**CELL, "se": "abc"}]),
    good(cells=[{**CELL, "n_failed": 1.5}]),
    good(cells=[{**CELL, "void": 7}]),
    good(cells=[{k: v for k, v in CELL.items() if k != "lower"}]),
    {**GOOD, "evidence": {k: v for k, v in GOOD["evidence"].items() if k != "level"}},
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
        ["falsify", run],
        ["export", run, str(directory / "tables")],
        ["check-proof", run],
    ):
        told = CliRunner().invoke(application, line)
        assert told.exit_code == exits.USAGE, (line, told.output)
        assert len(told.stderr.splitlines()) == 1


@pytest.mark.parametrize("more", [[], ["--sample", "1", "--jobs", "1"]])
def test_a_claim_that_is_spelled_as_no_run_spells_it_is_passed_over(directory, more):
    """`05` selects what `5` selects, under which name the run holds nothing: a KeyError."""
    put(directory, "claim", "ifca.k2-random-as-printed[d=05]", GOOD)
    told = CliRunner().invoke(application, ["mutate", str(directory), *more])
    assert told.exit_code == exits.USAGE, told.output
    assert "has decided none of these claims" in told.stderr


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


# -- every kind ------------------------------------------------------------------------------------

SCORE = {"profile": "quick", "procedure": "Search", "n_mutants": 0, "judged": []}
DECLARED = NAMED["few-samples"].document()


def of_report(kind, type_):
    return lambda store: reports.read(store, kind, type_)


#: (kind, key) -> who reads it, and malformed bodies.  A key of "" stands for any.
EVERY_KIND = {
    ("claim", ""): (claim_documents, ODD),
    ("claim", "report"): (of_report("claim", reports.Claim), [{"id": 1}, {"evidence": 1.5}]),
    ("paper", ""): (of_report("paper", reports.Paper), [{"title": 1}, {"uses": []}]),
    ("finding", ""): (of_report("finding", reports.Finding), [{"where": []}, {"evidence": 2}]),
    ("symbol", ""): (of_report("symbol", reports.Symbols), [{"symbols": 1}, {"symbols": [1]}]),
    ("power", ""): (
        lambda store: read_scores(store, "power"),
        [{}, {**SCORE, "profile": None}, {**SCORE, "judged": [{}]}, {**SCORE, "n_mutants": "x"}],
    ),
    ("power", "report"): (of_report("power", reports.Power), [{"judged": {}}, {"n_false": "x"}]),
    ("meaning", ""): (lambda store: read_scores(store, "meaning"), [{}, {**SCORE, "judged": 1}]),
    ("conditions", ""): (
        lambda store: read_scores(store, "conditions"),
        [{}, {**SCORE, "judged": 1}],
    ),
    ("benchmark", ""): (
        declared_benchmarks,
        [
            *({}, {"benchmark": []}, {"benchmark": {}}),
            {"benchmark": {**DECLARED, "level": "x"}},
            {"benchmark": {**DECLARED, "federations": {}}},
            {"benchmark": {k: v for k, v in DECLARED.items() if k != "methods"}},
        ],
    ),
    ("benchmark", "report"): (
        of_report("benchmark", benchmark_page.Benchmark),
        [{"tables": 1}, {"benchmark": {"name": []}}, {"figures": [{"series": 3}]}],
    ),
    ("phase", "report"): (
        of_report("phase", benchmark_page.Benchmark),
        [{"tables": 1}, {"answer": []}, {"figures": [{"series": 3}]}],
    ),
    ("claims-file", ""): (
        lambda store: claims_files(store, FILE_KIND),
        [{}, {"path": 1, "sha256": "a"}, {"path": "a.py"}],
    ),
    ("machine", ""): (lambda store: store.machines(), [{"cpu": 1}, {"cpu": None}]),
    ("run", "summary"): (
        summary,
        [{"environment": [1]}, {"wall_seconds": "x"}, {"commands": 7}, {"commands": [1]}],
    ),
    ("run", "time"): (
        read_time,
        [{}, {"started": 1, "wall_seconds": 1.0}, {"started": "a", "wall_seconds": -1.0}],
    ),
    ("run", "commands"): (read_commands, [{}, {"commands": 7}, {"commands": [1]}]),
    ("run", "plan"): (read_planned, [{"claims": 7}, {"claims": [1]}]),
    ("run", "kind"): (holds_benchmarks, [{"benchmark": 1}, {"benchmark": []}]),
    ("run", MIXED): (mixture_allowed, [{"allowed": "no"}, {"allowed": {}}]),
    ("run", "extension"): (
        lambda store: session.open_run(store.path.parent)[0].close(),
        [{}, {"profile": 1}, {"profile": "quick", "later": 1}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", EVERY_KIND, ids=lambda kind: ":".join(filter(None, kind)))
def test_a_malformed_document_of_every_kind_is_refused_in_one_line(directory, kind):
    read, bodies = EVERY_KIND[kind]
    key = kind[1] if kind[0] == "run" else CLAIM
    for body in bodies:
        put(directory, kind[0], key, body)
        with (
            RunStore.open(directory / STORE_NAME, readonly=True) as store,
            pytest.raises((StoreError, ReportError)) as refused,
        ):
            read(store)
        assert len(str(refused.value).splitlines()) == 1, body
        assert kind[0] in str(refused.value), body


def test_the_kinds_are_all_that_the_program_writes():
    """A kind that is added must say here what refuses a malformed document."""
    # by variables, in verify.papers and in the command mutate
    written = {"claims-file", "finding", "paper", "symbol", "meaning", "conditions"}
    keys = set()
    for package in ("verify", "trials", "reports"):
        for file in Path(package).rglob("*.py"):
            for call in re.findall(r'put_document\(\s*"(\w+)",\s*("\w+"|MIXED)?', file.read_text()):
                written.add(call[0])
                keys |= {call[1].strip('"')} if call[0] == "run" else set()
    assert written == {kind for kind, _ in EVERY_KIND}
    assert {MIXED if k == "MIXED" else k for k in keys} == {
        key for kind, key in EVERY_KIND if kind == "run"
    }


def test_a_declaration_of_a_benchmark_is_read_as_it_was_written(directory):
    put(directory, "benchmark", "few-samples", {"benchmark": DECLARED})
    with RunStore.open(directory / STORE_NAME, readonly=True) as store:
        assert (
            Benchmark.from_document(declared_benchmarks(store)["few-samples"])
            == (NAMED["few-samples"])
        )


def test_a_run_without_a_record_of_its_time_has_the_time_of_its_summary():
    """Runs that were made before the record was have the seconds in the summary only."""
    summary = {"started": "2026-01-01T00:00:00", "wall_seconds": 12.5}
    of = {"time": None, "summary": summary}
    store = SimpleNamespace(document=lambda _kind, key, *_form: of[key])
    assert read_time(store) == summary
    own = {"started": "2026-01-02T00:00:00", "wall_seconds": 3.0}
    of["time"] = own
    assert read_time(store) == own
