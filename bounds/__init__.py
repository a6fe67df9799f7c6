"""The papers' statements as data: terms, named constants, assumptions as code.  Pure mathematics.

`bounds.statement` holds the types; one module per paper holds its statements; `bounds.gaussian`
holds the laws that Gaussian features make exact.
"""
