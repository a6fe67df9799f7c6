"""The bits of every experiment on the cells of its record, as one digest each.

    python -m tests.bits NAME...         {name: digest} as JSON, of all experiments by default

Two processors that give equal digests give equal bits: docs/machines.md has a comparison.
"""

from __future__ import annotations

import hashlib
import json
import sys

from verify.arithmetic import settle

settle()  # before NumPy is loaded

import numpy as np  # noqa: E402

from tests.records import experiments  # noqa: E402
from tests.records.files import read  # noqa: E402
from trials.run.experiment import experiment  # noqa: E402


def digest(name: str, n_trials: int = 3) -> str:
    """Sixteen digits of all trials of the recorded cells of an experiment."""
    found = hashlib.sha256()
    for cell in read(experiments.KIND, name).values():
        try:
            rows = experiments.rows_of(experiment(name), cell["cell"], n_trials)
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            rows = np.frombuffer(str(error).encode(), np.uint8)
        found.update(np.ascontiguousarray(rows).tobytes())
    return found.hexdigest()[:16]


if __name__ == "__main__":
    for name in sys.argv[1:] or experiments.names():
        print(json.dumps({name: digest(name)}), flush=True)
