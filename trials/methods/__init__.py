"""Methods of other papers that the suite compares with, one module each.

* `trials.methods.cfl` -- CFL: recursive bipartition by the cosine similarity of updates.
* `trials.methods.fesem` -- FeSEM: clusters by the distance of parameters.
* `trials.methods.kfed` -- k-FED: local k-means, and one round of it at the centre.
* `trials.methods.grouped_mixture` -- alternating minimisation and EM with a spectral start.
* `trials.methods.pacfl` -- PACFL: clusters by the principal angles of the clients' features.

They are drivers of the kernels for local updates and k-means, on clients of any sizes.
"""
