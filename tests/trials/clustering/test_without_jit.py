"""Clustering and local-fit kernels give the same numbers with the compiler switched off."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from trials import local_erm
from trials.clustering import gradient as gradient_clustering
from trials.clustering import kmeans, selection


def results():
    """A small run through every kernel, as one flat dictionary of arrays."""
    rng = np.random.default_rng(1)
    points = rng.standard_normal((2, 12, 3)) + 6.0 * np.arange(3).repeat(4)[None, :, None]
    empty = np.concatenate([points[:, :2], np.full((2, 1, 3), 1e3)], axis=1)
    X = rng.standard_normal((3, 6, 2))
    X[1, :, 1] = X[1, :, 0] * (1 + 1e-9 * np.arange(6))  # to QR
    X[2, :, 1] = 0.0  # to SVD
    y = np.where(X[:, :, 0] + rng.standard_normal((3, 6)) > 0, 1.0, -1.0)
    y[:, :2] = [1.0, -1.0]
    lam, interval = selection.interval_lambda(points, np.arange(12).repeat(2).reshape(2, 12) % 3,
                                              rng)  # fmt: skip
    sgd = local_erm.projected_sgd(X, y, rng, loss="logistic", mu=1.0, radius=2.0, n_steps=5)
    records = {
        "lloyd": kmeans.lloyd(points, empty, tol=1e-6),
        "pp": kmeans.kmeans_pp(points, 3, rng, n_init=2),
        "spectral": kmeans.spectral_kmeans(points, 3, rng),
        "gradient": gradient_clustering.gradient_clustering(
            points, empty, loss="huber", huber=1.0, max_iter=5
        ),
        "choice": selection.choose_k(points, 4, rng),
        "interval": interval,
        "least": local_erm.least_squares(X, y),
        "wide": local_erm.least_squares(X.transpose(0, 2, 1), y[:, :2]),
        "logistic": local_erm.logistic(X, y, l2=1e-2, intercept=True),
        "sgd": sgd,
    }
    arrays = {"lam": lam}
    for name, record in records.items():
        for field, value in vars(record).items():
            if isinstance(value, np.ndarray):
                arrays[f"{name}.{field}"] = value
    return arrays


def test_every_kernel_runs_with_jit_off(tmp_path: Path):
    path = tmp_path / "plain.npz"
    root = Path(__file__).parents[3]
    script = (
        "import runpy, sys, numpy as np, numba; assert numba.config.DISABLE_JIT;"
        f"np.savez({str(path)!r}, **runpy.run_path({str(Path(__file__))!r})['results']())"
    )
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(root)}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment, cwd=root)
    compiled = results()
    with np.load(path) as plain:
        assert set(plain.files) == set(compiled)
        for name, array in compiled.items():
            # the same algorithm on the same stream: all but the last digits agree
            np.testing.assert_allclose(plain[name], array, rtol=1e-9, atol=1e-9, err_msg=name)
