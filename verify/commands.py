"""The commands that repeat a claim or a trial of a run, as they are typed."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from verify.evidence import Evidence


def repeating(
    selection: str,
    evidence: Evidence,
    *,
    profile: str,
    seed: int,
    level: float,
    run: Path,
    claims_file: Path | None = None,
) -> list[str]:
    """The command that tries a claim again, and for a witness the one that replays its trial.

    Parameters
    ----------
    level : the level of a whole run at which the claim alone gets the level that it had.
    run : the run directory.
    claims_file : the file of the user's own with the claim's paper.

    Examples
    --------
    >>> from verify.evidence import Verdict
    >>> found = Evidence(verdict=Verdict.SUPPORTED, summary="", level=0.01, n_trials=0, n_failed=0)
    >>> repeating("own.tail", found, profile="quick", seed=3, level=0.05, run=Path("runs/a"),
    ...     claims_file=Path("own paper.py"))
    ["cfl-verify run own.tail --claims 'own paper.py' --profile quick --seed 3 --level 0.05"]
    """
    again = ["cfl-verify", "run", selection]
    if claims_file is not None:
        again += ["--claims", _shorten(claims_file)]
    again += ["--profile", profile, "--seed", str(seed), "--level", repr(level)]
    commands = [shlex.join(again)]
    if evidence.witness is not None and evidence.witness.trial is not None:
        commands.append(shlex.join(["cfl-verify", "replay", _shorten(run), evidence.witness.trial]))
    return commands


def _shorten(path: Path) -> str:
    """A path from the working directory where it lies below it, and from the root otherwise."""
    whole = path.absolute()
    return os.path.relpath(whole) if whole.is_relative_to(Path.cwd()) else str(whole)
