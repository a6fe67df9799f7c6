"""The experiment ``benchmark.fit``: one method on one federation, a trial a row.

The engine stores, resumes, extends and replays its blocks like those of any claim.  A cell holds
the federation, the method and the time limit of a fit.  **The data of a trial depend on the
federation alone**: their stream has the root seed, the number of the federation and the block, and
not the method.  So every method sees the same data in the same trial, a method that is added later
is compared with stored fits of the others, and a trial replays by its id.

A fit that raises, diverges or takes too long is a row of NaN with the reason in ``failed``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from trials.checks import FloatArray, InvalidParameter, real_between
from trials.run.cell import Params, canonical_json, cell_number
from trials.run.experiment import Experiment, register, user_design
from trials.run.streams import block_stream
from verify.benchmark import tables
from verify.benchmark.blocks import Block, Draw, LastBlocks
from verify.benchmark.federation import FEDERATION, Federation, draw, worded
from verify.benchmark.fitting import RAISED, TOO_LONG, Fitted, failure, fit, measure
from verify.benchmark.isolated import FitFailed, TooLong, fit_isolated
from verify.benchmark.methods import Method, parse_method
from verify.benchmark.metrics import METRICS
from verify.benchmark.warming import warm_up

#: The first word of the streams of all data.  No experiment has it.
DATA_DESIGN = user_design("benchmark.data")
BLOCK = 4
#: Parameters of a fit; all others belong to the federation.
OF_THE_FIT = ("method", "own", "limit")
#: Told to the methods only: federations that differ in it have the same data.
NOT_DRAWN = ("k_told",)


def check(params: Params) -> dict[str, Any]:
    """The complete cell: federation, method and time limit, in their one spelling."""
    given = dict(params)
    method = parse_method(str(given.pop("method", "")))
    limit = real_between("time-limit", given.pop("limit", 60.0), 0.0, 1e6, open_low=True)
    own = str(given.pop("own", "") or method.digest())
    return {**federation_of(given), "method": method.text, "own": own, "limit": limit}


def federation_of(params: Params) -> dict[str, Any]:
    """The complete federation of a cell: drawn (`federation`), or of a table (`tables`)."""
    rest = {name: value for name, value in params.items() if name not in OF_THE_FIT}
    try:
        return tables.check(rest) if "data" in rest else FEDERATION.check(rest)
    except InvalidParameter as error:
        raise InvalidParameter(worded(str(error))) from None


def make(cell: Params, rng: np.random.Generator) -> Federation:
    """Draw a federation, or split the rows of a table."""
    return tables.split(cell, rng) if "data" in cell else draw(cell, rng)


def federations(cell: Params, root: int, block: int, n: int) -> list[np.random.Generator]:
    """The streams of the data of a block's trials, whatever the method."""
    drawn = {name: value for name, value in cell.items() if name not in NOT_DRAWN}
    if not tables.draws_clusters(cell):
        del drawn["k"]  # the methods are told it, and the rows know nothing of it
    return block_stream(root, DATA_DESIGN, cell_number(drawn), block).spawn(n)


_last = LastBlocks()


def _block(cell: Params, root: int, block: int, n: int) -> Block:
    """The federations of a block, from those that were used last."""

    def draws() -> list[Draw]:
        return [partial(make, cell, stream) for stream in federations(cell, root, block, n)]

    return _last.get((canonical_json(cell), root, block, n), draws)


def simulate(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    """(n_trials, metrics).  ``rng`` names the run and the block, and seeds the method."""
    key: Any = rng.bit_generator.seed_seq  # type: ignore[attr-defined]
    cell = federation_of(params)
    method = parse_method(params["method"])
    if method.own and method.digest() != params["own"]:
        raise InvalidParameter(f"{method.file} has changed since this run was made")
    rows = []
    block = _block(cell, int(key.entropy), int(key.spawn_key[-1]), n_trials)
    warm_up(method, block.trial(0))
    for trial in range(n_trials):
        seed = int(rng.integers(2**31))
        values, _ = one_fit(method, block.trial(trial), seed, params["limit"])
        rows.append([values[name] for name in METRICS])
    return np.array(rows)


def one_fit(
    method: Method, federation: Federation, seed: int, limit: float
) -> tuple[Mapping[str, float], str]:
    """The metrics of one fit, and in words why it failed, empty where it did not.

    A fit that raises has the CPU seconds that it used until then.
    """
    start = time.thread_time()
    try:
        found = fitted(method, federation, seed, limit)
    except (MemoryError, OSError):
        raise
    except TooLong as error:
        return failure(TOO_LONG, limit), str(error)
    except FitFailed as error:
        return failure(RAISED, error.seconds), str(error)
    except Exception as error:
        return failure(RAISED, time.thread_time() - start), f"{type(error).__name__}: {error}"
    values = measure(found, federation, limit)
    why = {0.0: "", 2.0: "a value is not finite", 3.0: f"took longer than {limit:g} s"}
    return values, why[values["failed"]]


def fitted(method: Method, federation: Federation, seed: int, limit: float) -> Fitted:
    """One fit, one's own method in a process of its own.  Whatever it raises comes through."""
    candidates = method.candidates()
    if method.own:
        return fit_isolated(method.name, candidates, federation, seed, limit)
    return fit(method.name, candidates, federation, seed)


def trial_of(params: Params, root: int, trial: int) -> tuple[Federation, int]:
    """The federation and the method's seed of one trial of a complete cell."""
    block, row = divmod(trial, BLOCK)
    rng = block_stream(root, FIT.design, cell_number(params), block)
    seeds = [int(rng.integers(2**31)) for _ in range(row + 1)]
    return _block(federation_of(params), root, block, BLOCK).trial(row), seeds[row]


def why_failed(params: Params, root: int, trial: int) -> str:
    """Fit one trial again and tell in words why it failed."""
    federation, seed = trial_of(params, root, trial)
    return one_fit(parse_method(params["method"]), federation, seed, params["limit"])[1]


FIT = register(
    Experiment(
        name="benchmark.fit",
        design=user_design("benchmark.fit"),
        columns=tuple(METRICS),
        simulate=simulate,
        check=check,
        block_size=BLOCK,
        measured=tuple(m.name for m in METRICS.values() if m.measured),
    )
)
