"""The statements of IFCA (Ghosh, Chung, Yin & Ramchandran), one module a topic.

`symbols` and `assumptions` serve all topics.  Claims about these statements are in
`verify.claims.ifca`, in modules of the same names.
"""
