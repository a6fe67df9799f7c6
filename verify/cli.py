"""The command line of section "verify": list, info, run, resume, status, replay, check.

Exit codes: 0 all verdicts as expected, 1 some verdict is not the expected one, 2 some claim is
inconclusive, 3 usage or input/output.
"""

from __future__ import annotations

import io
import os
import sys
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table as RichTable

from bounds.statement import OutsideTheorem
from trials.checks import InvalidParameter
from trials.run.engine import Demand, replay
from trials.run.executors import Executor, ExecutorError, make_executor
from trials.run.store import RunStore, StoreError
from verify import session
from verify.check import compare
from verify.claim import Claim
from verify.evidence import Verdict
from verify.papers import catalogue
from verify.procedures.base import PROFILES
from verify.selection import select
from verify.session import Listener, Outcome, RunConfig

USAGE_ERROR = 3
MAX_JOBS = 1024
COLOURS = {
    Verdict.SUPPORTED: "green",
    Verdict.REFUTED: "red",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.VACUOUS: "magenta",
}


class _Console(Console):
    """A console whose reader may leave (``| head -1``): the work goes on without it."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


#: A pipe has no width of its own; verdict tables are read wide.
console = _Console(highlight=False, width=None if _is_terminal() else 150)


class _Group(click.Group):
    """A click group whose usage errors exit with 3 and one line, like every other bad input."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        kwargs["standalone_mode"] = False
        for stream in (sys.stdout, sys.stderr):  # a terminal that knows no ± still gets its line
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")
        try:
            code = super().main(*args, **kwargs)
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message())
            sys.exit(USAGE_ERROR)
        except click.ClickException as error:
            click.echo(f"error: {error.format_message()}", err=True)
            sys.exit(USAGE_ERROR)
        except click.Abort:
            click.echo("interrupted: finished blocks are kept; continue with `resume`", err=True)
            sys.exit(USAGE_ERROR)
        sys.exit(code if isinstance(code, int) else 0)


def _clear_errors(command: Callable[..., Any]) -> Callable[..., Any]:
    """Turn the errors that a user can cause into one line and exit code 3."""

    @wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except (InvalidParameter, OutsideTheorem, StoreError, ExecutorError) as error:
            raise click.ClickException(str(error)) from None
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            raise click.ClickException(f"{where}{error.strerror or error}") from None
        except MemoryError as error:
            raise click.ClickException(f"out of memory ({error})") from None

    return wrapped


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Verify theorems of clustered federated learning empirically.

    \b
    Examples:
      python -m verify list
      python -m verify info ifca.thm1
      python -m verify run --profile quick
      python -m verify run 'ifca.thm1[m=400,d=100]' --seed 7
      python -m verify resume latest
    """


@main.command("list")
@_clear_errors
def list_claims() -> None:
    """List the claims: id, kind, expected verdict, source."""
    table = RichTable(box=None, pad_edge=False)
    for heading in ("claim", "kind", "expected", "source"):
        table.add_column(heading, no_wrap=heading == "claim")
    for claim in catalogue().values():
        table.add_row(
            claim.id, claim.statement.kind, _coloured(claim.expected), claim.statement.source
        )
    console.print(table)


@main.command()
@click.argument("claim")
@click.option("--profile", default="quick", help="Profile whose cells and budgets to show.")
@_clear_errors
def info(claim: str, profile: str) -> None:
    """Show a claim: statement, assumptions, reading, procedure.

    \b
    Example:
      python -m verify info ifca.thm1-as-printed
    """
    RunConfig(profile=profile).check()
    for selection, found in select(catalogue(), [claim]):
        procedure = found.build(PROFILES[profile])
        if selection.values:
            procedure = procedure.override(selection.values)
        _show(found, profile, found.document(procedure))


def _show(found: Claim, profile: str, document: Mapping[str, Any]) -> None:
    statement = found.statement
    console.print(f"[bold]{statement.id}[/]  {statement.title}")
    console.print(f"{statement.publication.label}, {statement.source}\n", markup=False)
    lines = [
        ("kind", statement.kind),
        ("quantifiers", statement.quantifiers),
        ("statement", document["bound_latex"]),
        ("fails with", document["failure_latex"] or "never"),
        *(
            ("assumption", f"{a['name']}: {a['latex']}" + f" ({a['note']})" * bool(a["note"]))
            for a in document["assumptions"]
        ),
        *(
            ("constant", f"{c['latex']} in [{c['low']:g}, {c['high']:g}] ({c['meaning']})")
            for c in document["constants"]
        ),
        ("reading", statement.reading or "as printed"),
        (f"procedure ({profile})", document["procedure"]),
        ("expected", str(found.expected)),
    ]
    for name, text in lines:
        console.print(f"{name:>20}  {text}", markup=False, soft_wrap=True)


def _run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--jobs", type=click.IntRange(min=1), help="Workers (default: all cores)."),
        click.option(
            "--executor",
            type=click.Choice(["serial", "threads", "processes"]),
            help="[default: threads]",
        ),
        click.option("--scheduler", metavar="ADDRESS", help="A dask.distributed scheduler to use."),
    ):
        command = option(command)
    return command


@main.command()
@click.argument("claims", nargs=-1)
@click.option("--profile", help="quick, standard or full.  [default: quick]")
@click.option("--seed", type=int, help="Root seed.  [default: 0]")
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    help="TOML file with the same keys; flags win.",
)
@click.option(
    "--output",
    type=click.Path(),
    help="Run directory.  [default: runs/<profile>-<seed>-<time>]",
)
@_run_options
@_clear_errors
def run(
    claims: tuple[str, ...],
    profile: str | None,
    seed: int | None,
    config_file: Path | None,
    output: str | None,
    jobs: int | None,
    executor: str | None,
    scheduler: str | None,
) -> int:
    """Try claims (all of them by default) and store the verdicts.

    \b
    Examples:
      python -m verify run
      python -m verify run 'ifca.lemma1*' --profile standard --jobs 2
      python -m verify run 'ifca.thm1[m=400,d=100]' --seed 7 --output runs/mine
      python -m verify run --config batch.toml
    """
    file = _read_config(config_file) if config_file else {}
    config = RunConfig(
        claims=claims or tuple(file.get("claims", ())),
        profile=profile if profile is not None else file.get("profile", "quick"),
        seed=seed if seed is not None else file.get("seed", 0),
    )
    session.prepare(config)
    named = output if output is not None else file.get("output")
    if named == "":
        raise InvalidParameter("output='' must name a directory")
    directory = _default_directory(config) if named is None else Path(named)
    workers = _executor(
        executor or file.get("executor"),
        jobs if jobs is not None else file.get("jobs"),
        scheduler or file.get("scheduler"),
    )
    with workers, session.create(directory, config) as store:
        return _execute(store, config, workers)


@main.command()
@click.argument("run_directory", metavar="RUN")
@click.option(
    "--profile", help="Extend the run to a larger profile; trials already drawn are kept."
)
@_run_options
@_clear_errors
def resume(
    run_directory: str,
    profile: str | None,
    jobs: int | None,
    executor: str | None,
    scheduler: str | None,
) -> int:
    """Continue a run that was stopped, or extend it to a larger profile.

    \b
    Examples:
      python -m verify resume latest
      python -m verify resume runs/quick-0 --profile standard
    """
    store, config = session.open_run(find_run(run_directory))
    with store, _executor(executor, jobs, scheduler) as workers:
        return _execute(store, session.resumed(config, profile), workers)


@main.command()
@click.argument("run_directory", metavar="RUN")
@_clear_errors
def status(run_directory: str) -> None:
    """Show how far a run has come: verdicts so far, and stored blocks per experiment.

    \b
    Example:
      python -m verify status latest
    """
    directory = find_run(run_directory)
    store, config = session.open_run(directory, readonly=True)
    with store:
        documents = store.documents("claim")
        wanted = [str(p.selection) for p in session.prepare(config).claims]
        console.print(
            f"{directory}  profile {config.profile}  seed {config.seed}  "
            f"{len(documents)}/{len(wanted)} claims decided",
            markup=False,
            soft_wrap=True,
        )
        for name in wanted:
            verdict = documents[name]["evidence"]["verdict"] if name in documents else "pending"
            console.print(f"  {name:<44} {verdict}", markup=False, soft_wrap=True)
        totals: dict[str, list[float]] = {}
        for cell in store.status():
            entry = totals.setdefault(cell.experiment, [0, 0, 0, 0.0])
            for i, value in enumerate((1, cell.n_trials, cell.n_failed, cell.seconds)):
                entry[i] += value
        for name, (cells, trials, failed, seconds) in totals.items():
            console.print(
                f"  {name:<24} {int(cells)} cells  {int(trials)} trials  "
                f"{int(failed)} failed  {seconds:.1f} worker seconds",
                markup=False,
                soft_wrap=True,
            )


@main.command("replay")
@click.argument("run_directory", metavar="RUN")
@click.argument("trial")
@_clear_errors
def replay_trial(run_directory: str, trial: str) -> None:
    """Simulate one trial again from its id and compare it with the store, bit for bit.

    \b
    Example:
      python -m verify replay latest ifca.step:00f3a41c9d2b7e55:17
    """
    store, _ = session.open_run(find_run(run_directory), readonly=True)
    with store:
        result = replay(store, trial)
    for name, value in zip(result.columns, result.values, strict=True):
        console.print(f"{name:>28}  {float(value)!r}", markup=False)
    console.print(f"{'status':>28}  {result.status}", markup=False)
    console.print("identical to the stored trial, bit for bit")


@main.command()
@click.argument("run_directory", metavar="RUN")
@click.option(
    "--against", "baseline", required=True, metavar="BASELINE", help="The run to compare with."
)
@_clear_errors
def check(run_directory: str, baseline: str) -> int:
    """Compare a run with a baseline: verdicts, and observed values within their uncertainty.

    \b
    Example:
      python -m verify check latest --against runs/release
    """
    first, _ = session.open_run(find_run(run_directory), readonly=True)
    second, _ = session.open_run(find_run(baseline), readonly=True)
    with first, second:
        differences = compare(first, second)
    for line in differences:
        console.print(line, markup=False)
    console.print(
        "no difference"
        if not differences
        else f"{len(differences)} difference{'s' * (len(differences) != 1)}"
    )
    return 1 if differences else 0


def find_run(name: str) -> Path:
    """A run directory by path, by name under ``runs/``, or the newest one (``latest``)."""
    if name == "latest":
        stores = sorted(
            Path("runs").glob(f"*/{session.STORE_NAME}"), key=lambda p: p.stat().st_mtime
        )
        if not stores:
            raise StoreError("there is no run under runs/; start one with `python -m verify run`")
        return stores[-1].parent
    for candidate in (Path(name), Path("runs") / name) if name else ():
        if (candidate / session.STORE_NAME).exists():
            return candidate
    raise StoreError(f"{name}: no run here (no {session.STORE_NAME}); `latest` names the newest")


def _default_directory(config: RunConfig) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    return Path("runs") / f"{config.profile}-{config.seed}-{stamp}"


_CONFIG_KEYS = {
    "claims": list,
    "profile": str,
    "seed": int,
    "jobs": int,
    "executor": str,
    "scheduler": str,
    "output": str,
}


def _read_config(path: Path) -> dict[str, Any]:
    """Read a TOML configuration; unknown keys and wrong types are refused by name."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidParameter(f"{path}: not a TOML file: {error}") from None
    for key, value in values.items():
        if key not in _CONFIG_KEYS:
            raise InvalidParameter(f"{path}: unknown key {key!r}; known: {', '.join(_CONFIG_KEYS)}")
        if not isinstance(value, _CONFIG_KEYS[key]) or isinstance(value, bool):
            raise InvalidParameter(
                f"{path}: {key}={value!r} must be of type {_CONFIG_KEYS[key].__name__}"
            )
    if not all(isinstance(claim, str) for claim in values.get("claims", ())):
        raise InvalidParameter(f"{path}: claims={values['claims']!r} must be a list of strings")
    return values


def _executor(kind: str | None, jobs: int | None, scheduler: str | None) -> Executor:
    """The workers that flags or configuration ask for; made before the run directory is."""
    if jobs is not None and jobs > MAX_JOBS:
        raise InvalidParameter(f"jobs={jobs} must be <= {MAX_JOBS}")
    return make_executor("distributed" if scheduler else kind or "threads", jobs, address=scheduler)


def _execute(store: RunStore, config: RunConfig, executor: Executor) -> int:
    with _display() as listener:
        outcomes = session.execute(
            store,
            config,
            executor,
            listener,
            commands=[" ".join(["python -m verify", *sys.argv[1:]])],
        )
    _print_table(outcomes)
    console.print(f"run directory: {store.path.parent}", markup=False, soft_wrap=True)
    return _exit_code(outcomes)


def _exit_code(outcomes: Sequence[Outcome]) -> int:
    unexpected = [o for o in outcomes if o.verdict != o.expected]
    if any(o.verdict != Verdict.INCONCLUSIVE for o in unexpected):
        return 1
    return 2 if unexpected else 0


def _coloured(verdict: Verdict) -> str:
    return f"[{COLOURS[verdict]}]{verdict}[/]"


def _verdict_line(outcome: Outcome) -> str:
    """``claim  trials  failed  observed +- se  bound  ratio  VERDICT`` for the worst cell."""
    evidence = outcome.document["evidence"]
    cells = [c for c in evidence["cells"] if c["observed"] is not None]
    parts = [
        escape(f"{outcome.selection:<36}"),
        f"{evidence['n_trials']:>9,}",
        f"failed {evidence['n_failed']}",
    ]
    if cells:
        worst = max(cells, key=lambda c: c["ratio"] if c["ratio"] is not None else -1.0)
        spread = f" ± {worst['se']:.2g}" if worst["se"] is not None else ""
        parts.append(f"observed {worst['observed']:.3g}{spread}")
        if worst["bound"] is not None:
            parts.append(f"bound {worst['bound']:.3g}")
        if worst["ratio"] is not None:
            parts.append(f"ratio {worst['ratio']:.2g}")
    mark = "" if outcome.verdict == outcome.expected else f"  (expected {outcome.expected})"
    return "  ".join(parts) + f"  {_coloured(outcome.verdict)}{mark}"


def _print_table(outcomes: Sequence[Outcome]) -> None:
    """The verdicts at the end; a narrow terminal leaves the summaries to the report."""
    table = RichTable(title="Verdicts", pad_edge=False)
    shown = 4 if console.width >= 100 else 3 if console.width >= 60 else 2
    table.add_column("claim", no_wrap=shown > 2, overflow="fold")
    table.add_column("verdict", no_wrap=True)
    if shown > 2:
        table.add_column("trials", justify="right", no_wrap=True)
    if shown > 3:
        table.add_column("in short")
    for outcome in outcomes:
        evidence = outcome.document["evidence"]
        expected = outcome.verdict == outcome.expected
        row = [
            escape(outcome.selection),
            _coloured(outcome.verdict) + ("" if expected else f"\n(expected {outcome.expected})"),
            f"{evidence['n_trials']:,}",
            escape(evidence["summary"].replace("$", "").replace("\\", "")),
        ]
        table.add_row(*row[:shown])
    console.print(table)


@contextmanager
def _display() -> Any:
    """A live progress display on a terminal; plain lines, at most every ten seconds, elsewhere."""
    if not console.is_terminal:
        yield _plain_listener()
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        claims = progress.add_task("claims", total=None)
        blocks = progress.add_task("blocks", total=None)

        def on_claim(name: str, i: int, n: int) -> None:
            progress.update(claims, description=name, completed=i, total=n)
            progress.update(blocks, completed=0, total=None, description="  searching")

        def on_block(done: int, total: int, demand: Demand, n_failed: int) -> None:
            label = f"  {demand.experiment.name}" + (f" ({n_failed} failed)" if n_failed else "")
            progress.update(blocks, description=label, completed=done, total=total)

        yield Listener(
            on_claim=on_claim,
            on_block=on_block,
            on_outcome=lambda outcome: console.print(_verdict_line(outcome), soft_wrap=True),
        )


def _plain_listener() -> Listener:
    last = [time.monotonic()]

    def on_block(done: int, total: int, demand: Demand, n_failed: int) -> None:
        if time.monotonic() - last[0] > 10.0:
            last[0] = time.monotonic()
            console.print(
                f"  {demand.experiment.name}: {done}/{total} blocks, {n_failed} failed trials",
                markup=False,
            )

    return Listener(
        on_block=on_block,
        on_outcome=lambda outcome: console.print(_verdict_line(outcome), soft_wrap=True),
    )
