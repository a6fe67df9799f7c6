"""The conformance suite of a paper: is each claim complete, and does it depend on its statement?

    for fault in examine(catalogue(["mypaper.py"]), ["mypaper.tail"]):
        print(fault)

A check is a function that gets a `Case` and yields a sentence for each fault.  The suite's own
papers pass all checks (``tests/test_every_claim.py``), and ``cfl-verify check-paper FILE.py`` asks
the same of a paper of one's own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from trials.checks import shown
from trials.run.store import StoreError
from trials.sources import user_line
from verify.conformance import depending, saying, trying
from verify.conformance.case import Case, Check
from verify.papers import Catalogue
from verify.procedures.interface import Procedure

_LONGEST = 500

#: The checks by name, the cheap ones first.
CHECKS: dict[str, Check] = {
    check.__name__.replace("_", "-"): check
    for check in (*saying.CHECKS, *trying.CHECKS, *depending.CHECKS)
}


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A sentence that says what a claim lacks, and the check that found it."""

    claim: str
    check: str
    told: str

    def __str__(self) -> str:
        return f"{self.claim}: {self.told}  [{self.check}]"


def examine(
    found: Catalogue, names: Collection[str], without: Collection[str] = ()
) -> Iterator[Fault]:
    """The faults of some claims of a catalogue, by all checks but those named in ``without``.

    A claim that cannot be built has one fault, the error of its builder.  Where a check itself
    ends in an error, of a function of the claim or of a value of a wrong type, that is a fault too.

    Raises
    ------
    MemoryError, OSError, StoreError
        Errors of the machine, which say nothing of a claim.
    """
    for name in names:
        case = Case(found, name)
        if unbuilt := _why_not_built(case):
            yield Fault(claim=name, check="builds", told=f"it cannot be built: {unbuilt}")
            continue
        for title, check in CHECKS.items():
            if title not in without:
                yield from (
                    Fault(claim=name, check=title, told=told) for told in _told(check, case)
                )


def _why_not_built(case: Case) -> str:
    """The error of a claim's builder or of its procedure's description, empty where both work."""
    try:
        if not isinstance(case.built, Procedure):
            return f"its builder returns {shown(case.built)}, which is no procedure"
        case.built.describe()
    except (MemoryError, OSError, StoreError):
        raise
    except (ValueError, ArithmeticError) as error:
        return str(error)
    except Exception as error:  # a value of a wrong type: it is told with its line
        return _spelled(error)
    return ""


def _told(check: Check, case: Case) -> Iterator[str]:
    """The faults that a check finds, its own error as the last one."""
    try:
        yield from check(case)
    except (MemoryError, OSError, StoreError):
        raise
    except Exception as error:
        yield f"the check ends in {_spelled(error)}"


def _spelled(error: Exception) -> str:
    """An error with its type, and with the line of the user's file that it passed."""
    line = user_line(error)
    place = f" ({Path(line.filename).name}, line {line.lineno})" if line else ""
    return " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST] + place


__all__ = ["CHECKS", "Case", "Check", "Fault", "examine"]
