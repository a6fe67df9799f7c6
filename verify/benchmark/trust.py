"""Whose methods a benchmark may run: those that the user names, or has named before.

A stored benchmark names the files of its methods.  Whoever made the store chose those names, so
they are no reason to run anything (`verify.consent`).
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from trials.run.cell import Params
from trials.run.store import StoreError
from verify import consent
from verify.benchmark.methods import Method, parse_method


def remember(methods: Sequence[Method]) -> None:
    """Note that the user named these methods.  Stored runs may run the same texts from now on."""
    consent.remember({m.file: m.sha256() for m in methods if m.own})


def refuse_foreign(methods: Sequence[Method], run: Path) -> None:
    """Refuse to run a file that a stored run names and that this user has not named before.

    Raises
    ------
    StoreError : the first such file, with the remedy.
    """
    for method in methods:
        if method.own and not consent.is_remembered(method.file, method.sha256()):
            raise StoreError(
                f"{run}: the run asks for the code in {method.file}, which you have not run "
                "before; read it, and if you trust it, name it: "
                f"benchmark --run {shlex.quote(str(run))} --methods {shlex.quote(method.text)},..."
            )


def refuse_foreign_cell(params: Params, run: Path) -> None:
    """`refuse_foreign` for the method of a stored cell of `verify.benchmark.fits`."""
    refuse_foreign([parse_method(str(params.get("method", "")))], run)
