"""The values of the hidden constants with which the corrected statements of IFCA are stated.

They are declared, and no trial has a part in them.  Claims and benchmarks share them.
"""

#: Lemma 1's rate c2 with the prefactor c1 = 1/2.  The argument is the reading of `ifca.lemma1`.
LEMMA_1_RATE = 7 / 4
#: Declared hidden constants of Assumption 2 (and the c inside its exponential: Lemma 1's rate).
#: All claims use this one set.  C_n = 2 exceeds 3/c2, so that m clients, at most m rivals each and
#: a failure probability of 1/m are paid for.
HIDDEN = {
    "C_n": 2.0,
    "C_d": 2.0,
    "C_p": 2.0,
    "C_N": 64.0,
    "C_Delta": 20.0,
    "C_theta": 0.5,
    "C_sigma": 1.0,
    "c": LEMMA_1_RATE,
}
