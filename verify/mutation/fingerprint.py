"""Everything in a procedure that depends on its statement, so that two statements can be
distinguished.

A procedure whose fingerprint is the same for a statement and a mutant cannot see the change: no
cell, no bound and no probability of its test differs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trials.run.cell import Params
from verify.procedures.interface import Procedure

__all__ = ["cells_of", "fingerprint"]


def cells_of(procedure: Procedure) -> tuple[Params, ...]:
    """The cells of a procedure that samples, with every role.  A search has none."""
    return procedure.every_cell()


def fingerprint(procedure: Procedure) -> Any:
    """What the procedure tests, on invented trials and on random points."""
    # Invented numbers reach 1e12.  A power of one that overflows is still compared rightly.
    with np.errstate(over="ignore"):
        return procedure.fingerprint()
