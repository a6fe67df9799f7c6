"""Experiments on IFCA: one client's label, one step, whole runs, random starts, drawn data."""
