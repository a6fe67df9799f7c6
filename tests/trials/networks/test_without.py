"""Without PyTorch: nothing loads it before a network is asked for, and the message is one line."""

import subprocess
import sys
from pathlib import Path

import pytest

from trials.checks import InvalidParameter
from trials.networks import architectures

ROOT = Path(__file__).parents[3]


def test_modules_of_networks_load_neither_torch_nor_pyarrow_nor_pillow():
    folder = ROOT / "trials" / "networks"
    names = sorted(path.stem for path in folder.glob("[a-z]*.py"))
    assert "training" in names
    program = (
        f"import importlib, sys\nfor name in {names}:\n"
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
