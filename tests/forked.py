"""The server from which programs of the tests are forked imports this module once.

It imports what the commands of the program, their reports and the plugin of pytest load when they
run.  It computes nothing and starts no thread.
"""

import contextlib
import gc
import importlib
import os
import sys

from verify.arithmetic import settle

#: Modules that the programs would load one after the other, the libraries first.
_MODULES = (
    *("hypothesis", "mpmath", "numba", "pytest", "scipy.optimize", "scipy.stats", "sympy"),
    *("trials.run.local", "verify.cli.app", "verify.cli.reporting", "verify.cli.runs"),
    *("verify.deciding", "verify.papers", "verify.pytest_plugin", "verify.session"),
    *("verify.testing", "reports.__main__"),
)
_EXTRA = "distributed"


def _load() -> None:
    for stream in (0, 1):  # no console of the server is a terminal, and it prints nothing
        os.dup2(os.open(os.devnull, os.O_RDWR), stream)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    settle()
    for name in _MODULES:
        importlib.import_module(name)
    with contextlib.suppress(ImportError):
        importlib.import_module(_EXTRA)
    sys.modules["verify.papers"].catalogue()
    gc.freeze()  # so that a fork does not copy what it only looks through


_load()
