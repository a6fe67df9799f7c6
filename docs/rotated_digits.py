"""IFCA on rotated digits: a small neural network, four clusters, four methods.

The images of scikit-learn's digits (8 x 8, ten classes) are rotated by 0, 90, 180 or 270 degrees.
A client holds images of one rotation.  As in TIT 2022, Section VI-B: model averaging, ten local
steps, all clients in every round; a test client takes the model with the smallest loss on its data.

    python docs/rotated_digits.py --seeds 20

prints the mean test accuracy of IFCA, of one global model, of local models and of an oracle that
knows the rotations, with 95 % intervals over the seeds (Student's t).
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy import stats
from sklearn.datasets import load_digits

from trials.ifca.functions import Model, run_ifca_functions
from trials.models.network import (
    Data,
    Parameters,
    accuracy,
    network_gradient,
    network_loss,
    random_network,
)

K, HIDDEN, TEST_IMAGES = 4, 32, 397
METHODS = ("ifca", "global", "local", "oracle")
NETWORK = Model(
    init=lambda rng: random_network(d=64, hidden=HIDDEN, classes=10, rng=rng),
    loss=network_loss,
    gradient=network_gradient,
)


def rotated_clients(
    rng: np.random.Generator, n: int
) -> tuple[list[Data], np.ndarray, list[list[Data]]]:
    """The training clients with n images each, their rotations, and each rotation's test clients.

    Every rotation has all images, split anew.  A test client has n images as well.
    """
    digits = load_digits()
    clients, owners, tests = [], [], []
    shuffled = rng.permutation(len(digits.images))
    parts = shuffled[:TEST_IMAGES], shuffled[TEST_IMAGES:]
    for rotation in range(K):
        turned = np.rot90(digits.images, rotation, axes=(1, 2)).reshape(-1, 64) / 16.0
        test, train = (
            [(turned[rows], digits.target[rows]) for rows in np.array_split(
                rng.permutation(part), len(part) // n)]
            for part in parts
        )  # fmt: skip
        clients += train
        owners += [rotation] * len(train)
        tests.append(test)
    return clients, np.array(owners), tests


def served(models: list[Parameters], tests: list[list[Data]]) -> float:
    """Mean accuracy of the test clients, each with the model of the smallest loss on its data."""
    found = []
    for test in (test for rotation in tests for test in rotation):
        best = min(models, key=lambda model: network_loss(model, test))
        found.append(accuracy(best, test))
    return float(np.mean(found))


def accuracies(seed: int, n: int = 50, rounds: int = 30, starts: int = 1) -> dict[str, float]:
    """Test accuracy of each method on the same data.

    Each method but the local one takes the best of its starts by the training loss.
    """
    rng = np.random.default_rng(seed)
    clients, owners, tests = rotated_clients(rng, n)
    run = {"model": NETWORK, "clients": clients, "step_size": 0.1, "local_steps": 10, "rng": rng}

    def best(k: int, known: np.ndarray | None) -> list[Parameters]:
        runs = [
            run_ifca_functions(k=k, n_iterations=rounds, known_labels=known, **run)
            for _ in range(starts)
        ]
        return min(runs, key=lambda found: found.losses[-1]).models

    ifca, one = best(K, None), best(1, np.zeros(len(clients), dtype=np.int64))
    oracle = best(K, owners)
    local = []
    for i in rng.choice(len(clients), 2 * K, replace=False):
        alone = run_ifca_functions(
            **{**run, "clients": [clients[i]]}, k=1, n_iterations=rounds
        ).models[0]
        local.append(np.mean([accuracy(alone, test) for test in tests[owners[i]]]))
    return {
        "ifca": served(ifca, tests),
        "global": served(one, tests),
        "local": float(np.mean(local)),
        "oracle": served(oracle, tests),
    }


def interval(values: np.ndarray) -> tuple[float, float]:
    """95 % limits of the mean by Student's t, from two values or more."""
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean() - half), float(values.mean() + half)


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    seeds = parser.parse_args(arguments).seeds
    if seeds < 1:
        parser.error(f"argument --seeds: must be at least 1, not {seeds}")
    found = [accuracies(seed) for seed in range(seeds)]
    print(f"test accuracy, 95 % limits of its mean, seeds: {seeds}")
    for method in METHODS:
        values = np.array([row[method] for row in found])
        limits = "one seed has no interval"
        if seeds > 1:
            limits = "[{:.3f}, {:.3f}]".format(*interval(values))
        print(f"{method:7} {values.mean():.3f}  {limits}", flush=True)


if __name__ == "__main__":
    main()
