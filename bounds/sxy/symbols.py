r"""The letters, the publication and the shared expressions of Su, Xu & Yang (2022).

Phase 1 descends on a few anchor clients in a subspace that all clients estimate together.  Phase 2
alternates labels and FedAvg or FedProx steps.

=====================  ===============  ========================================================
paper                  here             meaning
=====================  ===============  ========================================================
:math:`M,\ N`          ``M``, ``N``     clients; rows of all clients
:math:`n_i`            ``n``            rows of client i
:math:`d,\ k`          ``d``, ``k``     dimension of a model; clusters
:math:`p_j,\ p_\min`   ``p``            probability of cluster j; the smallest one
:math:`\alpha,\beta`   ``alpha_``       limits of the spectrum of the feature covariances
                       ``beta_``
:math:`\theta_j^*`     ``theta_star``   model of cluster j, of norm at most R
:math:`u_j`            ``u``            :math:`\theta_j^*-\theta_t`, the error towards cluster j
:math:`\delta_t`       ``delta``        the largest :math:`\|u_j\|`
:math:`\Delta,\sigma`  ``Delta``,       smallest distance of two models; limit of the noise's
                       ``sigma``        standard deviation
:math:`m,\ \ell`       ``m``, ``l``     clients of a round with two rows each; pairs of an anchor
:math:`T,\ T_1,\ T_2`  ``T``, ``T_1``   rounds; half steps of a subspace; power iterations
:math:`\xi_1,\ \xi_2`  `XI_1`, `XI_2`   the rates of Lemma 3 and of Lemma 6
:math:`\epsilon`       ``epsilon``      accuracy in units of :math:`\Delta`, or an operator norm
=====================  ===============  ========================================================
"""

from __future__ import annotations

import sympy as sp

from bounds.render import Notation
from bounds.statement import Publication

NOTATION = Notation(
    letters={
        "l": r"\ell",
        "p": r"p_{\min}",
        "u": r"\norm{\theta_j^*-\theta_t}",
        "v": r"\norm{\Sigma_j(\theta_j^*-\theta_t)}",
        "v_0": r"\norm{\Sigma_j(\theta_j^*-\theta_0)}",
        "v_star": r"\norm{\Sigma_j\theta_j^*}",
        "sigma_hat": r"\hat\sigma_t",
        "cosine": r"\cos\gamma_0",
        "gamma_0": r"\gamma",
        "q": r"\left|\frac{\lambda_{k+1}}{\lambda_k}\right|",
        "n_H": "n_H",
        "expected": r"\frac1N\sum_in_ip_e(n_i)",
        "C_nu": r"C_\nu",
        "T_prime": "T'",
        "floor": r"\sigma\sqrt{\frac d{\rho N}}",
        "squares": r"\sigma^2\mathrm{tr}(\phi(x_{I_j})^\top\phi(x_{I_j}))^{-1}",
        "oracle": r"d_{\mathrm{oracle}}",
        "known": r"\max_j\norm{K_j^{-1}B\Lambda_j\zeta}",
        "skew": r"(\chi^2(n)+1)",
        "weights": r"\sqrt{\sum_i\lambda_i^2}",
        "sign": r"\varepsilon_i",
        "label_change": r"1\{z_{i,t}=j\}-1\{z_i=j\}",
        "pull_S": r"\frac1N\sum_{i\in S_{j,t}}\varepsilon_i\phi(x_i)^\top P_i"
        r"(\phi(x_i)\theta_{j,t-1}-y_i)",
        "dist": r"d(\theta_{t-1},\theta^*)",
        "phi_S": r"\norm{\phi(x_{S_{j,t}})}",
        "zeta_S": r"\norm{\zeta_{S_{j,t}}}",
        "clusters_phi": r"\sqrt{\sum_\ell\norm{\phi(x_{S_{j,t}\cap I_\ell})}^2}",
        "classes": r"f_{j,\theta}(x_i,y_i)",
        "P_avg": r"P_i^{\mathrm{FedAvg}}",
        "P_prox": r"P_i^{\mathrm{FedProx}}",
        "kappa_prox": r"\kappa^{\mathrm{FedProx}}",
        "lambda_ij": r"\lambda_{ij,t}",
        "pull": r"B\Lambda_{j,t}(y-\phi(x)\theta_{j,t-1})",
        "least_G": r"\lambda_G",
        "gamma_rest": r"\gamma_{I_j\setminus G}",
        "least": r"\min_jL(\theta_{t-1},e_j;D_i)",
        "a": r"\langle r_t,\Sigma_j(\theta_j^*-\theta_t)\rangle",
        "e_1": r"\norm{Y_t-EY_t}",
        "e_2": r"\norm{A_t-EA_t}",
        "delta_f": r"\delta",
        "free": "f",
        "entry": "w",
        "C_f": r"C'",
        "C_l": r"C_\ell",
    },
    table=(
        ("$M,\\ N$", "clients; rows of all clients"),
        ("$n_i,\\ N_j$", "rows of client $i$; rows of all clients of cluster $j$"),
        ("$d,\\ k$", "dimension of a model; clusters"),
        ("$p_j,\\ p_{\\min}$", "probability of cluster $j$; the smallest one"),
        (
            "$\\Sigma_j$",
            "feature covariance of cluster $j$, spectrum in $[\\alpha,\\beta]$",
        ),
        ("$\\theta_j^*,\\ R$", "model of cluster $j$; limit of the models' norms"),
        ("$\\Delta$", "smallest distance of two models"),
        ("$\\sigma$", "limit of the standard deviation of the noise"),
        (
            "$K$",
            "sub-Gaussian norm of the features and the noise, in units of their scale",
        ),
        ("$\\delta_t$", "$\\max_j\\norm{\\theta_j^*-\\theta_t}$"),
        ("$m,\\ \\ell$", "clients of a round, with two rows each; pairs of rows of an anchor"),
        ("$H,\\ n_H$", "anchor clients; their number"),
        ("$T,\\ T_1,\\ T_2$", "rounds; half steps for a subspace; power iterations"),
        ("$\\xi_1,\\ \\xi_2$", "rates of Lemma 3 and of Lemma 6"),
        ("$\\epsilon$", "accuracy in units of $\\Delta$; in Lemma 5 an operator norm"),
        ("$\\eta,\\ s$", "step size and local steps of Phase 2"),
        ("$\\gamma,\\ \\kappa$", "largest step of a client; stability of its local steps"),
        ("$\\rho$", "$\\min_jN_j/N$"),
        ("$\\chi^2(n)$", "skewness of the clients' sizes"),
        ("$\\nu$", "share of the rows that one round may put into a wrong cluster"),
    ),
)

PAPER = Publication(
    label="Su, Xu & Yang, NeurIPS 2022",
    bibtex="""@inproceedings{su2022global,
  author    = {Su, Lili and Xu, Jiaming and Yang, Pengkun},
  title     = {Global Convergence of Federated Learning for Mixed Regression},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {35},
  year      = {2022}
}""",
    notation=NOTATION,
)

M, N, n, d, k, p = sp.symbols("M N n d k p")
m, l, T, T_1, T_2, t = sp.symbols("m l T T_1 T_2 t")  # noqa: E741  (the paper's letter)
n_H = sp.Symbol("n_H")
alpha, beta, R, Delta, sigma, delta = sp.symbols("alpha beta R Delta sigma delta")
epsilon, eta, s, gamma, kappa, rho, nu, chi2 = sp.symbols("epsilon eta s gamma kappa rho nu chi2")
u, v, v_0, v_star, sigma_hat = sp.symbols("u v v_0 v_star sigma_hat")
a, e_1, e_2, delta_f = sp.symbols("a e_1 e_2 delta_f")
u_1, u_2 = sp.symbols("u_1 u_2")  # the lengths of the errors of two clusters
p_j, v_a, v_b, rank = sp.symbols("p_j v_a v_b r")
H, K, gamma_0, cosine, q = sp.symbols("H K gamma_0 cosine q")
C, c, C_f, C_1, C_2 = sp.symbols("C c C_f C_1 C_2")
C_alpha, C_R, C_sigma, C_K = sp.symbols("C_alpha C_R C_sigma C_K")
C_m, C_l, C_n = sp.symbols("C_m C_l C_n")
C_N, C_1, C_2, C_nu = sp.symbols("C_N C_1 C_2 C_nu")

#: The rates of Lemma 3 (d and m) and of Lemma 6 (k and l): (3), (19).
XI_1 = sp.sqrt(d / m * sp.log(N)) + d / m * sp.log(N) ** 3
XI_2 = sp.sqrt(k / l * sp.log(N)) + k / l * sp.log(N) ** 3

# Phase 2: an eigenvalue of a client's Gram matrix, P's eigenvalues, and vectors of (11).
x, P_avg, P_prox, kappa_prox = sp.symbols("x P_avg P_prox kappa_prox")
N_j = sp.Symbol("N_j")
lambda_ij, pull, least, least_G = sp.symbols("lambda_ij pull least least_G")
gamma_rest = sp.Symbol("gamma_rest")  # gamma of the clients outside G

# Empirical processes: VC dimension, norm of the weights, skewness plus one,
# expected share of wrong labels, error of known labels.
V, weights, skew, expected, known, floor = sp.symbols("V weights skew expected known floor")
squares = sp.Symbol("squares")  # the squared error of least squares on a cluster's rows
oracle = sp.Symbol("oracle")  # the error of Phase 2 from the optima

# Wrong labels: norms over the clients of S_{j,t}, the distance (6) and the functions of (16).
sign, label_change, pull_S = sp.symbols("sign label_change pull_S")
dist, phi_S, zeta_S, clusters_phi, classes = sp.symbols("dist phi_S zeta_S clusters_phi classes")

#: Section 4.2: the stability of the local steps.
KAPPA_FEDAVG = gamma * s / (1 - (1 - gamma) ** s)
KAPPA_FEDPROX = 1 + gamma
