"""``benchmark``: list the benchmarks that ship, run one, or run one of your own."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from trials.checks import InvalidParameter, integer_between
from trials.run.directory import STORE_NAME, find_run, make_run_directory, numbered
from trials.run.executors import Executor
from trials.run.store import RunStore, StoreError
from trials.run.store.files import size_of
from trials.run.store.limits import is_name
from verify import session
from verify.benchmark import pages, tables, trust
from verify.benchmark.catalogue import SHIPPED
from verify.benchmark.checking import check_own
from verify.benchmark.curves import curve_figure
from verify.benchmark.design import NAMED, Benchmark, named
from verify.benchmark.federation import in_words, parameter_of, place, without_derived
from verify.benchmark.methods import parse_methods
from verify.benchmark.metrics import metric
from verify.benchmark.phase import Grid, axis, diagrams, drawn
from verify.benchmark.phase import document as diagram_document
from verify.benchmark.running import Result, run
from verify.cli import exits, screen
from verify.cli.screen import definition, left_out, paragraph, print_json, say, table
from verify.cli.signals import interruptible
from verify.cli.stopping import stoppable
from verify.decisions.sequences import check_level
from verify.evidence import Figure
from verify.session import RunConfig
from verify.stored import declared_benchmarks

#: Flags that are parameters of a federation.
_FLAGS = ("clients", "samples", "features", "clusters", "separation", "noise", "response")
_RULES = ("methods", "metric", "level", "width", "max_trials", "cpu_seconds", "limit")
#: Values an axis of a diagram where none is given.
_GRID_SIZE = 20
_DEFAULT_METHODS = "local, global, ifca, odcl-km"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What one call asks for, by the names of the command's options.

    An option that is left out is None, or an empty sequence.
    """

    name: str | None
    methods: str | None
    clients: int | None
    samples: int | None
    features: int | None
    clusters: int | None
    separation: float | None
    noise: float | None
    response: str | None
    settings: Sequence[str]
    vary: str | None
    data: str | None
    client: str | None
    target: str | None
    metric: str | None
    level: float | None
    width: float | None
    max_trials: int | None
    cpu_seconds: float | None
    limit: float | None
    run_name: str | None
    output: str | None
    seed: int
    exports: Sequence[str]
    grid: tuple[str, str] | None
    grid_size: int | None
    curves: int | None
    as_json: bool

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Asked:
        """The record of the command's options, those of the workers left out."""
        return cls(**{field.name: options[field.name] for field in fields(cls)})

    def changes(self) -> dict[str, Any]:
        """The parameters of a federation that are given.

        Raises
        ------
        InvalidParameter : When one of them is given twice.
        """
        flags = [(parameter_of(name), getattr(self, name)) for name in _FLAGS]
        given = [pair for pair in flags if pair[1] is not None]
        given += map(_setting, self.settings)
        names = [name for name, _ in given]
        if twice := [name for name in names if names.count(name) > 1]:
            word = in_words(twice[0])
            raise InvalidParameter(f"{word} is given twice: leave out one of its values")
        return dict(given)

    def rules(self) -> dict[str, Any]:
        """What is given of the methods, of the metric and of the end of the run."""
        given = {name: getattr(self, name) for name in _RULES}
        return {name: value for name, value in given.items() if value is not None}


def benchmark(workers: Executor, asked: Asked) -> int:
    """Run a benchmark to its table, or list those that ship.

    The exit status is 0 also where a contrast stays open: the table says so.
    """
    changes, rules = asked.changes(), asked.rules()
    if not (
        asked.name or asked.methods or changes or asked.vary
        or asked.data or asked.run_name or asked.grid
    ):  # fmt: skip
        others = (asked.client, asked.target, asked.output, asked.curves, asked.grid_size)
        if rules or asked.exports or any(value is not None for value in others):
            raise InvalidParameter(
                "nothing says what to compare on: name a benchmark that ships, --data FILE, or a "
                "parameter such as --clients 40"
            )
        _list(asked.as_json)
        return exits.EXPECTED
    _refuse_flags(asked)
    _refuse_twice(asked, changes)
    wanted = _find(asked, changes)
    if asked.methods is not None:
        trust.remember(parse_methods(asked.methods))
    else:
        trust.refuse_foreign(parse_methods(wanted.methods), Path(asked.run_name or "."))
    if asked.grid:
        size = _GRID_SIZE if asked.grid_size is None else asked.grid_size
        diagram = _grid(wanted, asked.grid, size, rules)
        interruptible()
        with _open(asked, wanted) as store, _stoppable(store, asked):
            _phase(store, diagram, workers, asked.as_json)
        return exits.EXPECTED
    if asked.metric is not None:
        wanted = replace(wanted, question=wanted.question.replace(
            _asks(wanted.metric), _asks(asked.metric)
        ))  # fmt: skip
    wanted = replace(wanted, **rules).checked()
    _check(asked, wanted)
    interruptible()
    with _open(asked, wanted) as store, _stoppable(store, asked):
        wanted = _under_own_name(store, wanted)
        result = _run(store, wanted, workers, asked.as_json)
        drawn_too = [] if asked.curves is None else _curves(store, wanted, asked.curves)
        document = pages.document(result, drawn_too)
        store.put_document("benchmark", wanted.name, document)
        _summarise(store, workers)
        for path in asked.exports:
            pages.write(result, Path(path))
        if asked.as_json:
            print_json({**document, "run": str(store.path.parent)})
        else:
            _print(result, store, asked.exports)
    return exits.EXPECTED


def _refuse_flags(asked: Asked) -> None:
    """Refuse what cannot be used, and what would be passed over in silence."""
    if asked.output is not None:
        if not asked.output or not asked.output.isprintable():
            raise InvalidParameter(
                f"--output {asked.output!r:.80} must name a directory, in printable characters only"
            )
        if asked.run_name is not None:
            raise InvalidParameter("--run adds to a stored run: leave out --output")
    if asked.data in (None, *tables.SHIPPED):
        given = "is not given" if asked.data is None else f"{asked.data} is not"
        for flag, column in (("--client", asked.client), ("--target", asked.target)):
            if column is not None:
                raise InvalidParameter(f"{flag} names a column of --data FILE, which {given}")
    elif asked.data not in tables.SHIPPED:
        for name in ("clients", "samples", "features", "separation", "noise"):
            if getattr(asked, name) is not None:
                raise InvalidParameter(
                    f"--{name} is about drawn rows: leave it out with --data {asked.data}"
                )
    if asked.data is not None and asked.name in NAMED:
        raise InvalidParameter(
            f"benchmark {asked.name} has a federation of its own: leave out --data, or take "
            "another name for the rows"
        )
    if asked.grid_size is not None and not asked.grid:
        raise InvalidParameter("--grid-size is about --grid A=LOW..HIGH B=LOW..HIGH, not given")
    if asked.grid:
        flags = {
            "--vary": asked.vary,
            "--metric": asked.metric,
            "--width": asked.width,
            "--cpu-seconds": asked.cpu_seconds,
            "--curves": asked.curves,
            "--export": asked.exports or None,
        }
        for flag, value in flags.items():
            if value is not None:
                raise InvalidParameter(
                    f"--grid draws where all clusters are recovered: leave out {flag}"
                )


def _refuse_twice(asked: Asked, changes: Mapping[str, Any]) -> None:
    """Refuse a parameter that has a value and is varied: one of the two would be passed over."""
    varied = {"--vary": [_vary(asked.vary)[0]]} if asked.vary is not None else {}
    if asked.grid:
        varied["--grid"] = [axis(text, 2).name for text in asked.grid]
    for flag, names in varied.items():
        for name in names:
            if name in changes:
                raise InvalidParameter(
                    f"{flag} gives {in_words(name)} its values: leave out {in_words(name)}="
                    f"{changes[name]}"
                )


def _find(asked: Asked, changes: Mapping[str, Any]) -> Benchmark:
    """The benchmark of a run, one of the user's own, or one that ships, with changes."""
    if asked.run_name is not None and asked.data is None:
        known = _find_stored(asked.run_name, asked.name)
        if known is not None:
            return _change(known, changes, asked.vary)
        if asked.name is None and not (changes or asked.methods or asked.vary or asked.grid):
            raise InvalidParameter(
                f"{asked.run_name} holds no benchmark to continue: name one to add"
            )
    if asked.data is not None or asked.name is None:
        return _declare(asked, changes)
    return _change(named(asked.name), changes, asked.vary)


def _check(asked: Asked, wanted: Benchmark) -> None:
    """Refuse what would fail after the run has begun."""
    if asked.curves is not None:
        integer_between("--curves", asked.curves, 1, 100)
    for path in map(Path, asked.exports):
        if path.suffix.lower() not in (".csv", ".tex", ".parquet"):
            raise InvalidParameter(f"--export {str(path)!r:.80} must end in .csv, .parquet or .tex")
        made = asked.output is not None and path.parent == Path(asked.output)
        if path.is_dir() or not (path.parent.is_dir() or made):
            raise InvalidParameter(f"--export {str(path)!r:.80} must be a file in a folder here")
        if path.suffix.lower() == ".parquet":
            pages.require_parquet(path)
    for method in parse_methods(wanted.methods):
        if method.own:
            check_own(method, wanted.federations[0], wanted.limit, wanted.metric)


# -- what is asked for -----------------------------------------------------------------------------


def _setting(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InvalidParameter(f"--set {text!r:.80} must read NAME=VALUE")
    found = _value(value.strip())
    return parameter_of(key.strip(), [found]), found


def _value(text: str) -> Any:
    if text.startswith("[") and text.endswith("]"):
        return [_value(part.strip()) for part in text[1:-1].split(",") if part.strip()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _vary(vary: str | None) -> tuple[str, list[Any]]:
    if vary is None:
        return "", []
    key, equals, values = vary.partition("=")
    found = [_value(v.strip()) for v in values.split(",") if v.strip()]
    if not equals or not found:
        raise InvalidParameter(f"--vary {vary!r:.80} must read NAME=VALUE,VALUE,...")
    if twice := [value for value in found if found.count(value) > 1]:
        raise InvalidParameter(f"--vary {vary!r:.80} names {twice[0]} twice")
    return parameter_of(key.strip(), found), found


def _declare(asked: Asked, changes: Mapping[str, Any]) -> Benchmark:
    """A benchmark of the user's own federation."""
    if asked.name is not None and not is_name(asked.name):
        raise InvalidParameter(
            f"benchmark {asked.name!r:.80} must be named by letters, digits, '.', '_', '+' or '-'"
        )
    key, values = _vary(asked.vary)
    base, data = dict(changes), asked.data
    if data is not None:
        columns = {"data": data, "client": asked.client, "target": asked.target}
        base |= {k: v for k, v in columns.items() if v is not None}
    federations = tuple({**base, key: v} for v in values) or (base,)
    what = f"on {Path(data).name}" if data is not None else "here"
    decides = "held-out" if data is not None else "error"
    stem = re.sub(r"[^\w.+-]+", "-", Path(data).stem).lstrip("-.+")[:80] if data else ""
    return Benchmark(
        name=asked.name or stem or "own",
        question=f"{_asks(decides)} {what}?",
        methods=_DEFAULT_METHODS,
        federations=federations,
        vary=key,
        metric=decides,
    )


def _asks(name: str) -> str:
    """The question of a benchmark of the user's own, as far as the metric goes."""
    best = "smallest" if metric(name).scale == "ratio" else "largest"
    return f"Which method has the {best} {'held-out loss' if name == 'held-out' else name}"


def _change(shipped: Benchmark, given: Mapping[str, Any], vary: str | None) -> Benchmark:
    """A benchmark that ships, with some of its parameters changed."""
    key, values = _vary(vary)
    if key:
        base = {k: v for k, v in shipped.federations[0].items() if k != shipped.vary}
        federations = tuple({**base, **given, key: v} for v in values)
        return replace(shipped, vary=key, federations=federations)
    if shipped.vary in given:
        only = ({**shipped.federations[0], **given},)
        return replace(shipped, vary="", federations=only)
    return replace(shipped, federations=tuple({**f, **given} for f in shipped.federations))


def _find_stored(run_name: str, name: str | None) -> Benchmark | None:
    """The benchmark of that name that a run holds, or its only one.  None where it holds none."""
    with RunStore.open(find_run(run_name) / STORE_NAME, readonly=True) as store:
        documents = declared_benchmarks(store)
    if name is None and len(documents) > 1:
        raise InvalidParameter(f"{run_name} holds the benchmarks {', '.join(documents)}: name one")
    found = documents.get(name) if name is not None else next(iter(documents.values()), None)
    if found is None:
        return None
    stored = Benchmark.from_document(found)
    return replace(stored, federations=tuple(map(without_derived, stored.federations)))


# -- the run ---------------------------------------------------------------------------------------


def _open(asked: Asked, wanted: Benchmark) -> RunStore:
    """The run to add to, or a new one."""
    if asked.run_name is not None:
        store = RunStore.open(find_run(asked.run_name) / STORE_NAME)
        if asked.seed not in (0, store.root_seed):
            stored = store.root_seed
            store.close()
            raise InvalidParameter(
                f"{asked.run_name} has the seed {stored}: leave out --seed {asked.seed}"
            )
        return store
    seed = asked.seed
    if asked.output is not None:
        directory = Path(asked.output)
    else:
        directory = make_run_directory(f"benchmark-{wanted.name}-{seed}")
    if size_of(directory / STORE_NAME):
        raise StoreError(
            f"{directory} already holds a run; the same command with --run "
            f"{shlex.quote(str(directory))} in place of --output adds to it"
        )
    store = session.create(directory, RunConfig(seed=seed, level=wanted.level))
    store.put_document("run", "plan", {"claims": []})
    store.put_document("run", "kind", {"benchmark": wanted.name})
    return store


def _under_own_name(store: RunStore, wanted: Benchmark) -> Benchmark:
    """The benchmark under a name that no other one of the run has, such as ``rows-2``.

    It is the same one where it has all federations of the stored one: then its table replaces the
    stored table.
    """
    stored = {
        name: Benchmark.from_document(found) for name, found in declared_benchmarks(store).items()
    }
    return replace(
        wanted,
        name=next(
            n for n in numbered(wanted.name)
            if n not in stored or all(f in wanted.federations for f in stored[n].federations)
        ),
    )  # fmt: skip


def _run(store: RunStore, wanted: Benchmark, executor: Executor, as_json: bool) -> Result:
    to = screen.errors

    def told(trials: int, still_open: int, total: int, spent: float) -> None:
        if not as_json:
            say(
                f"{trials} trials: {total - still_open} of {total} contrasts decided or narrow, "
                f"{spent:.3g} CPU seconds",
                to=to,
            )

    store.put_document("benchmark", wanted.name, {"benchmark": wanted.document()})
    return run(store, wanted, executor, told)


def _stoppable(store: RunStore, asked: Asked) -> AbstractContextManager[None]:
    """Work on a run that names the command by which it goes on when it is stopped."""
    instead = " in place of --output" if asked.output is not None else ""
    name = shlex.quote(str(store.path.parent))
    return stoppable(
        f"finished blocks are kept; the same command with --run {name}{instead} continues"
    )


def _curves(store: RunStore, wanted: Benchmark, n_trials: int) -> list[Figure]:
    """The loss over the rounds, where some method has rounds."""
    found = curve_figure(wanted, store.root_seed, n_trials)
    return [] if found is None else [found]


def _grid(wanted: Benchmark, axes: tuple[str, str], size: int, rules: Mapping[str, Any]) -> Grid:
    """The declaration of a phase diagram around the benchmark's federation."""
    across, up = (axis(text, integer_between("--grid-size", size, 2, 200)) for text in axes)
    if across.name == up.name:
        raise InvalidParameter(f"--grid needs two parameters, and both are {in_words(up.name)}")
    if wanted.vary not in ("", across.name, up.name) and len(wanted.federations) > 1:
        values = ", ".join(str(f[wanted.vary]) for f in wanted.federations)
        raise InvalidParameter(
            f"--grid needs one federation, and {wanted.name} has {in_words(wanted.vary)} = "
            f"{values}: give one of them, or an axis"
        )
    fixed = {k: v for k, v in wanted.federations[0].items() if k not in (across.name, up.name)}
    if "data" in fixed:
        raise InvalidParameter("--grid needs a drawn federation: its clusters must be known")
    grid = Grid(
        methods=str(rules.get("methods", wanted.methods)),
        fixed=fixed,
        across=across,
        up=up,
        level=check_level(float(rules.get("level", wanted.level))),
        max_trials=integer_between("--trials", rules.get("max_trials", 32), 1, 10**7),
        limit=float(rules.get("limit", wanted.limit)),
    )
    for method in parse_methods(grid.methods):
        for i in (0, len(across.values) - 1):
            for j in (0, len(up.values) - 1):
                grid.cell(method.text, (i, j))
        if method.own:
            check_own(method, grid.federation((0, 0)), grid.limit, "recovered")
    return grid


def _summarise(store: RunStore, executor: Executor) -> None:
    """Store the command and the executor of the run for its report."""
    command = shlex.join(["cfl-verify", *sys.argv[1:]])
    session.summarise_benchmarks(store, executor.kind, command)


def _diagram_name(store: RunStore, grid: Grid, federation: Any) -> str:
    """The name of a diagram, such as ``n-separation-2`` beside one of another federation."""
    stored = store.documents("phase")
    return next(
        name for name in numbered(f"{grid.across.name}-{grid.up.name}")
        if name not in stored or stored[name].get("federation") in (None, federation)
    )  # fmt: skip


def _phase(store: RunStore, grid: Grid, executor: Executor, as_json: bool) -> None:
    """Draw the diagrams of all methods."""
    found = diagrams(store, grid, executor)
    document = diagram_document(grid, found)
    store.put_document("phase", _diagram_name(store, grid, document["federation"]), document)
    _summarise(store, executor)
    if as_json:
        print_json({**document, "run": str(store.path.parent)})
        return
    for diagram in found:
        for line in drawn(diagram):
            say(line)
        cells = len(grid.across.values) * len(grid.up.values)
        say(f"{diagram.tried} of {cells} cells tried, {sum(map(sum, diagram.trials))} trials")
        for name, places in diagram.theory.items():
            say(f"{name}: {sum(map(sum, places))} cells")
        say()
    paragraph(
        "# more than half of the trials recover all clusters, . fewer, ? not decided by "
        f"{grid.max_trials} trials (--trials); + and - are inferred from the corners around them. "
        f"The limits of all tried cells hold together with probability {1 - grid.level:g}."
    )
    say(f"run directory: {store.path.parent}")


# -- the output ------------------------------------------------------------------------------------


def _print(result: Result, store: RunStore, exports: Sequence[str]) -> None:
    wanted, directory = result.benchmark, store.path.parent
    say(wanted.question)
    headings, cut = pages.headings(result), []
    for found in result.federations:
        say()
        if wanted.vary:
            say(place(wanted.vary, found.params))
        rows = pages.rows(result, found)
        for line in table(headings, rows):
            say(line)
        cut.append(left_out(headings, rows))
    say()
    if names := max(cut, key=len):
        paragraph(
            f"Columns without room here: {', '.join(names)}. The report, --json and --export have "
            "them."
        )
    paragraph(pages.answer(result))
    for note in pages.notes(result):
        paragraph(note)
    say(f"run directory: {directory}")
    for path in exports:
        say(f"written: {path}")
    name = f" {shlex.quote(wanted.name)}" if len(declared_benchmarks(store)) > 1 else ""
    again = f"{exits.program()} benchmark{name} --run {shlex.quote(str(directory))}"
    say(f"more trials: {again} --trials N --cpu-seconds S")


def _list(as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "benchmarks": {b.name: {**b.document()} for b in NAMED.values()},
                "methods": {name: entry.title for name, entry in SHIPPED.items()},
            }
        )
        return
    for each in NAMED.values():
        for line in definition(each.name, each.question):
            say(line)
    say()
    for name, entry in SHIPPED.items():
        for line in definition(name, entry.title):
            say(line)
    say()
    paragraph(
        "`cfl-verify benchmark NAME` runs one; `cfl-verify benchmark --methods A,B --clients 100 "
        "--samples 50` one of your own; FILE.py:NAME is a method of your own."
    )
