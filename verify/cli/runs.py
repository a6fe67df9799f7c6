"""``status``, ``replay``, ``check`` and ``copy``: commands that read stored runs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from trials.checks import InvalidParameter, real_between
from trials.run.directory import STORE_NAME, find_run, known_runs
from trials.run.engine import parse_trial_id, replay
from trials.run.store import CellStatus, RunStore, StoreError
from verify import session
from verify.benchmark.marks import MARKS
from verify.check import compare, junit, other_machines, rounding
from verify.cli import exits
from verify.cli.screen import print_json, say, table
from verify.cli.signals import interruptible
from verify.cli.verdicts import mark
from verify.papers import FILE_KIND, catalogue, recorded_files
from verify.session import RunConfig
from verify.stored import claim_documents, declared_benchmarks, read_planned, summary
from verify.stored import claims_files as named_files


def show_status(*, run: str, as_json: bool, claims_files: Sequence[str]) -> None:
    """How far a run has come."""
    directory = find_run(run)
    store, config = session.open_run(directory, readonly=True)
    with store:
        documents = claim_documents(store)
        wanted = _read_planned(store, config, claims_files)
        benchmarks = sorted(declared_benchmarks(store))
        experiments = list(_experiments(store, store.status()))
    verdicts = {name: mark(documents[name]) if name in documents else "pending" for name in wanted}
    # A run that was extended decides its claims again: those of the smaller profile are to come.
    earlier = {
        name: before
        for name in wanted
        if (before := documents.get(name, {}).get("profile", config.profile)) != config.profile
    }
    n_decided = sum(name in documents and name not in earlier for name in wanted)
    found = {
        "run": str(directory),
        "profile": config.profile,
        "seed": config.seed,
        "level": config.level,
        "decided": n_decided,
        "claims": verdicts,
        "earlier_profiles": earlier,
        "benchmarks": benchmarks,
        "experiments": experiments,
    }
    if as_json:
        print_json(found)
        return
    said = [f"{directory}", f"profile {config.profile}", f"seed {config.seed}"]
    if wanted or not benchmarks:
        said.append(f"{n_decided}/{len(wanted)} claims decided")
    if benchmarks:
        said.append(f"benchmarks {', '.join(benchmarks)}")
    say("  ".join(said))
    longest = max((len(name) for name in wanted), default=0)
    for name, verdict in verdicts.items():
        before = f" (profile {earlier[name]}, to be decided again)" if name in earlier else ""
        say(f"  {name:<{longest}}  {verdict}{before}")
    if experiments:
        say()
        rows = [
            [
                e["experiment"],
                *(f"{e[key]:,}" for key in ("cells", "trials", "failed")),
                f"{e['worker_seconds']:.1f}",
                e["trial"],
            ]
            for e in experiments
        ]
        headings = ("experiment", "cells", "trials", "failed", "worker s", "a trial to replay")
        for line in table(headings, rows, right={1, 2, 3, 4}):
            say(line)


def _read_planned(store: RunStore, config: RunConfig, claims_files: Sequence[str]) -> list[str]:
    """The claims of a run, as it recorded them: no file that the run names is executed.

    A run that was stopped before it recorded its plan is planned again from the registered papers
    and the files that the user names.  Claims of files that he does not name stand as he wrote
    them.
    """
    stored = read_planned(store)
    if stored is not None:
        return stored
    files = recorded_files(store, claims_files) if claims_files else ()
    try:
        return [str(p.selection) for p in session.prepare(config, catalogue(files)).claims]
    except InvalidParameter:
        if files or not named_files(store, FILE_KIND):
            raise
        return list(config.claims)


def _experiments(store: RunStore, cells: Sequence[CellStatus]) -> Iterator[dict[str, Any]]:
    """Totals of each experiment, with the id of one stored trial."""
    by_name: dict[str, list[CellStatus]] = {}
    for cell in cells:
        by_name.setdefault(cell.experiment, []).append(cell)
    for name, group in by_name.items():
        stored = next((cell for cell in group if cell.n_blocks), None)
        yield {
            "experiment": name,
            "cells": len(group),
            "trials": sum(cell.n_trials for cell in group),
            "failed": sum(cell.n_failed for cell in group),
            "worker_seconds": sum(cell.seconds for cell in group),
            "trial": _a_trial(store, stored) if stored else "",
        }


def replay_trial(*, names: Sequence[str], as_json: bool, claims_files: Sequence[str]) -> None:
    """Simulate a trial again and compare it with the stored trial."""
    if len(names) > 2:
        raise InvalidParameter(f"replay takes a run and a trial, not {len(names)} names")
    *runs, trial = names
    if parse_trial_id(trial).experiment.startswith("benchmark."):
        import verify.benchmark.fits  # noqa: F401 - registers the experiment
    directory = _holder(find_run(runs[0]), trial) if runs else _search(trial)
    with RunStore.open(directory / STORE_NAME, readonly=True) as store:
        catalogue(recorded_files(store, claims_files))  # registers the experiments
        _refuse_foreign_method(store, trial, directory)
        result = replay(store, trial)
        changed = session.other_environment(summary(store))
        changed += [line for line in result.machine if line not in changed]
    if result.distance > 0.0 and not changed:
        raise StoreError(
            f"{directory}: trial {trial}: the values agree to rounding only, with a distance of "
            f"{result.distance:.1e}; on the same processor and with the same versions all bits "
            "must be equal"
        )
    missing = MARKS.get(parse_trial_id(trial).experiment)
    shown = [None if value == missing else float(value) for value in result.values]
    if as_json:
        values = dict(zip(result.columns, shown, strict=True))
        identical = {
            "identical": result.distance == 0.0,
            "distance": result.distance,
            "ulps": result.ulps,
            "machine": list(result.machine),
        }
        where = {"run": str(directory), "trial": trial}
        print_json({**where, **identical, "status": result.status, "values": values})
        return
    for name, value in zip(result.columns, shown, strict=True):
        say(f"{name:>28}  {'does not apply' if value is None else repr(value)}")
    say(f"{'status':>28}  {result.status}")
    if result.distance == 0.0:
        say(f"identical to the stored trial of {directory}, bit for bit")
        return
    say(
        f"equal to the stored trial of {directory} to rounding: the largest relative difference is "
        f"{result.distance:.1e}, {result.ulps} floats apart"
    )
    say(f"({'; '.join(changed)})")


def _refuse_foreign_method(store: RunStore, trial: str, directory: Path) -> None:
    """Refuse to fit a stranger's method again (`verify.benchmark.trust`)."""
    wanted = parse_trial_id(trial)
    if wanted.experiment != "benchmark.fit":
        return
    from verify.benchmark.trust import refuse_foreign_cell

    for cell in store.cells():
        if (cell.experiment, cell.number) == (wanted.experiment, wanted.cell):
            refuse_foreign_cell(cell.params, directory)


def _holder(directory: Path, trial: str) -> Path:
    """The run that holds the trial.  Otherwise the error names a run that holds it."""
    with RunStore.open(directory / STORE_NAME, readonly=True) as store:
        if _holds(store, trial):
            return directory
    other = next((d for d in _holders(trial) if d.resolve() != directory.resolve()), None)
    hint = f"; {other} holds it" if other else ""
    raise StoreError(f"{directory}: holds no trial {trial}{hint}")


def _search(trial: str) -> Path:
    """The newest run below ``./runs`` that holds the trial."""
    for directory in _holders(trial):
        return directory
    raise StoreError(f"no run below runs/ holds trial {trial}; name the run: `replay RUN TRIAL`")


def _holders(trial: str) -> Iterator[Path]:
    for directory in known_runs():
        try:
            with RunStore.open(directory / STORE_NAME, readonly=True) as store:
                found = _holds(store, trial)
        except StoreError:  # a damaged run beside it is no reason to give up
            continue
        if found:
            yield directory


def _holds(store: RunStore, trial: str) -> bool:
    wanted = parse_trial_id(trial)
    return any(
        (cell.experiment, cell.number) == (wanted.experiment, wanted.cell)
        and wanted.index // _block_size(cell) in store.blocks(cell.experiment, cell.params)
        for cell in store.status()
        if cell.n_blocks
    )


def _block_size(cell: CellStatus) -> int:
    """Trials of a block, of a cell with blocks."""
    return cell.n_trials // cell.n_blocks


def _a_trial(store: RunStore, cell: CellStatus) -> str:
    """The id of the first stored trial of a cell with blocks.

    A run that was stopped may lack the first block and hold the second.
    """
    first = min(store.blocks(cell.experiment, cell.params)) * _block_size(cell)
    return f"{cell.experiment}:{cell.number:016x}:{first}"


def check_run(
    *,
    run: str,
    baseline: str,
    common: bool,
    rtol: float | None,
    junit_file: str | None,
    as_json: bool,
    claims_files: Sequence[str],
) -> int:
    """Compare two runs.  The exit code is 1 when they differ."""
    del claims_files
    if junit_file is not None and not (junit_file and junit_file.isprintable()):
        raise InvalidParameter(f"--junit {junit_file!r} must name a file")
    if rtol is not None:
        rtol = real_between("--rtol", rtol, 0.0, 1.0)
    first, _ = session.open_run(find_run(run), readonly=True)
    with first:
        second, _ = session.open_run(find_run(baseline), readonly=True)
        with second:
            found = compare(first, second, common=common, rtol=rtol)
            apart = rounding(first, second, rtol)
            machines = other_machines(first, second)
    if not found:
        raise InvalidParameter(f"{run} and {baseline} have no claim in common")
    if junit_file is not None:
        Path(junit_file).write_bytes(junit(found, f"cfl-verify against {baseline}"))
    differences = [f"{name}: {text}" for name, lines in found.items() for text in lines]
    if as_json:
        runs = {"run": run, "baseline": baseline}
        print_json({**runs, "differences": differences, "distance": apart, "machines": machines})
    else:
        for text in machines:
            say(text)
        for line in differences:
            say(line)
        n = len(differences)
        if n == 0 and apart > 0.0:
            say(f"no difference beyond rounding: relative differences up to {apart:.1e}")
        else:
            say("no difference" if not n else f"{n} difference{'s' * (n != 1)}")
    return exits.UNEXPECTED if differences else exits.EXPECTED


def copy_run(*, run: str, destination: str, claims_files: Sequence[str]) -> None:
    """Copy a run's store into a new directory, as of one instant, and verify the copy."""
    del claims_files
    directory = find_run(run)
    if not destination or not destination.isprintable():
        raise InvalidParameter(f"DEST={destination!r} must name a new directory")
    target = Path(destination)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise StoreError(f"{target}: exists already; name a new directory")
    interruptible()
    with RunStore.open(directory / STORE_NAME, readonly=True) as store:
        made = _make_folder(target)
        try:
            store.copy_to(target / STORE_NAME)
        except BaseException:
            if made:
                shutil.rmtree(target, ignore_errors=True)
            raise
    say(f"copied to {target}")


def _make_folder(target: Path) -> bool:
    """Make a folder, and say whether it is ours: another call may have made it meanwhile."""
    try:
        target.mkdir(parents=True)
    except FileExistsError:
        return False
    return True
