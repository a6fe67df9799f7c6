r"""The letters, the publications and the shared expressions of IFCA on the linear model.

IFCA has two publications: the journal version (TIT 2022, Section V-A and Appendix A/B) and the
conference version (NeurIPS 2020, Section 5.1).  They are one paper here.  They share their letters,
their algorithm and their proofs.  The conference version is stated as the journal version with
another initialisation.  Most findings are about both.

=====================  ===================  ====================================================
paper                  here                 meaning
=====================  ===================  ====================================================
:math:`m`              ``m``                clients (worker machines)
:math:`n'`             ``n``                fresh samples a client uses in one step
:math:`d`              ``d``                dimension
:math:`k`              ``k``                clusters
:math:`p_j,\ p`        ``p_j``, ``p``       fraction of clients in cluster j; the smallest one
(none)                 ``p_max``            the largest fraction; the paper never names it
:math:`\Delta`         ``Delta``            smallest distance between two optima
:math:`\sigma`         ``sigma``            noise standard deviation
:math:`\rho`           ``rho``              :math:`\Delta^2/\sigma^2`, signal-to-noise ratio
:math:`\alpha`         ``alpha``            :math:`\|\theta_j-\theta_j^*\|\le(1/2-\alpha)\Delta`
:math:`\gamma`         ``gamma``            step size, :math:`\gamma=c_1/p`
=====================  ===================  ====================================================

The squared loss is :math:`F_i(\theta)=\|Y_i-X_i\theta\|^2/n'`.  So a full step on cluster
:math:`j` moves by :math:`2\gamma p_j(\theta_j^*-\theta_j)` on average.  The proof of Theorem 1
writes this factor as :math:`1-2\gamma N/(mn')`, without the absolute value that it needs.
"""

from __future__ import annotations

import sympy as sp

from bounds.render import Notation
from bounds.statement import Publication

NOTATION = Notation(
    letters={
        "n": "n'",
        "p_max": r"p_{\max}",
        "err": r"\norm{\theta_j-\theta_j^*}",
        "alpha_0": r"\alpha_0",
        "gram": r"\frac{\norm{X^\top X-EX^\top X}}{N}",
        "noise": r"\frac{\norm{X^\top\epsilon}}{N}",
        "theta_max": r"\max_j\norm{\theta_j^*}",
        "err_t": r"\norm{\theta_j^{(t)}-\theta_j^*}",
        "strangers": r"|S_1\cap\overline{S_1^*}|",
        "lam": r"\lambda",
        "labelled": r"|S_j|",
        "participants": r"|M_t|",
        "right": r"|S_1\cap S_1^*|",
        "shared": r"d_{\mathrm{shared}}",
        "early": r"t_0",
        "rounds": "T",
        "P_before": r"P_\alpha(\mathcal{E}_i^{j,j'})",
        "P_worst": r"\sup P_\alpha(\mathcal{E}_i^{j,j'})",
        "factor_1": r"\frac{\max_j\norm{\theta_j^{(1)}-\theta_j^*}}"
        r"{\max_j\norm{\theta_j^{(0)}-\theta_j^*}}",
    },
    table=(
        ("$m$", "clients"),
        ("$n'$", "fresh samples a client uses in one step ($n$ in the cells)"),
        ("$d$", "dimension of a model"),
        ("$k$", "clusters"),
        ("$p_j,\\ p,\\ p_{\\max}$", "fraction of the clients in cluster $j$; smallest; largest"),
        ("$\\theta_j^*,\\ \\theta_j$", "optimum of cluster $j$; current model"),
        ("$\\Delta$", "smallest distance between two optima"),
        ("$\\sigma$", "standard deviation of the noise"),
        ("$\\rho$", "signal-to-noise ratio $\\Delta^2/\\sigma^2$"),
        ("$\\alpha$", "closeness: $\\norm{\\theta_j-\\theta_j^*}\\le(\\frac12-\\alpha)\\Delta$"),
        ("$\\gamma$", "step size"),
        ("$\\varepsilon$", "final accuracy"),
        ("$S_j,\\ S_j^*$", "clients identified with, and belonging to, cluster $j$"),
        ("$\\lambda,\\ L$", "strong convexity and smoothness of a cluster's mean loss"),
        ("$\\eta,\\ v$", "standard deviations of the loss and of its gradient on one sample"),
        ("$C_n,C_d,C_p,C_N,C_\\Delta$", "hidden constants of the assumptions' $\\gtrsim$"),
    ),
)

JOURNAL = Publication(
    label="Ghosh, Chung, Yin & Ramchandran, IEEE Trans. Inf. Theory 2022",
    bibtex="""@article{ghosh2022ifca,
  author  = {Ghosh, Avishek and Chung, Jichan and Yin, Dong and Ramchandran, Kannan},
  title   = {An Efficient Framework for Clustered Federated Learning},
  journal = {IEEE Transactions on Information Theory},
  volume  = {68},
  number  = {12},
  pages   = {8076--8091},
  year    = {2022}
}""",
    notation=NOTATION,
)
CONFERENCE = Publication(
    label="Ghosh, Chung, Yin & Ramchandran, NeurIPS 2020",
    bibtex="""@inproceedings{ghosh2020ifca,
  author    = {Ghosh, Avishek and Chung, Jichan and Yin, Dong and Ramchandran, Kannan},
  title     = {An Efficient Framework for Clustered Federated Learning},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {33},
  pages     = {19586--19597},
  year      = {2020}
}""",
    notation=NOTATION,
)

m, n, d, k = sp.symbols("m n d k")
p, p_j, p_max = sp.symbols("p p_j p_max")
Delta, sigma, gamma, err = sp.symbols("Delta sigma gamma err")
alpha = sp.Symbol("alpha")
rho = sp.Symbol("rho")
T, varepsilon = sp.symbols("T varepsilon")
c, c_1, c_2, c_3, c_4, c_5, c_6, c_7, c_8 = sp.symbols("c c_1:9")
C_n, C_d, C_p, C_N, C_Delta = sp.symbols("C_n C_d C_p C_N C_Delta")
C_theta, C_sigma, theta_max = sp.symbols("C_theta C_sigma theta_max")

#: The exponents' argument :math:`(\alpha\rho/(\rho+1))^2 n'` and its form without closeness.
#: (unevaluated inside, so that it is printed as the paper prints it).
SIGNAL = sp.UnevaluatedExpr(alpha * rho / (rho + 1)) ** 2 * n
SIGNAL_FREE = sp.UnevaluatedExpr(rho / (rho + 1)) ** 2 * n
#: The statistical term :math:`(\sigma/p)\sqrt{d/(mn')}`.
FLOOR = sigma / p * sp.sqrt(d / (m * n))
HALF = sp.Rational(1, 2)
