"""Without PyTorch: nothing loads it before a network is asked for, and the message is one line."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from trials.checks import InvalidParameter
from trials.networks import architectures, training

ROOT = Path(__file__).parents[3]


def test_the_program_and_its_networks_load_neither_torch_nor_pyarrow_nor_pillow():
    folder = ROOT / "trials" / "networks"
    names = sorted(path.stem for path in folder.glob("[a-z]*.py"))
    assert "training" in names
    program = (
        f"import importlib, sys, verify.cli\nfor name in {names}:\n"
        "    importlib.import_module('trials.networks.' + name)\n"
        "print([m for m in ('torch', 'pyarrow', 'PIL', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_network_without_torch_is_refused_in_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InvalidParameter, match=r"pip install 'cfl-verify\[networks\]'"):
        architectures.dense_network()


@pytest.mark.parametrize(
    ("labels", "clusters", "k", "expected"),
    [
        ([-1, 0, 1], [0, 0, 1], 2, 2 / 3),  # never asked: no identity is right
        ([-1, -1], [0, 1], 2, 0.0),
        ([2, 2, 0, 1], [0, 0, 1, 1], 3, 3 / 4),  # more models than clusters
        ([0, 0, 0, 0], [2, 1, 0, 2], 1, 1 / 2),  # and fewer
        ([1, 0, 2], [0, 1, 2], 3, 1.0),
    ],
)
def test_identities_are_right_up_to_the_names_of_the_models(labels, clusters, k, expected):
    found = training.identity_accuracy(np.array(labels), np.array(clusters), k)
    assert found == pytest.approx(expected, abs=1e-15)
    assert math.isnan(training.identity_accuracy(np.array(labels), np.full(len(labels), -1), k))
