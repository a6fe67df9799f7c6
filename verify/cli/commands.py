"""The commands and their options.  The module with a command's work is imported when it is called.

Nothing slow may be imported here: ``--help``, ``list`` and ``info`` answer at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from verify.cli.profiles import PROFILE_NAMES

# -- completion ------------------------------------------------------------------------------------


def _complete_claims(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from verify.cli.index import entries

    return [
        CompletionItem(name, help=entry["title"])
        for name, entry in entries(()).items()
        if name.startswith(incomplete)
    ]


def _complete_runs(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    names = [path.parent.as_posix() for path in Path("runs").glob("*/store.sqlite")]
    return [
        CompletionItem(name)
        for name in (["latest"] if names else []) + sorted(names)
        if name.startswith(incomplete)
    ] or [CompletionItem(incomplete, type="dir")]


def _once(_context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> Any:
    """The value of an option of which only the last one would be used."""
    if len(values) > 1:
        raise click.UsageError(f"{parameter.opts[0]} may be given once")
    return values[0] if values else None


class NamedPath(click.Path):
    """A path whose name an operating system takes.  Click asks the system before anything else."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | os.PathLike[str]:
        """The path, or a usage error for a name with a null character."""
        if "\0" in os.fspath(value):
            self.fail(f"{os.fspath(value)!r} holds a null character", param, ctx)
        return super().convert(value, param, ctx)


# -- options that several commands share -----------------------------------------------------------

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

claims_option: Decorator = click.option(
    "--claims",
    "claims_files",
    multiple=True,
    metavar="FILE.py",
    type=NamedPath(),
    help="A paper in a file of your own; may be given several times.",
)
json_option: Decorator = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
profile_option: Decorator = click.option(
    "--profile",
    metavar="PROFILE",
    shell_complete=lambda _c, _p, text: [n for n in PROFILE_NAMES if n.startswith(text)],
    help="quick, standard or full.  [default: quick]",
)
run_argument: Decorator = click.argument("run", metavar="RUN", shell_complete=_complete_runs)


def worker_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Where trials are computed."""
    for option in (
        click.option(
            "--scheduler", metavar="ADDRESS", help="A running dask.distributed scheduler to use."
        ),
        click.option(
            "--executor",
            type=click.Choice(["serial", "threads", "processes"]),
            help="[default: processes for many claims and for benchmark, threads otherwise]",
        ),
        click.option("--jobs", type=int, metavar="N", help="Workers.  [default: all cores]"),
    ):
        command = option(command)
    return command


mixed_option: Decorator = click.option(
    "--allow-mixed",
    is_flag=True,
    help="Let blocks of several kinds of machine meet in the run, which records it.",
)


# -- looking at claims -----------------------------------------------------------------------------


@click.command("list")
@click.argument("claims", nargs=-1, shell_complete=_complete_claims)
@click.option("--paper", metavar="PAPER", help="Only this paper: ids before the dot.")
@click.option("--kind", metavar="KIND", help="Only this kind of statement.")
@click.option("--verdict", metavar="VERDICT", help="Only claims with this expected verdict.")
@click.option("--unproved", is_flag=True, help="Only searched claims without a proof, and why.")
@json_option
@claims_option
def list_(**given: Any) -> None:
    """List the claims: id, kind, expected verdict, source.  A name may hold * and ?.

    \b
    Examples:
      cfl-verify list
      cfl-verify list 'ifca.thm1*'
      cfl-verify list --paper ifca --verdict refuted
    """
    from verify.cli.catalogue import list_claims

    list_claims(**given)


@click.command()
@click.argument("claim", shell_complete=_complete_claims)
@profile_option
@click.option("--cells", is_flag=True, help="Print every cell.")
@json_option
@claims_option
def info(**given: Any) -> None:
    """Show a claim: statement, assumptions, reading, parameters, cells, procedure.

    \b
    Examples:
      cfl-verify info ifca.thm1-as-printed
      cfl-verify info 'ifca.thm1[m=400]'      at values of your own: which cells remain
    """
    from verify.cli.catalogue import show_claims

    show_claims(**given)


# -- running ---------------------------------------------------------------------------------------


@click.command()
@click.argument("claims", nargs=-1, shell_complete=_complete_claims)
@profile_option
@click.option("--seed", type=int, metavar="N", help="Root seed, below 2**128.  [default: 0]")
@click.option(
    "--level", type=float, metavar="X", help="Error level of the whole run.  [default: 0.05]"
)
@worker_options
@click.option(
    "--config",
    "config_file",
    metavar="FILE.toml",
    type=NamedPath(),
    help="The same settings in a file; flags win.",
)
@click.option(
    "--output",
    type=NamedPath(),
    metavar="DIR",
    help="Run directory.  [default: runs/<profile>-<seed>-<time>]",
)
@click.option("--verbose", is_flag=True, help="Name each claim that the profile leaves out.")
@mixed_option
@json_option
@claims_option
def run(**given: Any) -> int:
    """Try claims (all of them by default) and store the verdicts.

    A name may hold * and ?.  Write parameter values of your own in square brackets.  The claim is
    then tried at these values only.  This is a weaker test, and the run says so.

    \b
    Examples:
      cfl-verify run
      cfl-verify run 'ifca.lemma1*' --profile standard --jobs 2
      cfl-verify run 'ifca.thm1[m=400,d=100]' --seed 7 --output runs/mine
      cfl-verify run --config batch.toml
    """
    from verify.cli.running import start

    return start(**given)


@click.command()
@run_argument
@click.option(
    "--profile",
    metavar="PROFILE",
    help="Extend the run to a larger profile; trials already drawn are kept.",
)
@worker_options
@mixed_option
@click.option("--verbose", is_flag=True, help="Name each claim that the profile leaves out.")
@json_option
@claims_option
def resume(**given: Any) -> int:
    """Continue a run that was stopped, or extend it to a larger profile.

    \b
    Examples:
      cfl-verify resume latest
      cfl-verify resume runs/quick-0 --profile standard
    """
    from verify.cli.running import resume as continue_run

    return continue_run(**given)


@click.command("warm-up")
@click.argument("claims", nargs=-1, shell_complete=_complete_claims)
@claims_option
def warm_up(**given: Any) -> None:
    """Compile the kernels that claims use, so that a later run starts at once.

    The machine code is kept in your cache folder until the sources change.

    \b
    Examples:
      cfl-verify warm-up
      cfl-verify warm-up 'ifca.thm1*'
    """
    from verify.cli.warming import warm_up as compile_kernels

    compile_kernels(**given)


@click.command(
    "worker", context_settings={"ignore_unknown_options": True, "allow_extra_args": True}
)
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def worker(options: tuple[str, ...]) -> None:
    """Start a Dask worker that computes with the same bits as `run` does here.

    Takes the address of a scheduler and the options of `dask worker`.  A worker that is started by
    `dask worker` computes as its own processor does best, and a run of another kind refuses it.

    \b
    Examples:
      cfl-verify worker tcp://HOST:8786 --nthreads 1
      cfl-verify worker --scheduler-file scheduler.json --nthreads 1 --no-dashboard
    """
    try:
        from distributed.cli import dask_worker
    except ImportError:
        raise click.ClickException(
            "a worker needs Dask: pip install 'cfl-verify[distributed]'"
        ) from None
    try:
        dask_worker.main(args=list(options), prog_name="cfl-verify worker", standalone_mode=False)
    except ValueError as error:
        raise click.ClickException(str(error)) from None


# -- looking at runs -------------------------------------------------------------------------------


@click.command()
@run_argument
@json_option
@claims_option
def status(**given: Any) -> None:
    """Show how far a run has come: verdicts so far, and stored blocks per experiment.

    \b
    Example:
      cfl-verify status latest
    """
    from verify.cli.runs import show_status

    show_status(**given)


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="[RUN] TRIAL")
@json_option
@claims_option
def replay(**given: Any) -> None:
    """Simulate one trial again from its id and compare it with the store.

    On the same kind of processor and with the same versions all bits are equal.  On another
    machine the command says how far the values are apart, in floats too, or that they differ by
    more than rounding, and what differs between the machines.

    Without RUN the runs below ./runs are searched, the newest first.  `status RUN` prints trial
    ids of each experiment, and the report prints those of counterexamples.

    \b
    Examples:
      cfl-verify replay latest ifca.step:00f3a41c9d2b7e55:17
      cfl-verify replay ifca.step:00f3a41c9d2b7e55:17
    """
    from verify.cli.runs import replay_trial

    replay_trial(**given)


@click.command()
@run_argument
@click.option(
    "--against",
    "baseline",
    required=True,
    metavar="BASELINE",
    shell_complete=_complete_runs,
    help="The run to compare with.",
)
@click.option("--common", is_flag=True, help="Compare the claims that both runs hold, no others.")
@click.option(
    "--rtol",
    type=float,
    metavar="X",
    help="Accept relative differences up to X between equal streams.  [default: 0 on one kind of "
    "machine, else 1e-6]",
)
@click.option("--junit", "junit_file", metavar="FILE", help="Write JUnit XML, a test case a claim.")
@json_option
@claims_option
def check(**given: Any) -> int:
    """Compare a run with a baseline: verdicts, proofs, bounds, observed values within their limits.

    A line says which of the two has moved, the observed value or the bound.

    Runs of one seed must agree bit for bit.  Runs from two kinds of processor, or from two sets of
    versions, must agree to rounding, and the command prints the largest relative difference and
    what differs between the machines.

    \b
    Examples:
      cfl-verify check latest --against runs/release
      cfl-verify check latest --against runs/release --common --junit check.xml
      cfl-verify check latest --against runs/laptop --rtol 1e-12
    """
    from verify.cli.runs import check_run

    return check_run(**given)


@click.command()
@run_argument
@click.argument("claims", nargs=-1, metavar="[CLAIM]...", shell_complete=_complete_claims)
@click.option(
    "--sample",
    type=int,
    metavar="N",
    help="At most N mutants a claim, drawn by the claim's name.  [default: all]",
)
@click.option("--jobs", type=int, metavar="N", help="Workers of a sample.  [default: all cores]")
@click.option(
    "--meaning",
    is_flag=True,
    help="Change the meaning instead: another symbol, a factor lost or added, the largest term "
    "for a sum.",
)
@json_option
@claims_option
def mutate(**given: Any) -> int:
    """Change each statement into false ones and decide them on the trials of a run.

    Exponents, factors, terms, failure probabilities, quantifiers and conditions are changed one
    at a time.  A claim whose evidence still supports a false statement has too little power.  The
    scores are stored in the run, and its report shows them.

    \b
    Examples:
      cfl-verify mutate latest ifca.cor1-burn-in
      cfl-verify mutate latest --sample 2     a few seconds for the whole catalogue
      cfl-verify mutate latest --meaning      k for d, 1/k for a share: what would pass as well
    """
    from verify.cli.mutating import mutate_run

    return mutate_run(**given)


@click.command()
@run_argument
@click.argument("claims", nargs=-1, metavar="[CLAIM]...", shell_complete=_complete_claims)
@click.option(
    "--places",
    "n_places",
    type=int,
    default=64,
    show_default=True,
    metavar="N",
    help="Random places of a claim.",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, metavar="N", help="Seed of the places."
)
@click.option(
    "--unread",
    is_flag=True,
    help="Move also what no symbol of the statement reads: does the statement lack a condition?",
)
@click.option("--jobs", type=int, metavar="N", help="Workers.  [default: all cores]")
@json_option
@claims_option
def falsify(**given: Any) -> int:
    """Look for places inside a claim's conditions at which its bound fails.

    The cells of a supported claim were chosen.  Here the parameters that its symbols read are moved
    at random, by up to a factor 10^6, and the claim is decided at each place alone.  Searches have
    another seed and four times their budget.  Trials are drawn on a copy of the run.  The exit code
    is 1 where a claim is refuted: the bound is false there, or the statement lacks a condition.

    \b
    Examples:
      cfl-verify falsify latest                      every supported claim
      cfl-verify falsify latest ifca.cor1 --places 500 --seed 1
    """
    from verify.cli.falsifying import falsify_run

    return falsify_run(**given)


@click.command()
@click.argument("claims", nargs=-1, required=True, shell_complete=_complete_claims)
@click.option(
    "--output",
    type=NamedPath(),
    metavar="DIR",
    help="Where certificates are written.  [default: the folder certificates beside the last "
    "--claims file, else in the package.  Runs look in both.]",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["certificate", "smt2", "coq"]),
    default="certificate",
    help="smt2 prints the statement for a solver of real arithmetic, and proves nothing.  coq "
    "writes a file CLAIM.v with the statement and a proof, into DIR or into the current folder.",
)
@json_option
@claims_option
def prove(**given: Any) -> None:
    """Prove statements whose two sides are formulas, over their whole domain.

    A certificate is written for each one that is proved.  Later runs check it, and a changed
    statement has none.

    \b
    Examples:
      cfl-verify prove sxy.eq35
      cfl-verify prove --claims mypaper.py 'mypaper.*'
      cfl-verify prove odcl.eq11 --format smt2 > eq11.smt2     (a solver should answer unsat)
      cfl-verify prove sxy.eq35 --format coq
    """
    from verify.cli.proving import prove_claims

    prove_claims(**given)


@click.command("check-proof")
@run_argument
@click.argument("claims", nargs=-1, metavar="[CLAIM]...", shell_complete=_complete_claims)
@json_option
@claims_option
def check_proof(**given: Any) -> int:
    """Check the certificates that a run holds, of proved statements and of refuted ones.

    Each must fit the stored verdict, and the statement of the claim where it is known.

    \b
    Examples:
      cfl-verify check-proof latest
      cfl-verify check-proof latest sxy.eq35
    """
    from verify.cli.proving import check_proofs

    return check_proofs(**given)


@click.command("check-paper")
@click.argument("files", nargs=-1, required=True, metavar="FILE.py...", type=NamedPath())
@click.option(
    "--without", multiple=True, metavar="CHECK", help="Leave out a check, by the name it prints."
)
@json_option
def check_paper(**given: Any) -> int:
    """Ask of each claim in a paper of your own what the suite asks of its own claims.

    A claim must be complete, print, stay inside its assumptions, vary what its statement names,
    be built the same way twice, and depend on its statement.  A few trials are drawn.  A sentence
    says what is missing.  Exit status 1 when a claim has a fault.

    \b
    Example:
      cfl-verify check-paper mypaper.py
    """
    from verify.cli.conforming import check_paper as ask

    return ask(**given)


@click.command()
@run_argument
@click.argument("destination", metavar="DEST", type=NamedPath())
@claims_option
def copy(**given: Any) -> None:
    """Copy a run to the new directory DEST, also while another process writes it.

    A plain file copy of an active run would miss the data in its `-wal` file.

    \b
    Example:
      cfl-verify copy latest backup/monday
    """
    from verify.cli.runs import copy_run

    copy_run(**given)


@click.command()
@run_argument
@click.argument("destination", metavar="DEST")
@click.option(
    "--format",
    "formats",
    default="csv",
    show_default=True,
    metavar="csv,parquet,json",
    help="The formats, separated by commas. JSON holds no trials.",
)
@claims_option
def export(**given: Any) -> None:
    """Write a run as tidy tables into the new folder DEST: claims, cells and trials.

    An empty field, or null in Parquet, stands where a benchmark's metric does not apply, and in the
    row of a trial that failed: its status says so.

    \b
    Examples:
      cfl-verify export latest tables
      cfl-verify export latest tables --format parquet,json
    """
    from verify.cli.exporting import export_run

    export_run(**given)


@click.command()
@run_argument
@click.option(
    "--format",
    "formats",
    default="pdf,tex",
    show_default=True,
    metavar="pdf,tex,html",
    help="pdf: with its LaTeX source. tex: the source alone. html: a folder of web pages.",
)
@click.option(
    "--engine",
    type=click.Choice(["auto", "latex", "embedded"]),
    default="auto",
    show_default=True,
    help="latex: pdfLaTeX. embedded: pandoc and Typst, no TeX needed. auto: latex where complete.",
)
@click.option("--output", metavar="DIR", help="Where to write.  [default: RUN/report]")
@click.option("--title", "heading", metavar="TEXT", help="The title.  [default: the paper's]")
@click.option("--author", metavar="TEXT", help="The author to print.")
@click.option("--catalogue", is_flag=True, help="Make catalogue.pdf, with all claims, too.")
@click.option(
    "--fragments",
    "fragments_of",
    multiple=True,
    metavar="CLAIM",
    shell_complete=_complete_claims,
    help="Write no report but one .tex file for each claim that matches, to \\input in a paper.",
)
@claims_option
@click.pass_context
def report(context: click.Context, /, **given: Any) -> int:
    """Build the report of RUN and print its path.

    report.pdf is the paper of the run: what was found, the theorems, how sure it is.

    \b
    Examples:
      cfl-verify report latest
      cfl-verify report latest --catalogue --title "My theorem, tried"
      cfl-verify report latest --format tex --output paper/appendix
      cfl-verify report latest --format html
      cfl-verify report latest --fragments 'ifca.thm1*' --output paper
    """
    from verify.cli.reporting import build_report

    return build_report(**given, debug=context.find_root().params["debug"])


@click.command()
@click.argument("target", required=False, metavar="[MODULE:FUNCTION]")
@click.option("--as", "name", metavar="SUBJECT", help="What the function is, e.g. ifca.step.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Of all inputs.")
@click.option(
    "--examples",
    type=int,
    default=100,
    show_default=True,
    metavar="N",
    help="Inputs for each property and differential check.",
)
@click.option(
    "--arrays",
    default="numpy",
    show_default=True,
    metavar="PACKAGE",
    help="The arrays that the function takes: numpy, torch, jax.numpy, cupy ...",
)
@click.option(
    "--precision", type=click.Choice(["double", "single"]), default="double", show_default=True
)
@click.option(
    "--accuracy",
    type=float,
    metavar="X",
    help="Relative accuracy that the function claims beyond rounding.  [default: the subject's]",
)
@click.option("--equal-sizes", is_flag=True, help="Only clients with equal numbers of rows.")
@click.option(
    "--output",
    default="subject-failures",
    show_default=True,
    metavar="DIR",
    help="Where failing inputs are saved, each with a test that replays it.",
)
@json_option
def subject(**given: Any) -> int:
    """Test an implementation of your own: properties, our kernels, exact laws.

    Without a function it lists the subjects, and with --as it defines one.  A failure prints the
    smallest input that was found and saves it.

    \b
    Examples:
      cfl-verify subject
      cfl-verify subject --as ifca.step
      cfl-verify subject mypkg.ifca:step --as ifca.step
      cfl-verify subject mypkg.model:step --as ifca.step --arrays torch --precision single
    """
    from verify.cli.subject import verify_subject

    return verify_subject(**given)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that completes this program's commands, claims and runs in a shell.

    \b
    Example (bash; put the line into ~/.bashrc to keep it):
      eval "$(cfl-verify completion bash)"
    """
    from click.shell_completion import get_completion_class

    from verify.cli.screen import say

    kind = get_completion_class(shell)
    assert kind is not None  # the three that click ships
    program = click.get_current_context().find_root().command
    say(kind(program, {}, "cfl-verify", "_CFL_VERIFY_COMPLETE").source())


# -- methods on federations ------------------------------------------------------------------------


@click.command()
@click.argument("name", metavar="[BENCHMARK]", required=False)
@click.option("--methods", metavar="A,B,...", help="Methods: shipped names, or FILE.py:NAME.")
@click.option("--clients", type=int, metavar="M", help="Clients.")
@click.option("--samples", type=int, metavar="N", help="Mean number of rows of a client.")
@click.option("--features", type=int, metavar="D", help="Features.")
@click.option("--clusters", type=int, metavar="K", help="Clusters.")
@click.option("--separation", type=float, metavar="X", help="Least distance of two models.")
@click.option("--noise", type=float, metavar="S", help="Noise level.")
@click.option("--response", metavar="KIND", help="linear or logistic.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Any parameter of a federation; may be given several times.",
)
@click.option(
    "--vary",
    multiple=True,
    callback=_once,
    metavar="NAME=V,V,...",
    help="One table for each value of a parameter.",
)
@click.option(
    "--data",
    metavar="FILE",
    type=NamedPath(),
    help="Rows of your own: .csv, .parquet or .npz, or `digits`, `glyphs` or `diabetes`.",
)
@click.option("--client", metavar="COLUMN", help="The column that names a row's client.")
@click.option("--target", metavar="COLUMN", help="The column to predict.")
@click.option(
    "--grid",
    nargs=2,
    metavar="A=LOW..HIGH B=LOW..HIGH",
    help="A phase diagram over two parameters in place of a table.",
)
@click.option("--grid-size", type=int, metavar="N", help="Values an axis of --grid.  [default: 20]")
@click.option(
    "--curves",
    type=int,
    metavar="N",
    help="Draw the training loss over the rounds of the first N trials, in report --format html.",
)
@click.option(
    "--metric",
    metavar="NAME",
    help="The metric that decides.  [default: error; held-out with --data]",
)
@click.option("--level", type=float, metavar="P", help="Error probability of the whole table.")
@click.option("--width", type=float, metavar="W", help="Relative width of a narrow contrast.")
@click.option("--trials", "max_trials", type=int, metavar="N", help="Trials at most.")
@click.option("--cpu-seconds", type=float, metavar="S", help="CPU seconds of all fits.")
@click.option("--time-limit", "limit", type=float, metavar="S", help="Seconds of one fit.")
@click.option("--seed", type=int, default=0, show_default=True, help="Root seed of a new run.")
@click.option(
    "--run", "run_name", metavar="RUN", help="Add to this run: its stored fits are not repeated."
)
@click.option("--output", metavar="DIR", help="Directory of a new run.")
@click.option(
    "--export",
    "exports",
    multiple=True,
    metavar="FILE",
    type=NamedPath(),
    help="Write the table as .csv, .parquet or .tex (booktabs).",
)
@worker_options
@json_option
def benchmark(**given: Any) -> int:
    """Compare methods on the same data, with limits that hold at any stopping time.

    Without a name it lists the benchmarks and the methods that ship.  The run ends when each pair
    of methods is separated or as close as --width asks, or when the trials or CPU seconds end.

    \b
    Examples:
      cfl-verify benchmark
      cfl-verify benchmark few-samples
      cfl-verify benchmark --methods ifca,odcl-km,my.py:MyMethod --clients 100 --samples 50
      cfl-verify benchmark --data rows.csv --client hospital --target outcome
      cfl-verify benchmark --run latest --trials 500 --export table.tex
      cfl-verify benchmark --methods odcl-km,ifca --grid n=8..512 separation=.1..10
    """
    from verify.cli.workplaces import benchmark_workers

    with benchmark_workers(given) as workers:
        from verify.cli.benchmarking import Asked
        from verify.cli.benchmarking import benchmark as run_benchmark

        return run_benchmark(workers, Asked.of(given))


COMMANDS: tuple[click.Command, ...] = (
    *(list_, info, run, resume, status, replay, check, mutate, falsify, copy, export, report),
    *(benchmark, prove, check_proof, check_paper, subject, warm_up, worker, completion),
)
