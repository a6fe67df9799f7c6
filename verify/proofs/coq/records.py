"""Which theorems compiled, with which Coq: one file for each, named by the theorem's hash.

The task ``coq`` writes the files.  A claim whose statement was changed has another theorem, and
finds none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from trials.checks import InvalidParameter
from verify.proofs.coq.compiler import AXIOMS
from verify.proofs.coq.theorems import Theorem

RECORDS = Path(__file__).parent / "records"
HINTS = Path(__file__).parent / "hints.json"


def hints() -> dict[str, dict[str, str]]:
    """The scripts by hand, by claim and name."""
    found: dict[str, dict[str, str]] = json.loads(HINTS.read_text(encoding="utf-8"))
    return found


def digest(theorem: Theorem) -> str:
    """The hash of a theorem's proposition."""
    return hashlib.sha256(theorem.text.encode()).hexdigest()


def path_of(theorem: Theorem, folder: Path = RECORDS) -> Path:
    """The file that says that a theorem compiled."""
    return folder / f"{digest(theorem)[:20]}.json"


def recorded(theorem: Theorem, folder: Path = RECORDS) -> dict[str, Any] | None:
    """What is recorded of a theorem, None where it never compiled.

    Raises
    ------
    InvalidParameter
        When the file is of another theorem, or names an axiom that is not one of the reals.
    """
    path = path_of(theorem, folder)
    if not path.is_file():
        return None
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if document.get("theorem") != digest(theorem):
        raise InvalidParameter(f"{path.name} records another theorem")
    _check(path, document)
    return document


def _check(path: Path, document: Mapping[str, Any]) -> None:
    if more := sorted(set(document["axioms"]) - AXIOMS):
        raise InvalidParameter(f"{path.name} rests on {more[0]}, which the reals do not assume")


def at_values(claim: str, registered: str) -> dict[str, Any] | None:
    """The record that a claim's registered statement fails at the values of a certificate."""
    for path, document in every():
        if document["claim"] == claim and document["registered"] == registered:
            _check(path, document)
            return {**document, "narrowed": [], "by": document["by"]}
    return None


def write(name: str, theorem: Theorem, found: Mapping[str, Any], folder: Path = RECORDS) -> Path:
    """Record that a theorem compiled, in place of an earlier one about the claim.

    Parameters
    ----------
    found : the way of its proof, the hash of the registered statement, the argument outside the
        theorem, the version of Coq, and the axioms.
    """
    folder.mkdir(parents=True, exist_ok=True)
    document = {"claim": name, "kind": theorem.kind, "theorem": digest(theorem), **found}
    path = path_of(theorem, folder)
    for old, other in list(every(folder)):
        if other["claim"] == name and old != path:
            old.unlink()  # of an earlier form of the statement
    path.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return path


def every(folder: Path = RECORDS) -> Iterator[tuple[Path, dict[str, Any]]]:
    """All records with their files."""
    for path in sorted(folder.glob("*.json")):
        yield path, json.loads(path.read_text(encoding="utf-8"))
