"""Recorded values: what the program computes on fixed small inputs.

A record shows that something has changed.  It does not show that the recorded value is right: the
oracles in the other tests show that.  A failing test names the entry, the old and the new value.
When the change is wanted, look at the difference and write the record anew:

    python -m tests.records --diff NAME
    python -m tests.records NAME
"""
