"""Running a benchmark: looks at the trials until every contrast is decided or narrow.

The first look is at a few trials, each later one at half as many more.  A federation whose
contrasts are all decided or narrow gets no more trials.  The limits hold at every look
(`contrasts`), so looking costs nothing.  A look is made smaller where the CPU seconds measured so
far say that it would not fit into what is left of the budget.

Everything is read from the stored blocks.  So the same call starts, continues and extends a
benchmark, and a method that was added later meets the stored fits of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from trials.checks import FloatArray
from trials.run.engine import Demand, OnBlock, ensure
from trials.run.executors import Executor
from trials.run.store import RunStore
from verify.benchmark.catalogue import SHIPPED
from verify.benchmark.contrasts import Contrast, Estimate, groups, ranks
from verify.benchmark.design import Benchmark
from verify.benchmark.fits import BLOCK, FIT, why_failed
from verify.benchmark.guarantees import Guarantee, guarantee
from verify.benchmark.marks import MISSING
from verify.benchmark.methods import parse_method
from verify.benchmark.metrics import METRICS, metric

#: Blocks of the first looks: trials are cheap to look at, and one fit's cost is unknown.
_FIRST_BLOCKS = 1


@dataclass(frozen=True, kw_only=True)
class MethodResult:
    """One method on one federation.

    Attributes
    ----------
    median : of the metric that decides, with simultaneous limits.
    means : metric -> mean over the fits that did not fail, or None where it does not apply.
    best_rank, worst_rank : the ranks that the limits allow.
    oracle : whether it knows the true clusters.
    best : whether it is no oracle, some fit of it ended, and no method that is no oracle is shown
        to beat it.
    guarantee : what the method's theorem says here.
    """

    method: str
    n_trials: int
    n_failed: int
    median: Estimate
    means: Mapping[str, float | None]
    best_rank: int
    worst_rank: int
    oracle: bool
    best: bool
    guarantee: Guarantee
    failure: str = ""


@dataclass(frozen=True, kw_only=True)
class FederationResult:
    """All methods on one federation, the best first."""

    params: Mapping[str, Any]
    n_trials: int
    methods: tuple[MethodResult, ...]
    contrasts: tuple[Contrast, ...]
    groups: tuple[tuple[str, ...], ...]

    @property
    def open(self) -> int:
        """The number of contrasts that are neither decided nor narrow."""
        return sum(c.state == "open" for c in self.contrasts)


@dataclass(frozen=True, kw_only=True)
class Result:
    """A benchmark's table, and why the run stopped."""

    benchmark: Benchmark
    federations: tuple[FederationResult, ...]
    stopped: str
    cpu_seconds: float

    def document(self) -> dict[str, Any]:
        """The result as a JSON document."""
        return {
            "benchmark": self.benchmark.document(),
            "federations": [asdict(f) for f in self.federations],
            "stopped": self.stopped,
            "cpu_seconds": self.cpu_seconds,
        }


OnLook = Callable[[int, int, int, float], None]


def n_stored(store: RunStore, cell: Mapping[str, Any]) -> int:
    """The number of a cell's first blocks that are stored without a gap."""
    stored = store.blocks(FIT, cell)
    return next(b for b in range(len(stored) + 1) if b not in stored)


def _n_paired(store: RunStore, benchmark: Benchmark, federation: Mapping[str, Any]) -> int:
    """The number of first blocks that are stored of all methods."""
    cells = (benchmark.cell(federation, m) for m in benchmark.method_names)
    return min(n_stored(store, cell) for cell in cells)


def paired(
    store: RunStore, benchmark: Benchmark, federation: Mapping[str, Any]
) -> dict[str, Mapping[str, FloatArray]]:
    """Method -> metric -> (n,) values of the trials that all methods have."""
    cells = {m: benchmark.cell(federation, m) for m in benchmark.method_names}
    n_blocks = _n_paired(store, benchmark, federation)
    if n_blocks == 0:
        return {m: {name: np.empty(0) for name in METRICS} for m in cells}
    tables = {m: store.table(FIT, cell, n_blocks) for m, cell in cells.items()}
    return {m: {name: t[name] for name in METRICS} for m, t in tables.items()}


def contrasts_of(
    benchmark: Benchmark, values: Mapping[str, Mapping[str, FloatArray]]
) -> list[Contrast]:
    """Every pair of methods by the metric that decides."""
    decided = {m: applicable(v, benchmark.metric) for m, v in values.items()}
    return benchmark.comparing().contrasts(decided)


def applicable(columns: Mapping[str, FloatArray], name: str) -> FloatArray:
    """A metric's values with NaN where the fit failed or the metric does not apply.

    Both count as infinitely bad.  The CPU seconds of a fit that failed are stored, and are not the
    price of a result.
    """
    values, low = columns[name], metric(name).low
    lost = (columns["failed"] != 0) | (values < min(low, 0.0))
    return np.where(lost, np.nan, values)


def run(
    store: RunStore,
    benchmark: Benchmark,
    executor: Executor,
    on_look: OnLook | None = None,
    on_block: OnBlock | None = None,
) -> Result:
    """Fit until every contrast is decided or narrow, or the trials or CPU seconds are used up.

    ``on_look`` gets trials, open contrasts, all contrasts and CPU seconds after each look.
    """
    last = -(-benchmark.max_trials // BLOCK)
    # what an earlier call has stored is looked at as a whole, and not again from its first trials
    n_blocks = {
        i: max(_FIRST_BLOCKS, min(_n_paired(store, benchmark, federation), last))
        for i, federation in enumerate(benchmark.federations)
    }
    stopped = ""
    while not stopped:
        ensure(store, _demands(benchmark, n_blocks), executor, on_block, blockwise=True)
        spent, still_open, total = 0.0, {}, 0
        for i, federation in enumerate(benchmark.federations):
            values = paired(store, benchmark, federation)
            spent += sum(float(v["cpu"].sum()) for v in values.values())
            found = contrasts_of(benchmark, values)
            total += len(found)
            undecided = sum(c.state == "open" for c in found)
            if undecided:
                still_open[i] = undecided
        if on_look is not None:
            on_look(BLOCK * max(n_blocks.values()), sum(still_open.values()), total, spent)
        growing = [i for i in still_open if n_blocks[i] < last]
        if not still_open:
            stopped = "every contrast is decided or as narrow as asked"
        elif not growing:
            blocks = max(_n_paired(store, benchmark, benchmark.federations[i]) for i in still_open)
            stopped = _used_up(benchmark.max_trials, BLOCK * blocks)
        elif not _grow(store, benchmark, n_blocks, growing, last, benchmark.cpu_seconds - spent):
            stopped = f"the {benchmark.cpu_seconds:g} CPU seconds are used up"
    return result(store, benchmark, stopped)


def _used_up(asked: int, stored: int) -> str:
    """Why a run ends at its trials, in words.

    >>> _used_up(128, 128), _used_up(5, 8)
    ('the 128 trials are used up', 'the 5 trials are used up, in blocks of 4')
    """
    if stored - asked >= BLOCK:
        return f"the run has {stored} trials, more than the {asked} asked for"
    return f"the {asked} trials are used up{f', in blocks of {BLOCK}' if stored != asked else ''}"


def _demands(benchmark: Benchmark, n_blocks: Mapping[int, int]) -> list[Demand]:
    return [
        Demand(FIT, benchmark.cell(federation, m), n_blocks[i])
        for i, federation in enumerate(benchmark.federations)
        for m in benchmark.method_names
    ]


def _grow(
    store: RunStore,
    benchmark: Benchmark,
    n_blocks: dict[int, int],
    growing: Sequence[int],
    last: int,
    left: float,
) -> bool:
    """Enlarge the open federations' trials, in place.  False where the budget holds no block."""
    wanted = {i: min(max(n_blocks[i] + 1, (3 * n_blocks[i] + 1) // 2), last) for i in growing}
    block_cost = {}
    for i in growing:
        values = paired(store, benchmark, benchmark.federations[i])
        block_cost[i] = BLOCK * sum(float(v["cpu"].mean()) for v in values.values())
    cost = sum((wanted[i] - n_blocks[i]) * block_cost[i] for i in growing)
    share = min(1.0, left / cost) if cost > 0 else 1.0
    grown = False
    for i in growing:
        more = int((wanted[i] - n_blocks[i]) * max(share, 0.0))
        n_blocks[i] += more
        grown = grown or more > 0
    return grown


def result(store: RunStore, benchmark: Benchmark, stopped: str) -> Result:
    """The table of the trials that are stored."""
    found, spent = [], 0.0
    for federation in benchmark.federations:
        values = paired(store, benchmark, federation)
        spent += sum(float(v["cpu"].sum()) for v in values.values())
        found.append(_federation(store, benchmark, federation, values))
    return Result(benchmark=benchmark, federations=tuple(found), stopped=stopped, cpu_seconds=spent)


def _federation(
    store: RunStore,
    benchmark: Benchmark,
    federation: Mapping[str, Any],
    values: Mapping[str, Mapping[str, FloatArray]],
) -> FederationResult:
    rule, decided = benchmark.comparing(), metric(benchmark.metric)
    contrasts = contrasts_of(benchmark, values)
    placed = ranks(list(values), contrasts)
    oracles = {m for m in values if is_oracle(m)}
    beaten = {
        loser
        for c in contrasts
        if c.better is not None and c.better not in oracles
        for loser in {c.first, c.second} - {c.better}
    }
    rows = []
    for m, columns in values.items():
        failed = np.flatnonzero(columns["failed"] != 0)
        primary = applicable(columns, benchmark.metric)
        rows.append(
            MethodResult(
                method=m,
                n_trials=int(primary.size),
                n_failed=int(failed.size),
                median=rule.estimate(primary if decided.scale == "ratio" else -primary),
                means={name: _mean(columns[name], columns["failed"]) for name in METRICS},
                best_rank=placed[m][0],
                worst_rank=placed[m][1],
                oracle=m in oracles,
                best=m not in oracles | beaten and failed.size < primary.size,
                guarantee=guarantee(parse_method(m), federation),
                failure=_why(store, benchmark, federation, m, failed),
            )
        )
    if decided.scale == "difference":
        rows = [_mirrored(row) for row in rows]
    sign = 1.0 if decided.scale == "ratio" else -1.0
    rows.sort(key=lambda r: (r.best_rank, r.worst_rank, sign * r.median.value, r.method))
    order = [r.method for r in rows]
    return FederationResult(
        params=dict(federation),
        n_trials=min(r.n_trials for r in rows),
        methods=tuple(rows),
        contrasts=tuple(contrasts),
        groups=tuple(groups(order, contrasts)),
    )


def is_oracle(text: str) -> bool:
    """Whether a method knows the true clusters."""
    method = parse_method(text)
    return not method.own and SHIPPED[method.name].oracle


def _mirrored(row: MethodResult) -> MethodResult:
    """The row with the median of scores, of which larger ones are better."""
    m = row.median
    flipped = Estimate(value=-m.value, lower=-m.upper, upper=-m.lower)
    return MethodResult(**{**row.__dict__, "median": flipped})


def _mean(values: FloatArray, failed: FloatArray) -> float | None:
    """The mean over the fits that did not fail and to which the metric applies."""
    good = values[(failed == 0) & np.isfinite(values) & (values != MISSING)]
    return float(good.mean()) if good.size else None


def _why(
    store: RunStore,
    benchmark: Benchmark,
    federation: Mapping[str, Any],
    method: str,
    failed: np.ndarray[Any, Any],
) -> str:
    """The first failure in words: the trial is fitted again."""
    if not failed.size:
        return ""
    cell = benchmark.cell(federation, method)
    return why_failed(cell, store.root_seed, int(failed[0]))
