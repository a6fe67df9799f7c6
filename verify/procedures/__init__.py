"""The procedures that try claims: each requests trials until it can decide.

A procedure has pre-registered cells and a budget.  It requests blocks from the engine (`demands`)
and turns the stored trials into `verify.evidence.Evidence` (`decide`).  The statistics are in
`verify.decisions`.  This package applies them to statements, experiments and stored trials.
"""
