"""All claims, by id."""

from __future__ import annotations

from functools import cache

from verify.claim import Claim
from verify.claims.ifca import claims as ifca_claims


@cache
def catalogue() -> dict[str, Claim]:
    """Every registered claim in the catalogue's order; ids are unique."""
    claims: dict[str, Claim] = {}
    for claim in ifca_claims():
        if claim.id in claims:
            raise ValueError(f"claim id {claim.id!r} is registered twice")
        claims[claim.id] = claim
    return claims
