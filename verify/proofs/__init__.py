"""Refutations that are proofs: inequalities between exact expressions, enclosed by interval
arithmetic, stored with the verdict and checked again by anybody."""
