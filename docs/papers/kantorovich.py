"""A Search: Kantorovich's inequality, which gives the rate of gradient descent.

cfl-verify run --claims docs/papers/kantorovich.py 'kantorovich.*'
"""

import sympy as sp

from verify import api

mu, L, s = sp.symbols("mu L s")
KANTOROVICH = api.Publication(
    label="Kantorovich, Uspekhi Mat. Nauk 1948",
    bibtex="@article{kantorovich1948, author = {Kantorovich, L. V.}, year = {1948}}",
    notation=api.Notation(
        table=(
            (r"$\mu,L$", "smallest and largest eigenvalue of $A$"),
            ("$s$", r"share of the unit vector $x$ along the eigenvector of $\mu$"),
        )
    ),
)
INEQUALITY = api.Statement(
    id="kantorovich.inequality",
    title="Kantorovich's inequality in the plane of the extreme eigenvectors",
    publication=KANTOROVICH,
    source="Lemma, (1)",
    kind="deterministic",
    quantifiers=r"\forall 0<\mu\le L,\ s\in[0,1]",
    observed=r"(x^\top Ax)(x^\top A^{-1}x)",
    terms=(api.Term(name="limit", expr=(mu + L) ** 2 / (4 * mu * L)),),
    assumptions=(api.Assumption(name="the order of the eigenvalues", left=L, right=mu),),
)


@api.claim("kantorovich.inequality", INEQUALITY)
def inequality(statement, profile):
    """The left side is written here.  The right side, the relation and L >= mu are the statement's.

    Logarithmic intervals draw condition numbers up to 1e6, where the inequality is far from tight.
    """
    domain = {
        "mu": api.LogInterval(1e-3, 1e3),
        "L": api.LogInterval(1e-3, 1e3),
        "s": api.Interval(0.0, 1.0),
    }
    left = (s * mu + (1 - s) * L) * (s / mu + (1 - s) / L)
    return api.search(statement, profile, left, domain)


PAPER = api.Paper(
    id="kantorovich",
    title="Kantorovich's inequality",
    publications=(KANTOROVICH,),
    claims=(inequality,),
)
