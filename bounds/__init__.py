"""The papers' statements as data: terms, named constants, assumptions as expressions.

`bounds.statement` holds the types.  Each paper has a folder with its statements.
`bounds.gaussian` holds the exact laws for Gaussian features.
"""
