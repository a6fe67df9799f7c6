"""Experiments on ODCL."""
