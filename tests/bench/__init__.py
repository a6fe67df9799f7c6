"""Benchmarks: each module has ``run()`` that returns rows; nothing happens on import."""
