"""The statements of IFCA (Ghosh, Chung, Yin & Ramchandran), one module a topic.

All topics use `symbols` and `assumptions`.  Claims about these statements are in
`verify.claims.ifca`, in modules of the same names.
"""
