"""Whether the certificates that a run stores fit its verdicts and the claims' own statements.

A certificate is checked against the statement beside it.  Both come from the run, so a run could
hold a proof of another statement, or one that shows the opposite of its verdict.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from bounds.statement import OutsideTheorem
from trials.checks import InvalidParameter
from verify.decisions.domain import Box, as_domain
from verify.evidence import proof_mark
from verify.papers import Catalogue
from verify.plan import Planned, plan
from verify.procedures.base import PROFILES
from verify.procedures.interface import Procedure
from verify.procedures.probability import Probability
from verify.procedures.search import Search
from verify.proofs.certificate import proof
from verify.proofs.checker import Rejected
from verify.proofs.coq.asked import recorded
from verify.proofs.failures import for_the_checker
from verify.proofs.failures import stored as stored_failure
from verify.proofs.propositions import Proposition, widens


def require_verdict(evidence: Mapping[str, Any]) -> None:
    """Refuse certificates that show another verdict than the one beside them.

    Raises
    ------
    Rejected
    """
    shown = {"SUPPORTED": evidence.get("proved"), "REFUTED": evidence.get("proof")}
    found = {verdict for verdict, each in shown.items() if each}
    found |= {"REFUTED"} if evidence.get("failure") else set()
    if coq := evidence.get("coq"):
        found.add("REFUTED" if coq["kind"] == "negation" else "SUPPORTED")
    if found - {evidence["verdict"]}:
        raise Rejected("it shows another verdict than the stored one")


def planned_of(papers: Catalogue, name: str, profile: str) -> Planned | None:
    """A stored claim as it is planned here, None where it is not known or cannot be planned."""
    try:
        (found,) = plan(papers, [name], PROFILES[profile]).claims
    except (InvalidParameter, OutsideTheorem, LookupError, ValueError):
        return None
    return found


def compare(planned: Planned, evidence: Mapping[str, Any]) -> None:
    """Refuse certificates of another statement than the claim's.

    Raises
    ------
    Rejected
    """
    procedure = planned.procedure
    if proved := evidence.get("proved"):
        _require(_is_of(procedure, proved), "it proves another statement than the claim's")
    if refuted := evidence.get("proof"):
        own = _certificate(procedure, evidence)
        _require(own == _plain(refuted), "it refutes another statement than the claim's")
    if failure := evidence.get("failure"):
        own = _failing(planned, procedure)
        _require(_plain(failure["statement"]) in own, "another statement than the claim's fails")
    if coq := evidence.get("coq"):
        record = recorded(procedure, planned.claim)
        _require(_plain(record) == _plain(coq), "no such theorem of Coq is recorded of the claim")


def _require(met: bool, why: str) -> None:
    if not met:
        raise Rejected(why)


def _plain(document: Any) -> Any:
    """A document as a run stores it: JSON has no tuples."""
    return json.loads(json.dumps(document))


def propositions_of(procedure: Procedure) -> tuple[Proposition, ...]:
    """The statement of a procedure as a proposition, or for each of some sizes, or none."""
    if not isinstance(procedure, Search):
        return ()
    return procedure.instances or ((procedure.proposition,) if procedure.proposition else ())


def _is_of(procedure: Procedure, proved: Mapping[str, Any]) -> bool:
    """Whether stored proofs are of a procedure's statement, and say what they leave out.

    A statement that is proved for several sizes needs each of them.
    """
    stored = [proved, *proved.get("others", ())]
    if isinstance(procedure, Probability):
        return _are_of_cells(procedure, stored)
    own = propositions_of(procedure)
    if not isinstance(procedure, Search) or len(own) != len(stored):
        return False
    pairs = zip(stored, own, strict=True)
    if not all(widens(each["statement"], _plain(p.statement())) for each, p in pairs):
        return False
    narrowed = own[0].optional(stored[0]["statement"])
    up_to = procedure.up_to if procedure.instances else ""
    return proof_mark(proved) == proof_mark({"narrowed": narrowed, "by": own[0].by, "up_to": up_to})


def _are_of_cells(procedure: Probability, stored: Sequence[Mapping[str, Any]]) -> bool:
    """Whether stored proofs are of cells of a procedure, each of its own.  Void cells have none."""
    own = [procedure.prove([cell]) for cell in procedure.cells]
    statements = [_plain(each["statement"]) for each in own if each is not None]
    for each in stored:
        if each["statement"] not in statements:
            return False
        statements.remove(each["statement"])
    return proof_mark(stored[0]) == f"PROVED FOR {len(stored)} cells"


def _certificate(procedure: Procedure, evidence: Mapping[str, Any]) -> Any:
    """The certificate that a procedure makes of a stored counterexample, None without one."""
    certify = getattr(procedure, "certify", None)
    if certify is None or not isinstance(procedure, Search):
        return _plain(proof(certify))
    try:  # the point comes from the run, and may be any JSON
        point, domain = evidence["witness"]["params"], as_domain(procedure.domain)
        inside = not isinstance(domain, Box) or domain.contains(point)
        return _plain(proof(partial(certify, point))) if inside else None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise Rejected("its counterexample is no point of the claim's domain") from error


def _failing(planned: Planned, procedure: Procedure) -> list[Any]:
    """The forms of a claim's statement that exact values may refute."""
    own = stored_failure(planned.claim)
    found = [] if own is None else [own["statement"]]
    return [_plain(each) for each in (*found, *_statements(procedure))]


def _statements(procedure: Procedure) -> Iterator[Mapping[str, Any]]:
    for proposition in propositions_of(procedure):
        try:
            yield for_the_checker(proposition.statement())
        except InvalidParameter:  # an operation that the checker does not know
            continue
