"""Known results on which a proof may rest outside its certificate, each with its source.

A certificate of `verify.proofs.checker` proves a relation between numbers.  A statement about point
sets, matrices or laws follows from it by such a result, which the verdict names.
"""

from __future__ import annotations

from dataclasses import dataclass

from trials.checks import InvalidParameter


@dataclass(frozen=True, kw_only=True)
class Lemma:
    """A known result.

    Attributes
    ----------
    name : as it is cited in a sentence.
    says : the result with inline math.
    source : where it is proved.
    """

    name: str
    says: str
    source: str


#: The results by key.
LEMMAS = {
    "triangle": Lemma(
        name="the triangle inequality",
        says="$|x+y|\\le|x|+|y|$",
        source="Horn and Johnson, Matrix Analysis, section 5.1",
    ),
    "cauchy-schwarz": Lemma(
        name="the Cauchy-Schwarz inequality",
        says="$(x^Ty)^2\\le|x|^2|y|^2$",
        source="Horn and Johnson, Matrix Analysis, theorem 0.6.3",
    ),
    "operator-norm": Lemma(
        name="the operator norm's inequality",
        says="$|Ax|\\le\\|A\\||x|$",
        source="Horn and Johnson, Matrix Analysis, section 5.6",
    ),
    "rayleigh": Lemma(
        name="the Rayleigh quotient's limits",
        says="$\\lambda_{\\min}|x|^2\\le x^TAx\\le\\lambda_{\\max}|x|^2$ for symmetric $A$",
        source="Horn and Johnson, Matrix Analysis, theorem 4.2.2",
    ),
    "spectral": Lemma(
        name="the spectral theorem",
        says="a polynomial $f$ of a symmetric matrix has the eigenvalues $f(\\lambda_i)$",
        source="Horn and Johnson, Matrix Analysis, theorem 4.1.5",
    ),
    "weyl": Lemma(
        name="Weyl's inequality",
        says="$|\\lambda_i(A+B)-\\lambda_i(A)|\\le\\|B\\|$ for symmetric $A$ and $B$",
        source="Horn and Johnson, Matrix Analysis, theorem 4.3.1",
    ),
    "davis-kahan": Lemma(
        name="the theorem of Davis and Kahan",
        says="the sine of the angle between two eigenspaces is at most the norm of the "
        "perturbation over the gap",
        source="Davis and Kahan, SIAM J. Numer. Anal. 7, 1970",
    ),
    "jensen": Lemma(
        name="Jensen's inequality",
        says="$f(EX)\\le Ef(X)$ for convex $f$",
        source="Boucheron, Lugosi and Massart, Concentration Inequalities, section 2.1",
    ),
    "union-bound": Lemma(
        name="the union bound",
        says="$P(\\bigcup_iA_i)\\le\\sum_iP(A_i)$",
        source="Boucheron, Lugosi and Massart, Concentration Inequalities, section 1.2",
    ),
    "markov": Lemma(
        name="Markov's inequality",
        says="$P(X\\ge t)\\le EX/t$ for $X\\ge0$ and $t>0$",
        source="Boucheron, Lugosi and Massart, Concentration Inequalities, section 2.1",
    ),
    "chebyshev": Lemma(
        name="Chebyshev's inequality",
        says="$P(|X-EX|\\ge t)\\le\\mathrm{Var}X/t^2$ for $t>0$",
        source="Boucheron, Lugosi and Massart, Concentration Inequalities, section 2.1",
    ),
    "cantelli": Lemma(
        name="Cantelli's inequality",
        says="$P(X-EX\\ge t)\\le\\mathrm{Var}X/(\\mathrm{Var}X+t^2)$ for $t>0$",
        source="Boucheron, Lugosi and Massart, Concentration Inequalities, exercise 2.3",
    ),
    "chernoff": Lemma(
        name="Chernoff's bound",
        says="$P(X\\ge0)\\le Ee^{sX}$ for $s\\ge0$",
        source="Boucheron, Lugosi and Massart, Concentration Inequalities, section 2.2",
    ),
    "hoeffding": Lemma(
        name="Hoeffding's inequality",
        says="$P(S-ES\\ge t)\\le e^{-2t^2/n}$ for $t\\ge0$ and $n$ independent terms in $[0,1]$",
        source="Boucheron, Lugosi and Massart, Concentration Inequalities, theorem 2.8",
    ),
    "pinelis": Lemma(
        name="Pinelis' inequality",
        says="$P(|\\bar X|\\ge t)\\le2e^{-nt^2/(2N^2)}$ for $t\\ge0$ and the mean of $n$ "
        "independent vectors of mean zero and length at most $N$",
        source="Pinelis, Ann. Probab. 22, 1994, theorem 3.5",
    ),
    "tropp": Lemma(
        name="Tropp's matrix Hoeffding inequality",
        says="$P(\\|\\bar X\\|\\ge t)\\le2de^{-nt^2/(8L^2)}$ for the mean of $n$ independent "
        "symmetric $d\\times d$ matrices of mean zero and norm at most $L$, $t\\ge0$",
        source="Tropp, Found. Comput. Math. 12, 2012, theorem 1.3",
    ),
    "davidson-szarek": Lemma(
        name="Davidson and Szarek's theorem",
        says="$P(\\|X\\|\\ge\\sqrt N+\\sqrt d+t)\\le e^{-t^2/2}$ for $N\\times d$ independent "
        "standard normal entries and $t\\ge0$",
        source="Davidson and Szarek, Handbook of the Geometry of Banach Spaces 1, 2001, "
        "theorem II.13",
    ),
    "bernoulli": Lemma(
        name="Bernoulli's inequality",
        says="$(1+x)^r\\ge1+rx$ for $x\\ge-1$ and $r\\ge1$",
        source="Hardy, Littlewood and Polya, Inequalities, section 2.15",
    ),
    "wendel": Lemma(
        name="Wendel's inequality",
        says="$\\Gamma(x+\\frac12)\\le\\sqrt x\\,\\Gamma(x)$",
        source="Wendel, Amer. Math. Monthly 55, 1948",
    ),
    "sphere-cap": Lemma(
        name="the share of a cap of a sphere",
        says="a cap of angular radius $\\varphi\\le\\frac\\pi2$ is at most the share "
        "$\\frac12\\sin^n\\varphi$ of the sphere in $R^{n+1}$",
        source="Ball, An Elementary Introduction to Modern Convex Geometry, lemma 2.2",
    ),
    "minkowski": Lemma(
        name="Minkowski's inequality",
        says="$(E(X+Y)^2)^{1/2}\\le(EX^2)^{1/2}+(EY^2)^{1/2}$",
        source="Hardy, Littlewood and Polya, Inequalities, section 6.13",
    ),
    "exponential": Lemma(
        name="the exponential's limit from above",
        says="$(1-q/n)^n\\le e^{-q}$ for $0\\le q\\le n$",
        source="Hardy, Littlewood and Polya, Inequalities, section 4.9",
    ),
    "induction": Lemma(
        name="induction over the steps",
        says="a recursion that keeps a bound in every step keeps it in all of them",
        source="Graham, Knuth and Patashnik, Concrete Mathematics, section 1.1",
    ),
    "fusion": Lemma(
        name="the condition of fusion in convex clustering",
        says="$N$ points are one at $\\lambda$ exactly when numbers $f_{ij}=-f_{ji}$, "
        "$|f_{ij}|\\le\\lambda$, have $\\sum_jf_{ij}=a_i-\\bar a$, and the other points do not "
        "matter",
        source="Chiquet, Gutierrez and Rigaill, J. Comput. Graph. Stat. 26, 2017; Panahi et al., "
        "ICML 2017",
    ),
    "balance": Lemma(
        name="the balance of fused clusters",
        says="clusters that are one act as their means $b_k$ with masses $n_k$: flows of at most "
        "$\\lambda$ have $\\sum_ln_lf_{kl}=b_k-\\bar b$",
        source="Chiquet, Gutierrez and Rigaill, J. Comput. Graph. Stat. 26, 2017",
    ),
    "stationarity": Lemma(
        name="the condition of a minimiser",
        says="zero is a subgradient of a convex function at its minimiser, and those of a norm "
        "have length at most one",
        source="Rockafellar, Convex Analysis, theorem 27.1",
    ),
    "mean-value": Lemma(
        name="the mean value theorem",
        says="$f(b)-f(a)\\ge k(b-a)$ where $f'\\ge k$ between $a$ and $b$",
        source="Rudin, Principles of Mathematical Analysis, theorem 5.10",
    ),
    "projection": Lemma(
        name="the best approximation of rank $K$",
        says="the projection $P$ onto the top $K$ right singular vectors has "
        "$\\|A-AP\\|\\le\\|A-C\\|$ for all $C$ of rank $K$, and lengthens no vector",
        source="Horn and Johnson, Matrix Analysis, section 7.4 (Eckart, Young and Mirsky)",
    ),
}


def is_claim(key: str) -> bool:
    """Whether a key is the id of a claim, e.g. ``ifca.lemma1``."""
    return "." in key


def lemmas(keys: tuple[str, ...]) -> tuple[Lemma, ...]:
    """The results of some keys, claims left out.

    Raises
    ------
    InvalidParameter
        When a key names no result.
    """
    keys = tuple(key for key in keys if not is_claim(key))
    if unknown := [key for key in keys if key not in LEMMAS]:
        raise InvalidParameter(f"{unknown[0]!r} is no lemma; known are {', '.join(sorted(LEMMAS))}")
    return tuple(LEMMAS[key] for key in keys)


def cited(keys: tuple[str, ...]) -> str:
    """The results in a sentence, each with its source."""
    each = [f"{lemma.name} ({lemma.says}; {lemma.source})" for lemma in lemmas(keys)]
    each += [f"the claim {key}" for key in keys if is_claim(key)]
    return f"It uses {'; '.join(each)}." if each else ""
