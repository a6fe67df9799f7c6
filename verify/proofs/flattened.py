"""A statement about vectors, sums and recursions as one about numbers, with what is shown of them.

The steps ``gram``, ``each`` and ``induct`` of a certificate show relations between products of
vectors, sums and the last numbers of a recursion.  With these given, a statement about the numbers
is left.  Coq and SMT-LIB have terms for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trials.checks import InvalidParameter
from verify.proofs.checker import Goal, Rejected, goal_of, left_by

ABOUT = (
    "The numbers are products of vectors, sums over families and the last ones of recursions. What "
    "is given of them beside the "
    "statement's own relations is shown by the certificate, which the suite's checker verifies."
)


def is_flat(statement: Mapping[str, Any]) -> bool:
    """Whether a statement has neither vectors nor families nor recursions."""
    return not statement.keys() & {"vectors", "sums", "runs"}


def flattened(
    statement: Mapping[str, Any], certificate: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The statement about numbers with its certificate: the given one without those steps.

    Steps that end a branch are not checked again.

    Raises
    ------
    InvalidParameter
        When a relation is shown in one of two cases, as it may fail in the other one.
    """
    if is_flat(statement):
        return dict(statement), dict(certificate)
    shown: list[Goal] = []

    def without(goal: Goal, step: Mapping[str, Any], whole: Goal | None = None) -> dict[str, Any]:
        """The step without those that show relations.  ``whole`` is the goal before all cases."""
        if "then" not in step:  # it shows nothing to later steps
            return dict(step)
        goals, below = left_by(goal, step), step["then"]
        if step["step"] in ("gram", "each", "induct"):
            if whole is not None:
                _require_everywhere(whole, step)
            shown.append(goals[-1])
            return without(goals[-1], below[-1], whole)
        whole = goal if whole is None and step["step"] == "cases" else whole
        then = [without(*pair, whole) for pair in zip(goals, below, strict=True)]
        return {**step, "then": then} if then else dict(step)

    start = goal_of(statement)
    left = without(start, certificate)
    variables = dict.fromkeys(x for goal in (start, *shown) for x in goal.variables)
    facts = [*start.given, *(goal.given[-1] for goal in shown)]
    given = [[relation, term, "0"] for relation, term in facts]
    relation, term = start.claim
    return {
        "variables": list(variables),
        "given": [each for i, each in enumerate(given) if each not in given[:i]],
        "claim": [relation, term, "0"],
    }, left


def _require_everywhere(whole: Goal, step: Mapping[str, Any]) -> None:
    """Refuse a relation that a step shows in a case and that may fail outside of it.

    A product of vectors is defined, and its relation holds, in the goal before the cases.
    Otherwise the theorem would leave out the points at which the relation is undefined.
    """
    try:
        everywhere = step["step"] == "gram" and bool(left_by(whole, step))
    except Rejected:
        everywhere = False
    if not everywhere:
        raise InvalidParameter("a relation that one case shows is not given in the other")
