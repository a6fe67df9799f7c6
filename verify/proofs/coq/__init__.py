"""Statements and proofs for Coq, whose kernel checks them with the axioms of its real numbers.

`gallina` writes terms, `theorems` the statements, `scripts` proofs from certificates, `compiler`
runs Coq, and `records` keeps what compiled.  `CFL.v` holds the lemmas that the proofs share.
"""
