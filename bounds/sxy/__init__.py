"""The statements of Su, Xu & Yang (mixed regression in two phases), one module a topic.

All topics use `symbols` and `assumptions`.  Claims about these statements are in
`verify.claims.sxy`, in modules of the same names.
"""
