"""From a claim's cells to its evidence: each procedure asks for trials until it can decide.

A procedure owns pre-registered cells and a budget, asks the engine for blocks (`demands`), and
turns what the store holds into `verify.evidence.Evidence` (`decide`).  The statistics themselves
are in `verify.decisions`; here they meet statements, experiments and stored trials.
"""
