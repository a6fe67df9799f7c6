"""Benchmarks.  Each module has a ``run()`` that returns rows, and importing it runs nothing."""
