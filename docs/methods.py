"""Writes `docs/methods.md` and its drawings: every estimator on the same federation.

python docs/methods.py
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from reports import figures
from reports.schema import Figure
from trials.run.executors import make_executor
from trials.run.store import RunStore
from verify.benchmark import pages
from verify.benchmark.catalogue import SHIPPED
from verify.benchmark.curves import curve_figure
from verify.benchmark.design import Benchmark
from verify.benchmark.running import FederationResult, run

HOME = Path(__file__).parent
SEED, TRIALS, CURVES = 0, 24, 8
FEDERATION = {"m": 40, "n": 48, "d": 5, "k": 4, "separation": 1.0, "sigma": 0.5}
#: One covariance a cluster, by which alone PACFL can tell the clusters apart.
COVARIANCES = {**FEDERATION, "condition": 100.0}
#: Name of the page's section and of its drawing -> heading, methods, federation.
FAMILIES = {
    "baselines": ("Baselines", "local, global, fedavg, oracle-average", FEDERATION),
    "ifca": ("IFCA", "ifca, ifca-10", FEDERATION),
    "one-shot": (
        "One-shot clustering",
        "odcl-km, odcl-km-10, odcl-spectral, odcl-cc, odcl-sparse, odcl-gradient, odcl-ifca",
        FEDERATION,
    ),
    "mixed-regression": (
        "Federated regression and the global round",
        "fedx, global-round",
        # many clients, of which a few have many rows: the anchors of Phase 1
        {
            **FEDERATION,
            "m": 5000,
            "n": 20,
            "separation": 2.0,
            "sigma": 0.1,
            "sizes": "zipf",
            "size_spread": 0.6,
        },
    ),
    "cfl": ("CFL", "cfl", FEDERATION),
    "fesem": ("FeSEM", "fesem", FEDERATION),
    "k-fed": ("k-FED", "k-fed", FEDERATION),
    "mixture": ("Alternating minimisation and EM", "am, em", FEDERATION),
    "pacfl": ("PACFL", "pacfl", COVARIANCES),
}
HEAD = f"""\
# Every estimator on the same federation

Each section fits a family of estimators and the cluster oracle to the same data, in {TRIALS}
trials: 40 clients with 48 rows in 4 clusters, 5 features, separation 1 and noise .5, unless its
command says otherwise. *Times the oracle's error* is a median with simultaneous limits. A curve is
the median training loss over the oracle's of {CURVES} trials. Its band reaches from the least to
the largest trial. Methods of one round have no curve. `python docs/methods.py` writes this page.

"""
_FLAGS = {
    "m": "--clients", "n": "--samples", "d": "--features", "k": "--clusters",
    "separation": "--separation", "sigma": "--noise",
}  # fmt: skip


def command(methods: str, federation: dict[str, Any]) -> str:
    """The command that repeats a section."""
    given = " ".join(
        f"{_FLAGS[name]} {value}" if name in _FLAGS else f"--set {name}={value}"
        for name, value in federation.items()
    )
    names = ("oracle, " + methods).replace(" ", "")
    return f"cfl-verify benchmark --methods {names} {given} --trials {TRIALS} --curves {CURVES}"


def table(found: FederationResult) -> list[str]:
    """A line a method."""
    lines = [
        "| method | what it is | times the oracle's error | all clusters found | floats |",
        "| --- | --- | --- | --- | --- |",
    ]
    against = {
        frozenset((c.first, c.second)): (c.first == "oracle", c.estimate) for c in found.contrasts
    }
    for row in found.methods:
        if row.method == "oracle":
            continue
        flipped, e = against[frozenset((row.method, "oracle"))]
        ends = (e.value, e.lower, e.upper)
        if flipped:
            ends = tuple(pages._inverse(x) for x in (e.value, e.upper, e.lower))
        middle, low, high = (pages.number(x) for x in ends)
        up, down = row.means["floats-up"], row.means["floats-down"]
        sent = None if up is None or down is None else up + down
        lines.append(
            f"| `{row.method}` | {SHIPPED[row.method].title} | {middle} [{low}, {high}] | "
            f"{pages.number(row.means['recovered'])} | {pages.number(sent)} |"
        )
    return lines


def section(name: str) -> list[str]:
    """One family: heading, table, command and curves."""
    heading, methods, federation = FAMILIES[name]
    wanted = Benchmark(
        name=name,
        question=heading,
        methods=f"oracle, {methods}",
        federations=(federation,),
        max_trials=TRIALS,
        cpu_seconds=1e6,
    ).checked()
    with (
        tempfile.TemporaryDirectory() as folder,
        RunStore.create(Path(folder) / "run", root_seed=SEED, config={}) as store,
        make_executor("serial") as executor,
    ):
        result = run(store, wanted, executor)
    estimators = dict.fromkeys(SHIPPED[m].estimator for m in methods.split(", "))
    lines = [f"## {heading}", "", ", ".join(f"`{e}`" for e in estimators) + ".", ""]
    lines += [*table(result.federations[0]), "", "```sh", command(methods, federation), "```", ""]
    data = curve_figure(wanted, SEED, CURVES)
    if data is not None:
        drawn = figures.render(msgspec.convert(asdict(data), Figure), form="svg").decode()
        drawn = re.sub(r"-?\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", drawn)
        (HOME / "methods" / f"{name}.svg").write_text(re.sub(r">\s+<", "><", drawn))
        lines += [f"![{data.title}: {heading}](methods/{name}.svg)", ""]
    return lines


def main() -> None:
    """Write the page and the drawings."""
    (HOME / "methods").mkdir(exist_ok=True)
    lines = [line for name in FAMILIES for line in section(name)]
    (HOME / "methods.md").write_text(HEAD + "\n".join(lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
