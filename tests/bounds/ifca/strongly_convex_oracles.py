"""Right-hand sides of the strongly convex theory, coded a second time from the paper."""

from math import exp, log, sqrt


def shape(v):
    """Lemma 3 without its constant."""
    return (v["eta"] / (v["alpha"] * v["lam"] * v["Delta"] ** 2)) ** 2 / v["n"]


def kappa(v):
    return sqrt(v["lam"] / v["L"])


def gap(v):
    far = 1 - (0.5 - v["alpha"]) * kappa(v)
    return v["lam"] * v["Delta"] ** 2 / 2 * (far**2 - (0.5 - v["alpha"]) ** 2)


def cross(v):
    """The third term's numerator and denominator without k and the deltas."""
    below = v["alpha"] * v["lam"] * v["L"] * v["Delta"] ** 2 * sqrt(v["m"]) * v["n"]
    return v["v"] * v["eta"] / below


def eq_32(v):
    pull = v["c_1"] * shape(v) / v["delta_2"]
    return pull + v["c_2"] * cross(v) * sqrt(v["k"]) / (v["delta_1"] * sqrt(v["delta_2"]))


def eq_30(v):
    noise = v["v"] * sqrt(v["k"]) / (v["delta_1"] * v["L"] * v["m"] * sqrt(v["n"]))
    return 3 / v["m"] * v["strangers"] + noise * sqrt(v["strangers"])


def eq_30_sharp(v):
    noise = v["v"] / v["L"] / v["m"] * sqrt(v["strangers"] / v["n"] / v["delta"])
    return 3 * v["strangers"] * v["theta_max"] / v["m"] + noise


def eq_32_sharp(v):
    most = 8 * shape(v) * (1 - v["p_j"]) / v["delta"]
    return 3 * v["theta_max"] * most + v["v"] / v["L"] * sqrt(most / (v["m"] * v["n"]))


def theorem_2(v):
    floor = v["c_0"] * v["v"] / (v["delta"] * v["L"] * sqrt(v["p"] * v["m"] * v["n"]))
    pull = v["c_1"] * shape(v) / v["delta"]
    last = v["c_2"] * cross(v) * v["k"] ** 1.5 / v["delta"] ** 1.5
    return (1 - v["p"] * v["lam"] / (8 * v["L"])) * v["err"] + floor + pull + last


def theorem_2_sharp(v):
    x = shape(v)
    others = 1 - v["p_j"]
    variance = (v["p_j"] + 4 * x * others) / (v["m"] * v["n"])
    noise = v["v"] / v["L"] * sqrt(2 / v["delta"] * variance)
    pull = (4 * v["k"] * v["p_j"] + 24 * others) * x * v["theta_max"] / v["delta"]
    return (1 - v["p_j"] * v["lam"] / v["L"]) * v["err"] + noise + pull


def corollary_2(v):
    mn = v["m"] * v["n"]
    first = v["v"] * v["k"] * v["L"] * log(mn) / (v["p"] ** 2.5 * v["lam"] ** 2 * v["delta"])
    second = (v["eta"] * v["L"]) ** 2 * v["k"] * log(mn)
    second /= v["p"] ** 2 * (v["lam"] * v["Delta"]) ** 4 * v["delta"] * v["n"]
    last = v["c_3"] / (v["n"] * sqrt(v["m"]))
    return v["c_1"] * first / sqrt(mn) + v["c_2"] * second + last


#: Right-hand side and failure probability of every statement of the strongly convex theory.
STRONGLY_CONVEX = {
    "ifca.more-general-as-printed": (lambda v: v["eta"] ** 2, None),
    "ifca.more-general": (lambda v: 2 * (v["r"] ** 2 + v["sigma"] ** 2) ** 2, None),
    "ifca.more-general-gradient": (
        lambda v: 4 * ((v["d"] + 1) * v["r"] ** 2 + v["d"] * v["sigma"] ** 2),
        None,
    ),
    "ifca.lemma3-gap": (lambda v: v["alpha"] * v["lam"] * v["Delta"] ** 2, None),
    "ifca.lemma3-gap-sharp": (gap, None),
    "ifca.lemma3": (lambda v: v["c_1"] * shape(v), None),
    "ifca.lemma3-attained": (lambda v: 1 / (1 + 1 / (4 * v["n"] * shape(v))), None),
    "ifca.lemma3-union": (lambda v: v["c_1"] * v["k"] * shape(v), None),
    "ifca.lemma3-union-sharp": (lambda v: (1 + sqrt(v["k"] - 1)) ** 2 * shape(v), None),
    "ifca.lemma3-rate": (lambda v: min(0.25, shape(v)), None),
    "ifca.half-correct-sc-client": (lambda v: 0.5, None),
    "ifca.half-correct-sc": (lambda v: 2 * exp(-v["c"] * v["p"] * v["m"]), None),
    "ifca.eq27": (lambda v: 3 * v["L"], None),
    "ifca.eq27-units": (lambda v: 3 * v["L"] * v["theta_max"], None),
    "ifca.eq22": (
        lambda v: v["err"] * (1 - v["gamma"] / (1 / v["lam"] + 1 / v["L"])),
        None,
    ),
    "ifca.eq22-sharp": (lambda v: v["err"] * (1 - v["gamma"] * v["lam"]), None),
    "ifca.eq23": (lambda v: v["v"] / v["delta_0"] / sqrt(v["n"] * v["right"]), None),
    "ifca.eq23-chebyshev": (lambda v: v["v"] / sqrt(v["delta_0"] * v["n"] * v["right"]), None),
    "ifca.eq25": (
        lambda v: 2 * v["v"] / (v["delta_0"] * v["L"] * sqrt(v["p"] * v["m"] * v["n"])),
        None,
    ),
    "ifca.eq25-sharp": (
        lambda v: v["v"] / (v["delta_0"] * v["L"]) * sqrt(v["p_j"] / (v["m"] * v["n"])),
        None,
    ),
    "ifca.thm2-contraction": (lambda v: 1 - v["p"] * v["lam"] / (8 * v["L"]), None),
    "ifca.thm2-contraction-sharp": (lambda v: 1 - v["p"] * v["lam"] / (4 * v["L"]), None),
    "ifca.eq30": (eq_30, lambda v: v["k"] * v["delta_1"]),
    "ifca.eq30-sharp": (eq_30_sharp, lambda v: v["delta"]),
    "ifca.eq32-sharp": (eq_32_sharp, lambda v: v["delta"]),
    "ifca.eq32": (eq_32, lambda v: v["k"] * v["delta_1"] + v["delta_2"]),
    "ifca.thm2": (theorem_2, lambda v: v["delta"]),
    "ifca.thm2-sharp": (theorem_2_sharp, lambda v: v["delta"]),
    "ifca.thm2-floor-rates": (
        lambda v: v["p"] * (v["v"] / v["L"]) ** 2 / (v["m"] * v["n"]),
        None,
    ),
    "ifca.thm2-term2-rates": (shape, None),
    "ifca.thm2-term3-rates": (lambda v: (cross(v) * v["alpha"]) ** 2, None),
    "ifca.cor2-burn-in": (lambda v: kappa(v) * v["Delta"] / 4, None),
    "ifca.cor2-burn-in-short": (lambda v: kappa(v) * v["Delta"] / 4, None),
    "ifca.cor2-rounds": (lambda v: v["varepsilon"], None),
    "ifca.neurips-thm2-rounds": (lambda v: v["varepsilon"], None),
    "ifca.cor2-monotone-as-printed": (lambda v: v["err"], None),
    "ifca.cor2-radius": (lambda v: (0.5 - v["alpha_0"]) * kappa(v) * v["Delta"], None),
    "ifca.cor2-radius-run": (
        lambda v: (0.5 - v["alpha_0"]) * kappa(v) * v["Delta"],
        lambda v: v["delta"],
    ),
    "ifca.cor2-failure-as-printed": (lambda v: 1.0, None),
    "ifca.a6-separation": (lambda v: kappa(v) * v["Delta"] / 8, None),
    "ifca.cor2": (corollary_2, lambda v: v["delta"]),
    "ifca.neurips-thm2": (corollary_2, lambda v: v["delta"]),
    "ifca.cor2-rates": (
        lambda v: v["v"] ** 2 / (v["lam"] * v["L"] * v["m"] * v["n"]),
        None,
    ),
    "ifca.alg2-option-equality": (lambda v: v["gamma"] / v["m"] * v["labelled"], None),
    "ifca.alg2-participation": (lambda v: v["participants"] / v["m"], None),
    "ifca.sc-near-optimal": (lambda v: 2.0, None),
    "ifca.sc-near-optimal-constants": (
        lambda v: v["k"] ** 3 * v["L"] / v["lam"] * log(v["m"] * v["n"]),
        None,
    ),
}

#: Symbols of these statements that no other statement of the paper has.
SYMBOLS = (
    *("eta", "v", "lam", "L", "r", "right", "p_j", "c_0", "labelled", "participants"),
    *("delta", "delta_0", "delta_1", "delta_2", "alpha_0"),
)
