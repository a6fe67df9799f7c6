r"""The letters, the publication and the shared expressions of ODCL.

ODCL clusters, once, the local models that m users send, and averages them within each cluster.  The
paper uses several letters twice.  Where two meanings meet, the names here differ:

==========================  ===================  ================================================
paper                       here                 meaning
==========================  ===================  ================================================
:math:`m`                   ``m``                users; in Appendix B.2 the paper writes n
:math:`n`                   ``n``                samples of a user
:math:`d`                   ``d``                dimension of a model
:math:`K`                   ``k``                clusters
:math:`|C_k|`               ``size_k``           users of cluster k
:math:`|C_{(1)}|`           ``size_max``         users of the largest cluster
:math:`|C_{(K)}|`           ``size_min``         users of the smallest cluster
:math:`D`                   ``Delta``            smallest distance of two population optima
:math:`\alpha`              ``alpha``            separation, Definition 1
:math:`\alpha_k`            ``alpha_k``          exponent of Lemma 4
:math:`c`                   ``c``                constant of spectral k-means
:math:`\lambda`             ``lam``              penalty of convex clustering
:math:`\lambda_k`           ``lambda_k``         constant of Lemma 4
:math:`\rho_k,\ \rho`       ``rho_k``, ``rho``   radius of :math:`U_k`; split of Appendix E
:math:`\varepsilon`         ``varepsilon``       accuracy of a local fit
:math:`\epsilon`            ``epsilon``          free parameter of Lemma 3
==========================  ===================  ================================================
"""

from __future__ import annotations

import sympy as sp

from bounds.render import Notation
from bounds.statement import Publication

NOTATION = Notation(
    letters={
        "k": "K",
        "Delta": "D",
        "lam": r"\lambda",
        "size_k": "|C_k|",
        "size_l": "|C_l|",
        "size_min": "|C_{(K)}|",
        "size_second": "|C_{(K-1)}|",
        "size_max": "|C_{(1)}|",
        "radius": r"\max_{i,k}\norm{\mu_k-a_i}",
        "diameter_k": r"\max_{i,j\in C_k}\norm{a_i-a_j}",
        "distance_kl": r"\norm{\mu_k-\mu_l}",
        "gap": r"\min_{k\ne l}\norm{\mu_k-\mu_l}",
        "closest": r"\min_{i\ne j}\norm{a_i-a_j}",
        "diameter": r"\max_{i,j}\norm{a_i-a_j}",
        "spectral": r"\norm{A-C}",
        "offset_k": r"\norm{\mu_k-\bar\mu}",
        "weight": r"w_{kl}",
        "distance_sq": r"\norm{U-V}^2",
        "clusters_before": r"K_\lambda",
        "cost_before": r"J_t",
        "total_sq": r"\sum_{i\in C_k}\norm{\hat\theta_i-\theta_k^\star}^2",
        "floor_sq": r"\sum_{l\ne k}\epsilon_{kl}^2D_{kl}",
        "reach_sq": r"\sum_{l\ne k}\epsilon_{kl}D_{kl}",
        "variance": r"v",
        "eps_k": r"\epsilon_k",
        "free": "f",
        "mu": r"\mu_F",
        "mu_f": r"\mu_f",
        "N": "N_k",
        "F_star": r"F_k(\theta_k^\star)",
        "G_F": "G_{F_k}",
        "M_bar": r"\overline{M}",
        "ratio": r"\frac{n}{\log n}",
        "slack": r"\varepsilon\xi_F",
        "largest": r"\max_{j\in C_k}\norm{\hat\theta_j-\theta_k^\star}",
        "grad": r"\norm{\nabla f(\theta^\star)}",
        "mean_square": r"E\norm{\theta_1-\theta^\star}^2",
        "squared_bias": r"\norm{E\theta_1-\theta^\star}^2",
        "order": "k",
        "spread": r"\norm{(\sum_iEX_i^2)^{1/2}}",
        "largest_norm": r"(E\max_i\norm{X_i}^k)^{1/k}",
        "variance_1": r"\Sigma_{11}",
        "variance_2": r"\Sigma_{22}",
        "pool": r"\text{points of}\ C_k",
        "ridge": "C",
        "length": r"\norm{\theta_k^\star}",
        "curvature": r"E\langle x,\theta_k^\star\rangle^2\sigma'(\langle x,\theta_k^\star\rangle)",
    },
    table=(
        ("$m$", "users (data points in Appendix B.2)"),
        ("$n$", "samples of a user"),
        ("$d$", "dimension of a model"),
        ("$K$", "clusters"),
        ("$|C_k|,\\ |C_{(1)}|,\\ |C_{(K)}|$", "users of cluster $k$; of the largest and smallest"),
        ("$\\theta_k^\\star,\\ \\hat\\theta_i$", "population optimum; fit of user $i$"),
        ("$\\bar\\theta_k,\\ \\tilde\\theta_k$", "mean fit of the true cluster; of the found one"),
        ("$D$", "smallest distance between two population optima"),
        ("$a_i,\\ \\mu_k$", "data points of the clustering; mean of cluster $k$"),
        ("$\\alpha$", "separation of a clustered data set (Definition 1)"),
        ("$\\lambda$", "penalty of convex clustering"),
        ("$c$", "constant of spectral $K$-means"),
        ("$L,\\ \\mu_F$", "smoothness; strong convexity of the population losses"),
        ("$R,\\ H,\\ N_k$", "bound on $\\Theta$; Lipschitz constant of the Hessian; on gradients"),
        ("$M$", "constant of the local fits, (8)"),
        ("$\\varepsilon,\\ T$", "accuracy and iterations of an inexact local fit"),
    ),
)

ARXIV = Publication(
    label="Armacki, Bajovic, Jakovetic & Kar 2024",
    bibtex="""@article{armacki2024odcl,
  author  = {Armacki, Aleksandar and Bajovic, Dragana and Jakovetic, Dusan and Kar, Soummya},
  title   = {A One-shot Framework for Distributed Clustered Learning in Heterogeneous
             Environments},
  journal = {IEEE Transactions on Signal Processing},
  volume  = {72},
  pages   = {636--651},
  year    = {2024}
}""",
    notation=NOTATION,
)

m, n, d, k = sp.symbols("m n d k")
size_k, size_l, size_min, size_max = sp.symbols("size_k size_l size_min size_max")
size_second = sp.Symbol("size_second")
Delta, alpha, lam, c = sp.symbols("Delta alpha lam c")
radius, diameter_k, distance_kl, gap = sp.symbols("radius diameter_k distance_kl gap")
closest, diameter, spectral = sp.symbols("closest diameter spectral")
offset_k, weight, eta, t = sp.symbols("offset_k weight eta t")
distance_sq, clusters_before, cost_before = sp.symbols("distance_sq clusters_before cost_before")
R, L, mu, H, N, M, M_bar = sp.symbols("R L mu H N M M_bar")
F_star, G_F, rho, rho_k = sp.symbols("F_star G_F rho rho_k")
total_sq, floor_sq, variance, eps_k, reach_sq = sp.symbols(
    "total_sq floor_sq variance eps_k reach_sq"
)
kappa, C = sp.symbols("kappa C")
T, varepsilon, epsilon, delta = sp.symbols("T varepsilon epsilon delta")

#: Separations at which the two algorithms are said to recover, Lemmas 1 and 2.
ALPHA_CC = 4 * (m - size_min) / size_min
ALPHA_KM = 2 + 2 * c * sp.sqrt(m) / sp.sqrt(size_min)
