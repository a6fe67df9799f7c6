"""Small faults planted in the code, to see whether a test fails: ``python -m tests.faults``."""
