"""Why a supported deterministic statement has no proof, in one line each.

A kind says why no certificate of numbers can hold the statement, or what its proof would need.
"""

from __future__ import annotations

from collections.abc import Mapping

from trials.checks import InvalidParameter
from verify.claim import Claim
from verify.evidence import Verdict
from verify.procedures.base import PROFILES
from verify.procedures.search import Search
from verify.proofs.coq import asked
from verify.proofs.shelf import stored

#: The kinds of reasons.
KINDS = {
    "run": "the left-hand side is the outcome of an algorithm, for which the proof needs a "
    "semantics of its program",
    "law": "the left-hand side is a tail of an exact law, and no elementary inequality that is "
    "proved here is sharp enough for it",
    "quantile": "the left-hand side is a quantile of an exact law in each cell, not a formula",
    "matrix": "the statement is about the spectrum or the span of a matrix of any size, for which "
    "the checker has no terms",
    "sum": "the proof is one line about a sum over any number of terms, so that a certificate of "
    "numbers would hold none of it",
    "formula": "both sides come from one formula, so that a proof would compare it with itself",
    "open": "no argument is known here; the search has found no counterexample",
}

#: Claim -> the kind, and what is special about it.
REASONS: Mapping[str, tuple[str, str]] = {
    "ifca.identity-improves": ("law", "the worst place of both models changes with the noise"),
    "ifca.alg2-option-equality": ("run", "two options of a step are compared"),
    "ifca.alg2-participation": ("run", "a mean over all subsets of clients"),
    "ifca.comm-saving-floats": ("run", "floats are counted along a run"),
    "ifca.weight-sharing-floats": ("run", "floats are counted in a step"),
    "ifca.weight-sharing-step": ("run", "the step of a run is measured"),
    "odcl.monotone-path": ("run", "that equal weights never split a cluster is a theorem of the "
                           "literature on the path, not an inequality"),
    "odcl.a-posteriori": ("run", "clusterings of a computed path are counted"),
    "odcl.lemma2-one": ("open", "the proof reaches the constant 10, and one is tried"),
    "odcl.lemma2-order": ("run", "the best clustering of a point set is computed"),
    "odcl.approximation": ("run", "the cost of the algorithm's clustering over the best one"),
    "odcl.lemma10-on-a-line": ("open", "the worst outliers on a line are only searched"),
    "odcl.lemma3": ("quantile", "the deviation of a fit"),
    "odcl.eq9": ("quantile", "the squared error of a fit"),
    "odcl.lemma6": ("quantile", "the error of a run of SGD"),
    "odcl.lemma13": ("matrix", "moments of a sum of random matrices"),
    "odcl.lemma4": ("matrix", "its proof is a chain of matrix moments"),
    "sxy.span": ("matrix", "the rank of a sum of matrices of rank one"),
    "sxy.one-point": ("matrix", "the eigenvector of a matrix changes at the stated value"),
    "sxy.lemma4": ("matrix", "the angle of two subspaces along an iteration"),
    "sxy.lemma5-sharp": ("matrix", "the angle of two subspaces along an iteration"),
    "sxy.grouping": ("run", "connected components of a graph of distances are computed"),
    "sxy.kappa-of-most": ("matrix", "a sum of positive semidefinite matrices"),
    "sxy.floor-sqrt-kappa": ("matrix", "an order of positive semidefinite matrices"),
    "sxy.floor-sqrt-kappa-attained": ("matrix", "the trace of an inverse of a matrix"),
    "sxy.eq16": ("sum", "each wrong label is marked once or more"),
    "sxy.stable-step-needed": ("run", "the error after a round of the algorithm is measured"),
    "sxy.lemma9-count": ("run", "sign patterns of a family of polynomials are counted"),
    "sxy.lemma9-vc": ("formula", "the largest integer that meets one inequality"),
    "sxy.lemma9-below": ("run", "subsets that a construction picks are counted"),
}  # fmt: skip


def reason(claim: Claim) -> str:
    """Why a supported claim has no proof, empty where it has one or where none is asked for."""
    if claim.expected is not Verdict.SUPPORTED or is_proved(claim) is not False:
        return ""
    if claim.id not in REASONS:
        return "the prover has found no certificate"
    kind, special = REASONS[claim.id]
    return f"{special}; {KINDS[kind]}"


def table(claims: Mapping[str, Claim]) -> str:
    """The unproved claims with their reasons as a table of Markdown."""
    told = {name: reason(claim) for name, claim in claims.items()}
    rows = [f"| `{name}` | {why} |" for name, why in told.items() if why]
    return "\n".join(["| claim | why it has no proof |", "| --- | --- |", *rows])


def is_proved(claim: Claim) -> bool | None:
    """Whether a search's statement has a certificate or a record of Coq, None without a search."""
    search = claim.build(PROFILES["quick"])
    if not isinstance(search, Search):
        return None
    propositions = search.instances or (search.proposition,)
    try:
        if None not in propositions and all(stored(each) for each in propositions if each):
            return True
    except InvalidParameter:  # an operation that the checker does not know
        pass
    return asked.recorded(search, claim) is not None
