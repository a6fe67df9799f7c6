"""``run`` and ``resume``: try claims, print their verdicts, name the next command."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console

from trials.run import engine
from trials.run.directory import find_run
from trials.run.executors import Executor
from trials.run.store import RunStore
from verify import session
from verify.cli import exits, screen
from verify.cli.config import settings
from verify.cli.examined import refuse_benchmarks
from verify.cli.progress import display
from verify.cli.screen import paragraph, say
from verify.cli.signals import interruptible
from verify.cli.stopping import stoppable
from verify.cli.verdicts import as_data, exit_code, print_closing, tally
from verify.cli.workplaces import claim_workers
from verify.papers import Catalogue, catalogue, record_files, recorded_files
from verify.plan import Plan
from verify.session import Outcome, RunConfig
from verify.stored import claim_documents

#: Claims that are not run and still get a line each.
_FEW = 3


def start(
    *,
    config_file: str | None,
    as_json: bool,
    allow_mixed: bool = False,
    verbose: bool = False,
    **flags: Any,
) -> int:
    """Start a new run.  Every setting is checked before its directory is made."""
    wanted = settings(flags, config_file)
    with ExitStack() as opened:
        # Workers for all claims are started first, and load these while the run is prepared.
        executor = None if wanted.config.claims else opened.enter_context(wanted.workers())
        papers = catalogue(wanted.claims_files)
        plan = session.prepare(wanted.config, papers)
        executor = executor or opened.enter_context(wanted.workers(len(plan.claims)))
        interruptible()
        store = opened.enter_context(session.create(wanted.directory(), wanted.config))
        if allow_mixed:
            engine.allow_mixed(store)
        record_files(store, papers.files)
        return _execute(
            store, wanted.config, plan, papers, executor, as_json=as_json, verbose=verbose
        )


def resume(
    *,
    run: str,
    profile: str | None,
    jobs: int | None,
    executor: str | None,
    scheduler: str | None,
    as_json: bool,
    claims_files: Sequence[str],
    allow_mixed: bool = False,
    verbose: bool = False,
) -> int:
    """Continue a run, or extend it to a larger profile."""
    directory = find_run(run)
    interruptible()
    store, config = session.open_run(directory)
    with store:
        refuse_benchmarks(directory, store)
        extended = session.resume_config(config, profile)
        papers = catalogue(recorded_files(store, claims_files))
        plan = session.prepare(extended, papers)
        if allow_mixed:
            engine.allow_mixed(store)
        with claim_workers(executor, jobs, scheduler, len(plan.claims)) as found:
            return _execute(store, extended, plan, papers, found, as_json=as_json, verbose=verbose)


def _announce(plan: Plan, to: Console, *, verbose: bool = False) -> None:
    """Say which claims are passed over or not run, and which cells own values cost."""
    lacking = {name: why for name, why in plan.skipped.items() if " has no parameter " in why}
    if lacking:
        reason = next(iter(lacking.values())).split(" has ")[-1].split(";")[0]
        paragraph(f"skipped, they have {reason}: {', '.join(lacking)}", to=to)
    for name, why in plan.skipped.items():
        if name not in lacking:
            paragraph(f"skipped: {name}: {why}", to=to)
    if len(plan.not_run) > _FEW and not verbose:
        paragraph(_left_out(plan.not_run), to=to)
    else:
        for name, reason in plan.not_run.items():
            paragraph(f"not run: {name}: {reason}", to=to)
    for planned in plan.claims:
        own = planned.own_values
        if own is not None and own.dropped:
            paragraph(
                f"{planned.selection}: {len(own.dropped)} cells leave the theorem at these values "
                f"and are dropped, e.g.: {own.dropped[0].reason}",
                to=to,
            )
        if own is not None and own.weaker:
            paragraph(
                f"{planned.selection}: a weaker test than the registered one: "
                + "; ".join(own.weaker),
                to=to,
            )


def _left_out(not_run: Mapping[str, str]) -> str:
    """One line on claims that the profile leaves out: how many, and which profile runs them."""
    counts = Counter(
        reason.removeprefix("not run below ").partition(":")[0] for reason in not_run.values()
    )
    told = ", ".join(f"{n} with --profile {name}" for name, n in counts.items())
    return f"not run: {len(not_run)} claims ({told}); --verbose names them"


def _execute(
    store: RunStore,
    config: RunConfig,
    plan: Plan,
    papers: Catalogue,
    executor: Executor,
    *,
    as_json: bool,
    verbose: bool = False,
) -> int:
    """Run the claims.  The last line always names the next command."""
    to = screen.errors if as_json else screen.console
    claim_documents(store)  # damage is reported before anything else
    _announce(plan, to, verbose=verbose)
    if mixed := session.mixture(store):
        paragraph(mixed, to=to)
    directory = store.path.parent
    go_on = f"finished blocks are kept; continue with `{exits.program()} resume {_name(directory)}`"
    command = shlex.join(["cfl-verify", *sys.argv[1:]])
    with stoppable(go_on), display(to) as listener:
        outcomes = session.execute(
            store,
            config,
            executor,
            listener,
            commands=[command],
            papers=papers,
            prepared=plan,
        )
    code = exit_code(outcomes, [file.path.name for file in papers.files])
    if as_json:
        screen.print_json(_document(outcomes, directory, config, code))
    else:
        _close(outcomes, directory, to)
    return code


def _close(outcomes: Sequence[Outcome], directory: Path, to: Console) -> None:
    print_closing(outcomes, to)
    say(f"run directory: {directory}", to=to)
    say(f"report: {exits.program()} report {_name(directory)}", to=to)


def _name(directory: Path) -> str:
    return shlex.quote(str(directory))


def _document(
    outcomes: Sequence[Outcome], directory: Path, config: RunConfig, code: int
) -> dict[str, Any]:
    return {
        "run": str(directory),
        "profile": config.profile,
        "seed": config.seed,
        "level": config.level,
        "exit_code": code,
        "tally": tally(outcomes),
        "claims": [as_data(outcome) for outcome in outcomes],
    }
