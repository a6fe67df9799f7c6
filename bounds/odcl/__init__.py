"""The statements of ODCL (Armacki, Bajovic, Jakovetic & Kar 2024), one module a topic.

All topics use `symbols` and `assumptions`.  Claims about these statements are in
`verify.claims.odcl`, in modules of the same names.
"""
