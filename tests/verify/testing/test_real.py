"""Programs of others as subjects: what they pass, and the differences that were found.

A list of names holds the checks that a program fails, each with its reason in
`docs/your-own-implementation.md`.
"""

import os
from importlib.util import find_spec

import numpy as np
import pytest

from tests.verify.testing.real.sklearn_kmeans import kmeans
from verify.testing import load_target, verify

HERE = "tests.verify.testing.real."


def needs(*packages):
    missing = [name for name in packages if find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")


TORCH = needs("torch")
FLOWER = needs("flwr")
AUTHORS = (
    TORCH,
    pytest.mark.skipif("CFL_IFCA_AUTHORS" not in os.environ, reason="needs CFL_IFCA_AUTHORS"),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "subject", "declared", "fails"),
    [
        ("sklearn_kmeans:assignment", "assignment", {}, []),
        ("sklearn_kmeans:kmeans", "kmeans", {}, ["stationary", "empty"]),
        ("cvxpy_clustering:centred", "convex_clustering", {"examples": 10}, []),
        pytest.param("torch_ifca:step", "ifca.step", {"arrays": "torch"}, [], marks=TORCH),
        pytest.param(
            "torch_ifca:step",
            "ifca.step",
            {"arrays": "torch", "precision": "single"},
            [],
            marks=TORCH,
        ),
        pytest.param("flower_fedavg:fedavg_round", "fedavg.round", {}, [], marks=FLOWER),
        pytest.param("flower_fedavg:in_place", "fedavg.round", {}, [], marks=FLOWER),
        pytest.param("ifca_authors:step", "ifca.step", {"arrays": "torch"}, [], marks=AUTHORS),
        pytest.param("ifca_authors:run", "ifca.run", {"arrays": "torch"}, [], marks=AUTHORS),
    ],
)
def test_a_program_fails_the_checks_that_are_known_and_no_other(target, subject, declared, fails):
    report = verify(load_target(HERE + target), subject, **{"examples": 60, **declared})
    assert [o.check.name for o in report.failures] == fails, report.failures


def test_scikit_learn_returns_a_centre_that_is_not_the_mean_of_its_points():
    """The witness on the page, found by the check ``stationary``."""
    points = np.array([[0.5], [-0.5], [0.5 - 1e-9]])
    centres, labels = kmeans(points, points)
    assert labels.tolist() == [0, 1, 0]
    assert centres[0, 0] == 0.5
    assert points[labels == 0].mean() == pytest.approx(0.5 - 5e-10, abs=1e-15)
