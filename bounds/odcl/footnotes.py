"""Footnotes 3 and 7 of ODCL: penalties that recover, and the two ends of the path."""

from __future__ import annotations

from bounds.odcl.assumptions import statement
from bounds.odcl.convex import ALL, FUSED, MERGED
from bounds.odcl.symbols import (
    closest,
    diameter,
    eta,
    gap,
    lam,
    m,
    radius,
    size_min,
)

FOOTNOTE_3_AS_PRINTED = statement(
    "odcl.footnote3-as-printed",
    "The lower end of the interval of footnote 3",
    "footnote 3, as printed",
    quantifiers=ALL,
    observed=FUSED,
    terms={"radius over size": radius / size_min},
)
FOOTNOTE_3 = statement(
    "odcl.footnote3",
    "The lower end of footnote 3 with the diameter's bound",
    "footnote 3, corrected",
    quantifiers=ALL,
    observed=FUSED,
    terms={"radius over size": 2 * radius / size_min},
    reading="(14) bounds the diameter by twice the radius. The footnote drops the factor.",
    uses=("odcl.eq13-lower",),
)
_FOOTNOTE_UPPER = gap / (2 * (m - size_min))
FOOTNOTE_3_UPPER = statement(
    "odcl.footnote3-upper",
    "Below the upper end of footnote 3 no two clusters are one",
    "footnote 3, upper end",
    quantifiers=ALL,
    observed=MERGED,
    relation=r"\ge",
    terms={"gap over others": _FOOTNOTE_UPPER},
    uses=("odcl.eq13-upper",),
)
FOOTNOTE_3_CLOSED = statement(
    "odcl.footnote3-closed",
    "The upper end of footnote 3 itself recovers",
    "footnote 3, as printed (a closed interval)",
    quantifiers=r"\forall D>0,\ |C_1|=|C_2|",
    observed=r"\text{two clusters at}\ \lambda",
    relation="=",
    terms={"gap over others": _FOOTNOTE_UPPER},
    reading="The interval is printed with a closing bracket at both ends.",
)

FOOTNOTE_7_UI = statement(
    "odcl.footnote7-ui",
    "For a small penalty the solution is the data",
    "footnote 7, first sentence",
    quantifiers=r"\forall\{a_i\}\;\forall\eta>0,\ \lambda\ \text{small}",
    observed=r"\max_i\norm{u_i^\star-a_i}",
    terms={"any share of the penalty": eta * lam},
    reading="Equality $u_i^\\star=a_i$ would give this bound for every $\\eta>0$.",
)
FOOTNOTE_7_DISTANCE = statement(
    "odcl.footnote7-distance",
    "The solution leaves the data at most in proportion to the penalty",
    "footnote 7, corrected",
    quantifiers=r"\forall\{a_i\},\lambda\ge0",
    observed=r"\max_i\norm{u_i^\star-a_i}",
    terms={"pull of the others": (m - 1) * lam},
    reading=(
        "$a_i-u_i^\\star$ is $\\lambda$ times a sum of $m-1$ vectors of length at most one. On a "
        "line the outermost point moves by exactly this."
    ),
)
FOOTNOTE_7_K_AS_PRINTED = statement(
    "odcl.footnote7-k-as-printed",
    "A penalty that leaves all points apart always exists",
    "footnote 7, last sentence, as printed",
    quantifiers=r"\forall\{a_i\},\ \lambda\ \text{small}",
    observed=r"K_\lambda",
    relation=r"\ge",
    terms={"all points": m},
)
FOOTNOTE_7_SINGLETONS = statement(
    "odcl.footnote7-singletons",
    "Below this penalty distinct points stay apart",
    "footnote 7, with its threshold (corrected: for distinct points)",
    quantifiers=r"\forall\{a_i\}\ \text{distinct}",
    observed=r"\lambda_{merged}(\{a_1\},\dots,\{a_m\})",
    relation=r"\ge",
    terms={"closest pair": closest / m},
    reading="The sharpened upper end for clusters of one point each. Duplicates fuse at zero.",
    uses=("odcl.eq13-sharp",),
)
FOOTNOTE_7_ONE = statement(
    "odcl.footnote7-one",
    "From this penalty on there is one cluster",
    "footnote 7, with its threshold",
    quantifiers=r"\forall\{a_i\}",
    observed=r"\lambda_{fused}(\{a_1,\dots,a_m\})",
    terms={"diameter": diameter / m},
    uses=("odcl.eq13-lower",),
)
