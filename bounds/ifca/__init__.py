"""The statements of IFCA (Ghosh, Chung, Yin & Ramchandran), one module a topic.

`symbols` and `assumptions` hold what the topics share.  Claims about these statements are in
`verify.claims.ifca`, in modules of the same names.
"""
