"""Data models, kernels, exact laws, the Monte Carlo engine and the run store."""

from pathlib import Path

from trials.jit_cache import configure
from trials.sources import add_package

add_package("trials", Path(__file__).parent)  # the texts, before any of them is imported
configure()  # before any kernel is compiled
