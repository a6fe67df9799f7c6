"""IFCA's Tables I and II with neural networks: rotated images, and writers with shared layers.

Drawn glyphs and textures stand for MNIST, CIFAR-10 and FEMNIST (`docs/networks.md`).  PyTorch does
the training (``pip install 'cfl-verify[networks]'``):

    python docs/networks.py --data glyphs --m 1200 --rounds 30 --seeds 5 --figure identities.svg
    cfl-verify run --claims docs/networks.py 'networks.*'

The sets of the paper are read by path: ``CFL_MNIST``, ``CFL_CIFAR10`` and ``CFL_FEMNIST`` name
their folders.

    CFL_MNIST=~/mnist python docs/networks.py --data mnist --m 4800
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

import numpy as np

from bounds.ifca.symbols import JOURNAL
from bounds.statement import Contrast, Statement
from trials.checks import InvalidParameter
from trials.networks.architectures import convolutional_network, dense_network
from trials.networks.drawn import glyphs, textures
from trials.networks.federations import by_writer, rotated
from trials.networks.femnist import read_femnist
from trials.networks.images import read_cifar10, read_mnist
from trials.networks.training import Options, local_accuracies, served, train
from trials.parameters import Integer, Parameters
from trials.parameters import Options as Choice
from trials.run.experiment import Experiment, register, user_design
from verify.claim import claim
from verify.decisions.means import SHARE
from verify.evidence import EvidenceTable, Verdict
from verify.papers import Paper
from verify.procedures.base import Presentation, Sampling
from verify.procedures.comparison import Comparison

METHODS = ("ifca", "global", "local", "oracle")
#: Data set -> clusters, and the environment variable of its folder.
SETS = {"glyphs": (4, None), "textures": (2, None), "mnist": (4, "CFL_MNIST"),
        "cifar10": (2, "CFL_CIFAR10")}  # fmt: skip
#: Table I: accuracy in per cent and its deviation over five seeds, by (m, n).
PRINTED = {
    (4800, 50): {"ifca": (94.20, 0.03), "global": (86.74, 0.04), "local": (63.32, 0.02)},
    (2400, 100): {"ifca": (95.05, 0.02), "global": (88.65, 0.08), "local": (73.66, 0.04)},
    (1200, 200): {"ifca": (95.25, 0.40), "global": (89.73, 0.13), "local": (80.05, 0.02)},
    (200, 500): {"ifca": (81.51, 1.37), "global": (77.87, 0.39), "local": (33.97, 1.19)},
}
#: Table II.
FEMNIST = {"ifca2": (87.99, 0.35), "ifca3": (87.89, 0.52), "global": (84.45, 0.51),
           "local": (75.85, 0.72)}  # fmt: skip
TEST_IMAGES = 2000
LOCAL_CLIENTS = 8


def folder(variable):
    """The folder that an environment variable names."""
    if not os.environ.get(variable):
        raise InvalidParameter(f"the environment variable {variable} must name the set's folder")
    return os.path.expanduser(os.environ[variable])


@lru_cache(maxsize=1)
def files(data):
    """The sets of a folder, and whether they are the published files."""
    sets = {"mnist": read_mnist, "cifar10": read_cifar10}[data](folder(SETS[data][1]))
    shape = (-1, 1, 28, 28) if data == "mnist" else (-1, 3, 32, 32)
    return [(each.pixels.reshape(shape), each.labels) for each in (sets.train, sets.test)] + [
        sets.original
    ]


def federations(cell, rng):
    """Training and test clients, and whether the images are the paper's."""
    k, m, n = SETS[cell["data"]][0], cell["m"], cell["n"]
    if cell["data"] in ("mnist", "cifar10"):
        (pixels, labels), (others, other_labels), original = files(cell["data"])
    else:
        draw = glyphs if cell["data"] == "glyphs" else textures
        one, two = draw(n=m // k * n, rng=rng), draw(n=TEST_IMAGES, rng=rng)
        (pixels, labels), (others, other_labels) = (
            (one.pixels, one.labels),
            (two.pixels, two.labels),
        )
        original = False
    m_test = len(others) // n * k
    return (
        rotated(pixels=pixels, labels=labels, k=k, m=m, n=n, rng=rng),
        rotated(pixels=others, labels=other_labels, k=k, m=m_test, n=n, rng=rng),
        original,
    )


def settings(cell, k):
    """The paper's network and options for a set, with k models."""
    if cell["data"] in ("glyphs", "mnist"):
        return dense_network(), Options(k=k, rounds=cell["rounds"], step_size=0.1, local_steps=10)
    small = cell["data"] == "textures"
    network = convolutional_network(**({"first": 16, "second": 32, "hidden": 64} if small else {}))
    return network, Options(
        k=k, rounds=cell["rounds"], step_size=0.1, step_decay=0.99, local_steps=5, batch_size=50,
        participants=max(cell["m"] // 10, 1), crop=2 if small else 4, flip=not small,
    )  # fmt: skip


def worst_decile(found):
    """The mean accuracy of the tenth of the test clients that are served worst."""
    return float(np.sort(found)[: max(len(found) // 10, 1)].mean())


def one(cell, rng, tell=lambda *_: None):
    """One seed of Table I: the row of all methods.  ``tell`` gets a method and its state."""
    k = SETS[cell["data"]][0]
    clients, test, original = federations(cell, rng)
    seed = int(rng.integers(2**31))
    row = {}
    for method, models, known in (
        ("ifca", k, None),
        ("global", 1, np.zeros(clients.m, dtype=np.int64)),
        ("oracle", k, clients.clusters),
    ):
        network, options = settings(cell, models)
        state = train(network=network, federation=clients, options=options, seed=seed,
                      known_labels=known)  # fmt: skip
        found = served(network, state.models, test, options)
        row |= {method: found.mean(), f"{method}_worst": worst_decile(found)}
        row |= {f"{method}_floats": float(sum(state.floats))}
        if method == "ifca":
            row |= {"identities": state.identities[-1]}
        tell(method, state, row)
    network, options = settings(cell, 1)
    asked = np.linspace(0, clients.m - 1, min(LOCAL_CLIENTS, clients.m)).astype(np.int64)
    row["local"] = local_accuracies(network, clients, test, asked, options, seed).mean()
    tell("local", None, row)
    return [row[name] for name in COLUMNS[:-2]] + [0.95, float(original)]


COLUMNS = (
    *METHODS, "identities", "ifca_worst", "global_worst", "oracle_worst", "ifca_floats",
    "global_floats", "most", "original",
)  # fmt: skip


def possible(cell):
    """PyTorch is there, and the set where it is read by path."""
    settings(cell, 1)
    if SETS[cell["data"]][1]:
        files(cell["data"])
    if cell["m"] % SETS[cell["data"]][0]:
        raise InvalidParameter(f"m={cell['m']} must be a multiple of {SETS[cell['data']][0]}")


ROTATED = register(
    Experiment(
        name="networks.rotated",
        design=user_design("networks.rotated"),
        columns=COLUMNS,
        simulate=lambda cell, rng, n_trials: np.array([one(cell, rng) for _ in range(n_trials)]),
        parameters=Parameters(
            {
                "data": Choice(tuple(SETS), default="glyphs", meaning="data set"),
                "m": Integer(2, 10_000, default=80, meaning="clients"),
                "n": Integer(1, 10_000, default=50, meaning="images of a client"),
                "rounds": Integer(0, 10_000, default=60, meaning="rounds"),
            },
            (possible,),
        ),
        block_size=1,
        cost=lambda cell: 1e-4 * cell["m"] * cell["n"] * cell["rounds"] / 1.5,
    )
)


# --- Table II -----------------------------------------------------------------------------------


def writers(cell, rng):
    """Writers of drawn glyphs, 62 classes, or of FEMNIST's files."""
    n, n_test = cell["n"], max(cell["n"] // 5, 1)
    if cell["data"] == "femnist":
        found = read_femnist(folder("CFL_FEMNIST"))
        pixels = (found.pixels * 255 + 0.5).astype(np.uint8).reshape(-1, 1, 28, 28)
        owner = np.repeat(np.arange(len(found.names)), np.diff(found.offsets))
        labels = found.labels
    else:
        drawn = glyphs(n=cell["m"] * (n + n_test), classes=62, writers=cell["m"], rng=rng)
        pixels, labels, owner = drawn.pixels, drawn.labels, drawn.writers
    return by_writer(pixels=pixels, labels=labels, writers=owner, n=n, n_test=n_test, rng=rng)


def one_of_writers(cell, rng):
    """One seed of Table II: a writer is served by the model of its training loss."""
    clients, test = writers(cell, rng)
    seed = int(rng.integers(2**31))
    network = convolutional_network(channels=1, side=28, classes=62, first=8, second=16, hidden=64)
    options = Options(k=1, rounds=cell["rounds"], batch_size=cell["n"], local_steps=5)
    row = []
    for k in (2, 3, 1):
        own = replace(options, k=k, shared=network.all_but_last if k > 1 else ())
        known = np.zeros(clients.m, dtype=np.int64) if k == 1 else None
        state = train(network=network, federation=clients, options=own, seed=seed,
                      known_labels=known)  # fmt: skip
        row.append(served(network, state.models, test, own).mean())
    asked = np.arange(min(LOCAL_CLIENTS, clients.m))
    return [*row, local_accuracies(network, clients, test, asked, options, seed).mean()]


WRITERS = register(
    Experiment(
        name="networks.writers",
        design=user_design("networks.writers"),
        columns=tuple(FEMNIST),
        simulate=lambda cell, rng, n_trials: np.array(
            [one_of_writers(cell, rng) for _ in range(n_trials)]
        ),
        parameters=Parameters(
            {
                "data": Choice(("glyphs", "femnist"), default="glyphs", meaning="data set"),
                "m": Integer(2, 10_000, default=20, meaning="writers that are drawn"),
                "n": Integer(1, 10_000, default=40, meaning="training images of a writer"),
                "rounds": Integer(0, 10_000, default=40, meaning="rounds"),
            }
        ),
        block_size=1,
    )
)


# --- the claims ---------------------------------------------------------------------------------


def beside(title, printed, cell, table):
    """Printed accuracies beside the measured ones."""
    same = "original" in table and bool(np.all(np.asarray(table["original"]) == 1.0))
    rows = []
    for name in table:
        if name in ("original", "most"):
            continue
        values = np.asarray(table[name])
        text = printed.get(name)
        rows.append((name, "not printed" if text is None else f"{text[0]:.2f} ± {text[1]:g}",
                     f"{100 * values.mean():.2f} ± {100 * values.std(ddof=1):.2f}"
                     if not name.endswith("floats") else f"{values.mean():.4g}"))  # fmt: skip
    return EvidenceTable(
        title=f"{title} beside {cell['data']}: {'reproduction' if same else 'comparison'}",
        columns=("value", "printed, %", "measured, %"),
        rows=rows,
        note="A number after ± is a standard deviation over seeds."
        + ("" if same else " The images are not those of the paper, so only orders compare."),
    )


def compared(id_, title, source, pairs, experiment, cell, printed, reading):
    """A claim that compares methods, seeds as trials."""
    known = Statement(
        id=f"networks.{id_}",
        title=title,
        source=source,
        publication=JOURNAL,
        quantifiers=r"k,m,n",
        kind="comparison",
        observed=r"\text{test accuracy}",
        contrasts=tuple(
            Contrast(left=a, relation="<=" if margin else "<", right=b, margin=margin)
            for a, b, margin in pairs
        ),
        reading=reading,
    )

    @claim(known.id, known, expected=Verdict.SUPPORTED)
    def built(statement, _profile):
        return Comparison(
            statement=statement,
            sampling=Sampling(experiment=experiment, max_trials=48, first=12),
            cells=(cell,),
            columns=MappingProxyType({name: name for name in experiment.columns}),
            knowledge=lambda _cell: SHARE,
            unit="test accuracy",
            scale="sign",
            failed="low",
            present=lambda observed: Presentation(
                tables=[beside(source, printed, o.params, o.table) for o in observed]
            ),
        )

    return built


STANDS = (
    "Drawn images stand for those of the paper: a verdict on them says nothing about its numbers. "
    "Option II, ten local steps of 0.1, all clients, one random start. "
)
CELL = {"data": "glyphs", "m": 80, "n": 50, "rounds": 60}
TABLE_1 = PRINTED[4800, 50]
CLAIMS = (
    compared(
        "table-1-order", "IFCA is above one model and above local models", "Table I",
        (("global", "ifca", 0.0), ("local", "ifca", 0.0)), ROTATED, CELL, TABLE_1, STANDS,
    ),
    compared(
        "table-1-identities", "IFCA finds the rotations, and is as good as with known rotations",
        "Section VI-B and Figure 4",
        (("most", "identities", 0.0), ("oracle", "ifca", 0.05)), ROTATED, CELL, TABLE_1,
        STANDS + "Found: more than 95 % of the identities are right. As good: within 5 %.",
    ),
    compared(
        "table-2-order", "With shared layers IFCA is above one model and above local models",
        "Table II",
        tuple((low, high, 0.0) for low in ("global", "local") for high in ("ifca2", "ifca3")),
        WRITERS, {"data": "glyphs", "m": 20, "n": 40, "rounds": 40}, FEMNIST,
        "Drawn glyphs of 62 classes stand for FEMNIST. All layers but the last are shared.",
    ),
)  # fmt: skip

PAPER = Paper(
    id="networks",
    title="IFCA's tables with neural networks",
    publications=(JOURNAL,),
    claims=CLAIMS,
    data="Rotated images and writers, drawn or read by path.",
)


# --- the command --------------------------------------------------------------------------------


def draw_identities(path, curves):
    """The share of right identities over rounds, a line a seed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 3), layout="constrained")
    axes = figure.add_subplot()
    for seed, curve in curves.items():
        axes.plot(np.arange(1, len(curve) + 1), curve, label=f"seed {seed}")
    axes.set(xlabel="round", ylabel="share of right identities", ylim=(0.2, 1.02))
    axes.legend(fontsize="small")
    figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)


def main():
    """Print Table I for a set, and draw the identities over rounds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", choices=SETS, default="glyphs")
    parser.add_argument("--m", type=int, default=80)
    parser.add_argument("--n", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--json", type=Path, help="keep finished seeds in this file")
    chosen = parser.parse_args()
    cell = {name: getattr(chosen, name) for name in ("data", "m", "n", "rounds")}
    curves, rows = {}, []
    for seed in range(chosen.seeds):

        def tell(method, state, row, seed=seed):
            spent = f"{time.process_time():.0f} CPU s"
            print(f"seed {seed} {method:7} {row[method]:.4f}  {spent}", flush=True)
            if method == "ifca":
                curves[seed] = state.identities
                if chosen.figure:
                    draw_identities(chosen.figure, curves)

        found = one(ROTATED.check(cell), np.random.default_rng(seed), tell)
        rows.append(dict(zip(COLUMNS, found, strict=True)))
        if chosen.json:
            chosen.json.write_text(json.dumps({"rows": rows, "identities": curves}, indent=1))
    printed = PRINTED.get((chosen.m, chosen.n), {})
    for name in COLUMNS[:-2]:
        values = np.array([row[name] for row in rows])
        spread = f" ± {values.std(ddof=1):.4f}" if len(values) > 1 else ""
        text = f"   printed {printed[name][0]} ± {printed[name][1]} %" if name in printed else ""
        print(f"{name:14} {values.mean():.4g}{spread}{text}")


if __name__ == "__main__":
    main()
