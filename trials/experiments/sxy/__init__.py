"""Experiments on the two phases of Su, Xu & Yang: subspaces, deviations, whole runs."""
