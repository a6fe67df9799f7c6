"""A statement as a theorem of Coq: its domain as hypotheses, its claim as the conclusion."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trials.checks import InvalidParameter
from verify.proofs.coq.gallina import above_zero, definedness, identifier, negated, relation

HEAD = """From Coq Require Import Reals Lra Psatz Lia.
From CFL Require Import CFL.
Open Scope R_scope.
"""
#: What a proof by interval arithmetic or by a derivative needs more.
ANALYSIS = "From CFL Require Import Analysis.\nFrom Coquelicot Require Import Coquelicot.\n"
_ANALYSIS = re.compile(r"\b(interval|number|grows|auto_derive)\b")


@dataclass(frozen=True, kw_only=True)
class Theorem:
    """What Coq is asked to prove.

    Attributes
    ----------
    kind : ``inequality`` and ``identity`` hold on a whole domain, ``negation`` says that one of
        them fails somewhere in it.
    text : the proposition in Gallina.
    about : the claim, its source and its reading, for a comment.
    """

    kind: str
    text: str
    about: str

    def document(self, script: str) -> str:
        """The file with the theorem and a proof of it."""
        # Coq reads texts in a comment, and refuses one that does not end
        about = self.about.replace("(*", "( *").replace("*)", "* )").replace('"', "'")
        comment = textwrap.fill(about, 96, initial_indent="(* ", subsequent_indent="   ") + " *)"
        more = ANALYSIS if _ANALYSIS.search(script) else ""
        return f"{comment}\n\n{more}{HEAD}\nTheorem holds :\n{self.text}.\nProof.\n{script}\nQed.\n"


def whole(statement: Mapping[str, Any], about: str) -> Theorem:
    """The statement for all values of its variables at which the given relations hold.

    Raises
    ------
    InvalidParameter
        When a root of order three or more is given of what may be zero: ``Rpower 0 (1 / 3)`` is 1,
        so that the theorem would leave zero out.
    """
    given = list(map(relation, statement["given"]))
    roots = above_zero(*(term for each in statement["given"] for term in each[1:]))
    if left := [condition for condition in roots if condition not in given]:
        raise InvalidParameter(f"a root of order three or more needs {left[0]} in Coq")
    kind = "identity" if statement["claim"][0] == "=" else "inequality"
    return Theorem(kind=kind, text=_for_all(statement), about=about)


def negation(statement: Mapping[str, Any], about: str) -> Theorem:
    """That there are values in the statement's domain at which its claim fails."""
    hypotheses, _ = sides(statement)
    names = " ".join(map(identifier, statement["variables"]))
    parts = [*hypotheses, *definedness(*statement["claim"][1:]), negated(statement["claim"])]
    some = f"  exists {names} : R,\n" if names else ""
    text = f"{some}  " + " /\\\n  ".join(dict.fromkeys(parts))
    return Theorem(kind="negation", text=text, about=about)


def sides(statement: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The hypotheses and the conclusions, each of the latter that no hypothesis says."""
    given = list(dict.fromkeys(map(relation, statement["given"])))
    defined = definedness(*(term for each in statement["given"] for term in each[1:]))
    hypotheses = [each for each in defined if not _said(each, given)] + given
    more = definedness(*statement["claim"][1:])
    return hypotheses, [relation(statement["claim"]),
                        *(each for each in more if not _said(each, hypotheses))]  # fmt: skip


def _said(condition: str, given: Sequence[str]) -> bool:
    """Whether a condition is one of some, or its variable is above zero by one of them."""
    base = condition.removesuffix(" <> 0").removeprefix("0 <= ").removeprefix("0 < ")
    return condition in given or (f"0 < {base}" in given and condition != base)


def _for_all(statement: Mapping[str, Any]) -> str:
    hypotheses, conclusions = sides(statement)
    names = " ".join(map(identifier, statement["variables"]))
    lines = [f"  forall {names} : R,"] if names else []
    lines += [f"  {each} ->" for each in hypotheses]
    return "\n".join([*lines, "  " + " /\\\n  ".join(conclusions)])


def conditions(statement: Mapping[str, Any]) -> list[str]:
    """The conditions of definedness that a theorem `whole` states beside its claim."""
    return sides(statement)[1][1:]


def proof_of_negation(statement: Mapping[str, Any], witness: Mapping[str, str]) -> str:
    """The proof of a theorem `negation`, by values at which the claim fails."""
    lines = [f"exists ({witness[name]})." for name in statement["variables"]]
    return "\n".join([*lines, "repeat split; number."])
