"""Recorded values: what the program computes on fixed small inputs.

A record shows that something has changed.  It does not show that the recorded value is right: the
oracles in the other tests show that.  A failing test names the module, the entry, and the old and
the new value.  When the change is wanted, write the records anew and look at the difference:

    python -m tests.records
"""
