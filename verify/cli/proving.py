"""``prove`` and ``check-proof``: certificates of statements that hold over their whole domain."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from trials.checks import InvalidParameter
from trials.run.directory import find_run
from verify import session
from verify.cli import exits
from verify.cli.certified import compare, planned_of, propositions_of, require_verdict
from verify.cli.screen import print_json, say
from verify.evidence import Verdict, proof_mark
from verify.papers import catalogue
from verify.plan import Planned, plan
from verify.procedures.base import PROFILES
from verify.procedures.search import Search
from verify.proofs.certificate import NotProved
from verify.proofs.certificate import check as check_refutation
from verify.proofs.checker import Rejected, check
from verify.proofs.coq.asked import file_name, first_of
from verify.proofs.coq.compiler import copy_libraries
from verify.proofs.export import smt2
from verify.proofs.failures import FAILURES, failures, write
from verify.proofs.flattened import ABOUT, flattened, is_flat
from verify.proofs.propositions import Proposition
from verify.proofs.refuting import check_failure
from verify.proofs.shelf import CERTIFICATES, SHELF, prove, stored
from verify.selection import parse_selection, spelled
from verify.stored import claim_documents


def prove_claims(
    *,
    claims: Sequence[str],
    output: str | None,
    form: str,
    as_json: bool,
    claims_files: Sequence[str],
) -> None:
    """Search certificates of the claims and write those that are found."""
    if form == "smt2":
        _write_scripts(claims, claims_files)
        return
    if form == "coq":
        _write_theorems(claims, claims_files, Path(output or "."))
        return
    shelf = SHELF if not claims_files else Path(claims_files[-1]).resolve().parent / CERTIFICATES
    shelf = shelf if output is None else Path(output)
    found = []
    for planned in plan(catalogue(claims_files), claims, PROFILES["quick"]).claims:
        name, start = str(planned.selection), time.perf_counter()
        if planned.claim.expected is Verdict.REFUTED:
            path = _refute(planned, None if shelf == SHELF else shelf / FAILURES.name)
            found.append({"claim": name, "certificate": None if path is None else str(path)})
            if not as_json:
                told = "no exact values are known" if path is None else f"fails: {path.name}"
                say(f"{name}  {told}  {time.perf_counter() - start:.1f} s")
            continue
        propositions = propositions_of(planned.procedure)
        unwritten = _void(planned) or _unwritten(propositions)
        made = [prove(name, each, shelf) for each in propositions if not unwritten]
        paths = [path for path in made if path is not None]
        whole = bool(paths) and len(paths) == len(made)
        found.append({"claim": name, "certificate": str(paths[0]) if whole else None})
        if not as_json:
            why = "no tactic proves it" if propositions else "its two sides are not formulas"
            told = f"not proved: {unwritten or why}"
            if whole:
                proved = {**(stored(propositions[0], [shelf]) or {}),
                          "up_to": getattr(planned.procedure, "up_to", "")}  # fmt: skip
                told = f"{proof_mark(proved)}  {sum(p.stat().st_size for p in paths):,} bytes"
            say(f"{name}  {told}  {time.perf_counter() - start:.1f} s")
    if as_json:
        print_json(found)


def _void(planned: Planned) -> str:
    """That nothing meets the assumptions: a certificate would prove anything then."""
    procedure = planned.procedure
    possible = not isinstance(procedure, Search) or procedure.is_possible()
    return "" if possible else "no point of its search meets the assumptions"


def _unwritten(propositions: Sequence[Proposition]) -> str:
    """Why the checker has no form of a statement, e.g. for a floor, empty where it has one."""
    try:
        for each in propositions:
            each.statement()
    except InvalidParameter as error:
        return str(error)
    return ""


def _refute(planned: Planned, folder: Path | None) -> Path | None:
    """Store exact values at which a false statement fails, None where none pass the check."""
    for failure in failures(planned.procedure, planned.claim):
        with suppress(Rejected):
            return write(planned.claim, failure, folder or FAILURES)
    return None


def _write_scripts(claims: Sequence[str], claims_files: Sequence[str]) -> None:
    """Print the statements, over the domain of their certificates where they have one."""
    for planned in plan(catalogue(claims_files), claims, PROFILES["quick"]).claims:
        name = str(planned.selection)
        propositions = propositions_of(planned.procedure)
        if not propositions:
            raise InvalidParameter(f"{name}: its two sides are not formulas; choose another claim")
        for each in propositions:
            proved = stored(each)
            statement = each.statement() if proved is None else _of_numbers(proved)
            say(smt2(statement, "\n".join([name, *_outside(each.by, proved)])))


def _outside(by: str, proved: Mapping[str, Any] | None) -> list[str]:
    """What a solver's answer leaves out, in lines: the argument, and what a certificate shows."""
    told = [] if proved is None or is_flat(proved["statement"]) else [ABOUT]
    told += [f"Outside the statement: {by}"] if by else []
    return [line for each in told for line in textwrap.wrap(each, 96)]


def _of_numbers(proved: Mapping[str, Any]) -> Mapping[str, Any]:
    """The statement of a certificate, or with what it shows of products of vectors and sums."""
    return flattened(proved["statement"], proved["certificate"])[0]


def _write_theorems(claims: Sequence[str], claims_files: Sequence[str], folder: Path) -> None:
    """Write a file for Coq for each claim, and the libraries that it needs."""
    folder.mkdir(parents=True, exist_ok=True)
    for planned in plan(catalogue(claims_files), claims, PROFILES["quick"]).claims:
        name = str(planned.selection)
        found = first_of(planned.procedure, planned.claim)
        if found is None:
            say(f"{name}  no theorem: its two sides are not formulas that Coq can read")
            continue
        theorem, way, record = found
        path = folder / f"{file_name(name)}.v"
        path.write_text(theorem.document(way), encoding="utf-8")
        state = "not compiled yet" if record is None else f"compiled by Coq {record['coq']}"
        say(f"{name}  {path}  {theorem.theorem.kind} ({way}), {state}")
    for library in copy_libraries(folder):
        say(f"compile first: coqc -R {folder} CFL {library}")


def check_proofs(
    *, run: str, claims: Sequence[str], as_json: bool, claims_files: Sequence[str]
) -> int:
    """Check the certificates that a run stores.

    Each must fit the stored verdict and, where the claim is known here, the claim's own statement.
    The exit code is 1 where one proves nothing.
    """
    papers = catalogue(claims_files)  # a file that only the run names is not run
    store, config = session.open_run(find_run(run), readonly=True)
    with store:
        documents = claim_documents(store)
    known = spelled(documents)  # the run may have a claim's values in another order
    names = [
        name if name in documents else known.get(parse_selection(name).key, name) for name in claims
    ]
    if unknown := sorted(set(names) - set(documents)):
        raise InvalidParameter(f"{unknown[0]}: the run has not decided this claim")
    found: list[dict[str, Any]] = []
    good = True
    for name in names or documents:
        evidence = documents[name]["evidence"]
        if not any(evidence.get(kind) for kind in _CERTIFICATES):
            if claims:
                found.append({"claim": name, "result": "the run stores no certificate"})
                good = False
            continue
        try:
            result = _certified(evidence)
            require_verdict(evidence)
            planned = planned_of(papers, name, config.profile)
            if planned is None:
                result += "; its statement was not compared, as this claim is not known here"
            else:
                compare(planned, evidence)
        except (Rejected, NotProved) as error:  # its words may come from the run: they say nothing
            result, good = f"rejected: {error}", False
        except (LookupError, TypeError, AttributeError):
            result, good = "rejected: the document is no certificate", False
        found.append({"claim": name, "result": result})
    if as_json:
        print_json(found)
    else:
        for each in found:
            say(f"{each['claim']}  {each['result']}")
        if not found:
            say("the run stores no certificate")
    return exits.EXPECTED if good else exits.UNEXPECTED


#: The parts of evidence that certify a verdict.
_CERTIFICATES = ("proved", "proof", "failure", "coq")


def _certified(evidence: Mapping[str, Any]) -> str:
    """What the certificates of evidence show, each of them checked.

    Raises
    ------
    Rejected, NotProved
        When one of them shows nothing.
    """
    proved, refuted, failure = (evidence.get(kind) for kind in ("proved", "proof", "failure"))
    coq = evidence.get("coq")
    if proved:
        for each in (proved, *proved.get("others", ())):
            check(each["statement"], each["certificate"])
    if refuted:
        check_refutation(refuted)
    if failure:
        check_failure(failure["statement"], failure["values"])
    if proved:
        return proof_mark(proved)
    if refuted or failure or coq is None:
        return "REFUTED, proved"
    shown = "REFUTED" if coq["kind"] == "negation" else proof_mark(coq)
    return f"{shown}, recorded as compiled by Coq {coq['coq']}"
