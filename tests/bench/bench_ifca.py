"""IFCA's data kernels, plain and skipping, against NumPy, the GEMM rate and the authors' code.

30 runs (10 starts, 3 step sizes) share a data set.  One thread, the same BLAS settings for all, the
sides interleaved, CPU seconds (other work on the machine then counts less), the best of several
repetitions.  Of the slow sides a few passes are timed and given per run-iteration (one iteration of
one run).  With skipping, an iteration's cost depends on the earlier iterations, so all 300
iterations of all runs are timed.

* Step sizes: the paper's, {0.01, 0.1, 1} for k = 2 and {0.5, 1, 2} for k = 4.
* Data: as in the authors' configuration (true models 0/1 coordinate-wise, times 1; noise 0.001).
  With k = 2 and step size 1 the step exceeds 2 / L for a cluster of half the clients: those runs
  are unstable, their labels keep changing, and there is little to skip.  So the contracting step
  sizes (0.01 and 0.1) have a row of their own.
* By default skipping starts with the plain kernel and stays within 5 % of it after any iteration.
  Whole runs of a few iterations show that.  The runs of 300 iterations skip at once.
* Authors' code, optional: set ``IFCA_AUTHORS`` to a checkout of the public repository
  jichan3751/ifca, and ``IFCA_AUTHORS_PYTHON`` to an interpreter that has PyTorch (this one if
  unset).  Its final models are compared with ours, on our data.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from trials.experiments.ifca.data_run import PAPER_STEP_SIZES
from trials.ifca.linear import run_ifca
from trials.ifca.skipping import run_ifca_skipping
from trials.models.clients import ClientData
from trials.models.run_status import RunStatus

CASES = ((100, 100, 1000, 2), (400, 100, 1000, 4))
N_STARTS, STEP_SIZES = 10, (0.1, 0.5, 1.0)
N_ITERATIONS, N_TRIALS = 300, 40
GEMM_SIZE = 4000


def loop_pass(features, responses, starts, step_sizes):
    """One iteration as it is first written down: runs, clients, losses, gradient, step."""
    m, n, _ = features.shape
    stepped = starts.copy()
    for run, models in enumerate(starts):
        gradients = np.zeros_like(models)
        for x, y in zip(features, responses, strict=True):
            label = np.argmin([np.mean((y - x @ theta) ** 2) for theta in models])
            gradients[label] -= 2 / n * x.T @ (y - x @ models[label])
        stepped[run] -= step_sizes[run] / m * gradients
    return stepped


def frugal_loop_pass(features, responses, starts, step_sizes):
    """The same loops with the k models in one product and no residual computed twice."""
    m, n, _ = features.shape
    stepped = starts.copy()
    for run, models in enumerate(starts):
        gradients = np.zeros_like(models)
        for x, y in zip(features, responses, strict=True):
            residuals = y - models @ x.T
            label = np.argmin((residuals**2).sum(axis=1))
            gradients[label] -= 2 / n * residuals[label] @ x
        stepped[run] -= step_sizes[run] / m * gradients
    return stepped


def batched_pass(features, responses, starts, step_sizes):
    """All runs in two GEMMs over all data.  The residuals of models not chosen are zero."""
    (m, n, d), (n_runs, k, _) = features.shape, starts.shape
    residuals = responses.ravel() - starts.reshape(-1, d) @ features.reshape(-1, d).T
    residuals = residuals.reshape(n_runs, k, m, n)
    labels = np.einsum("rkmn,rkmn->rkm", residuals, residuals).argmin(axis=1)
    residuals *= (labels[:, None] == np.arange(k)[:, None])[..., None]
    sums = residuals.reshape(n_runs * k, -1) @ features.reshape(-1, d)
    return starts + (2 / (m * n) * step_sizes)[:, None, None] * sums.reshape(starts.shape)


def best_seconds(repetitions: int, sides: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Shortest time of each side.  The sides take turns, so that all run under the same
    conditions.
    """
    best = dict.fromkeys(sides, np.inf)
    for _ in range(repetitions):
        for name, side in sides.items():
            start = time.process_time()
            side()
            best[name] = min(best[name], time.process_time() - start)
    return best


def passes() -> list[dict[str, Any]]:
    """One plain pass: the fraction of the GEMM rate, and the ratio to the loops."""
    rng = np.random.default_rng(0)
    square = rng.standard_normal((GEMM_SIZE, GEMM_SIZE))
    product = np.empty_like(square)
    rows = []
    with threadpool_limits(1):
        for m, n, d, k in CASES:
            features, responses = rng.standard_normal((m, n, d)), rng.standard_normal((m, n))
            data = ClientData.equal(features, responses)
            starts = np.repeat(rng.standard_normal((N_STARTS, k, d)), len(STEP_SIZES), axis=0)
            step_sizes = np.tile(STEP_SIZES, N_STARTS)
            arguments = {"data": data, "starts": starts, "step_sizes": step_sizes}
            batch = (features, responses, starts, step_sizes)
            models = run_ifca(n_iterations=1, **arguments).models  # compiles
            np.testing.assert_allclose(models, loop_pass(*batch), rtol=1e-8, atol=1e-8)
            np.testing.assert_allclose(models, frugal_loop_pass(*batch), rtol=1e-8, atol=1e-8)

            seconds = best_seconds(
                3,
                {
                    "ours": lambda arguments=arguments: run_ifca(n_iterations=3, **arguments),
                    "loop": lambda batch=batch: loop_pass(*batch),
                    "frugal loop": lambda batch=batch: frugal_loop_pass(*batch),
                    "dgemm": lambda: np.matmul(square, square, out=product),
                },
            )
            seconds["ours"] /= 3
            n_flops = 2 * m * n * d * len(starts) * (k + 1)
            rate, peak = n_flops / seconds["ours"] / 1e9, 2e-9 * GEMM_SIZE**3 / seconds["dgemm"]
            case = f"m={m} n={n} d={d} k={k}, {len(starts)} runs"
            rows.append(
                {
                    "benchmark": "ifca pass against the dgemm rate",
                    "case": case,
                    "ours": rate,
                    "other": peak,
                    "ratio": rate / peak,
                    "unit": "GF/s",
                    "note": "one thread; wanted >= 0.70",
                }
            )
            for loop, wanted in (("loop", "; wanted >= 10"), ("frugal loop", "")):
                ceiling = seconds[loop] / (1e-9 * n_flops / peak)
                rows.append(
                    {
                        "benchmark": f"ifca pass against a NumPy {loop}",
                        "case": case,
                        "ours": 1e3 * seconds["ours"],
                        "other": 1e3 * seconds[loop],
                        "ratio": seconds[loop] / seconds["ours"],
                        "unit": "ms",
                        "note": f"one thread{wanted}; at the dgemm rate itself {ceiling:.1f}",
                    }
                )
    return rows


def draw_problem(m, n, d, k):
    """Data and starts of the authors' configuration: models and starts are 0/1 in each entry."""
    rng = np.random.default_rng(0)
    truth = (rng.random((k, d)) < 0.5).astype(float)
    features = rng.standard_normal((m, n, d))
    owner = np.arange(m) * k // m
    responses = np.einsum("mnd,md->mn", features, truth[owner])
    responses += 0.001 * rng.standard_normal((m, n))
    starts = (rng.random((N_STARTS, k, d)) < 0.5).astype(float)
    step_sizes = np.array(PAPER_STEP_SIZES[k])
    return (
        features,
        responses,
        np.repeat(starts, len(step_sizes), axis=0),
        np.tile(step_sizes, N_STARTS),
    )


# Runs in the authors' interpreter.  Arguments: checkout, folder with data.npz, iterations to time,
# iterations to compare after, step size.  Prints seconds per iteration; writes models.npy.
AUTHORS_DRIVER = """
import contextlib, io, os, sys, time
import numpy as np, torch
checkout, folder, n_timed, n_compared, lr = sys.argv[1:6]
torch.set_num_threads(1)
sys.path.insert(0, os.path.join(checkout, "synthetic"))
sys.argv = sys.argv[:1]
import train_cluster
data = np.load(os.path.join(folder, "data.npz"))
x, y, start = (torch.tensor(data[name], dtype=torch.float32) for name in ("x", "y", "start"))
m, n, d = x.shape
k = len(start)
config = dict(m=m, p=k, n=n, d=d, score="set", train_seed=0, project_dir="", dataset_dir="")
job = train_cluster.TrainCluster(config)
job.setup(dataset={"data": list(zip(x, y)), "params": list(start)})
for model, theta in zip(job.models, start):
    model.weight().data = theta[None].clone()
best = float("inf")
for step in range(max(int(n_timed), int(n_compared))):
    begin = time.process_time()
    job.train(lr=float(lr))
    best = min(best, time.process_time() - begin)
    if step + 1 == int(n_compared):
        found = np.stack([model.weight().data[0] for model in job.models])
        np.save(os.path.join(folder, "models.npy"), found)
print(best)
"""


def time_authors(features, responses, start, step_size, n_iterations):
    """Best seconds of one iteration of one run of the authors' code, and its models after T."""
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "data.npz", x=features, y=responses, start=start)
        done = subprocess.run(
            [
                os.environ.get("IFCA_AUTHORS_PYTHON", sys.executable), "-c", AUTHORS_DRIVER,
                os.environ["IFCA_AUTHORS"], folder, str(n_iterations), str(n_iterations),
                str(step_size),
            ],
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"the authors' code failed:\n{done.stderr}")
        return float(done.stdout.split()[-1]), np.load(Path(folder) / "models.npy")


def skipping() -> list[dict[str, Any]]:
    """300 iterations with skipping against the slow sides, per run-iteration and per panel."""
    rows = []
    with threadpool_limits(1):
        for m, n, d, k in CASES:
            features, responses, starts, step_sizes = draw_problem(m, n, d, k)
            data = ClientData.equal(features, responses)
            arguments = {"data": data, "starts": starts, "step_sizes": step_sizes}
            tame = step_sizes <= (0.1 if k == 2 else 2.0)
            batch = (features, responses, starts, step_sizes)
            few = (features, responses, starts[:3], step_sizes[:3])
            results = {}

            def skip(chosen, data=data, starts=starts, step_sizes=step_sizes, results=results):
                results[chosen.sum()] = run_ifca_skipping(
                    data=data, starts=starts[chosen], step_sizes=step_sizes[chosen],
                    n_iterations=N_ITERATIONS, excess=np.inf,
                )  # fmt: skip

            run_ifca_skipping(n_iterations=2, **arguments)  # compiles
            plain = run_ifca(n_iterations=1, **arguments)
            np.testing.assert_allclose(plain.models, batched_pass(*batch), rtol=1e-8, atol=1e-8)
            everyone = np.ones(len(starts), dtype=bool)
            sides = {
                "NumPy loop": lambda few=few: loop_pass(*few),
                "NumPy, batched GEMM": lambda batch=batch: batched_pass(*batch),
                "plain": lambda arguments=arguments: run_ifca(n_iterations=3, **arguments),
                "skipping": lambda everyone=everyone, skip=skip: skip(everyone),
            }
            if not tame.all():
                sides["skipping, contracting"] = lambda tame=tame, skip=skip: skip(tame)
            seconds = best_seconds(2, sides)
            n_runs = len(starts)
            each = {
                "NumPy loop": seconds["NumPy loop"] / 3,
                "NumPy, batched GEMM": seconds["NumPy, batched GEMM"] / n_runs,
                "plain": seconds["plain"] / (3 * n_runs),
            }
            skipped = results[n_runs]
            note = f"{int((skipped.status == RunStatus.DIVERGED).sum())} of 30 runs diverge"
            same = np.flatnonzero(tame[:3])  # the first start's contracting runs, all iterations
            reference = run_ifca(
                data=data, starts=starts[same], step_sizes=step_sizes[same],
                n_iterations=N_ITERATIONS,
            )  # fmt: skip
            gap = np.abs(skipped.models[same] - reference.models).max()
            equal = (skipped.label_changes[:, same] == reference.label_changes).all()
            note += f"; final models of {len(same)} runs within {gap:.0e} of plain"
            note += ", label changes equal" if equal else ", LABEL CHANGES DIFFER"
            if "IFCA_AUTHORS" in os.environ:
                run, n_compared = int(same[-1]), (60 if k == 2 else 20)
                ours = run_ifca_skipping(
                    data=data, starts=starts[[run]], step_sizes=step_sizes[[run]],
                    n_iterations=n_compared,
                ).models[0]  # fmt: skip
                each["authors' code"], theirs = time_authors(
                    features, responses, starts[run], step_sizes[run], n_compared
                )
                note += f"; after {n_compared} iterations within {np.abs(ours - theirs).max():.0e}"
                note += " of the authors' float32"
            for name, chosen in (("skipping", everyone), ("skipping, contracting", tame)):
                if name not in seconds:
                    continue
                mine = seconds[name] / (chosen.sum() * N_ITERATIONS)
                for other, slow in each.items():
                    rows.append(
                        {
                            "benchmark": f"ifca {name} against {other}",
                            "case": f"m={m} n={n} d={d} k={k}, {chosen.sum()} runs",
                            "ours": 1e3 * mine,
                            "other": 1e3 * slow,
                            "ratio": slow / mine,
                            "unit": "ms",
                            "note": f"a run-iteration; 40 trials of 30 runs "
                            f"{mine * 9000 * N_TRIALS:.0f} s against "
                            f"{slow * 9000 * N_TRIALS:.0f} s; {note}",
                        }
                    )
    return rows


def lengths() -> list[dict[str, Any]]:
    """Runs of a few and of many iterations: skipping, as it starts by default, against plain."""
    rows = []
    with threadpool_limits(1):
        for m, n, d, k in CASES:
            features, responses, starts, step_sizes = draw_problem(m, n, d, k)
            run = {
                "data": ClientData.equal(features, responses), "starts": starts,
                "step_sizes": step_sizes,
            }  # fmt: skip
            for n_iterations in (1, 2, 4, 10, 40, 100) if k == 2 else (1, 2, 4, 10, 40):
                run["n_iterations"] = n_iterations
                seconds = best_seconds(
                    3 if n_iterations <= 10 else 2,
                    {
                        "plain": lambda run=run: run_ifca(**run),
                        "skipping": lambda run=run: run_ifca_skipping(**run),
                    },
                )
                rows.append(
                    {
                        "benchmark": "ifca skipping against plain, whole runs",
                        "case": f"m={m} n={n} d={d} k={k}, 30 runs of {n_iterations} iterations",
                        "ours": seconds["skipping"],
                        "other": seconds["plain"],
                        "ratio": seconds["plain"] / seconds["skipping"],
                        "unit": "s",
                        "note": "one thread; wanted >= 0.95",
                    }
                )
    return rows


def run() -> list[dict[str, Any]]:
    """Rows for `tox -e bench`."""
    return passes() + lengths() + skipping()


if __name__ == "__main__":
    for row in run():
        print(json.dumps(row))
