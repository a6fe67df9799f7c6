"""Data models, kernels, exact laws, the Monte Carlo engine and the run store."""

from trials.jit_cache import configure

configure()  # before any kernel is compiled
