"""The claims of the papers that come with the suite, one folder a paper, one file a topic.

A file holds all about its statements: the problem, the guarantee (imported from `bounds`), the
experiment, the cells, the builder of the procedure, the presentation, the expected verdict, the
finding and the reference.  The folder's ``PAPER`` collects the claims (see `verify.papers`).
"""
