"""The statistical benchmark: methods on federations, paired, with simultaneous limits.

One module for each reason to change: `federation` (what is drawn), `tables` (real data), `methods`
(what is fitted), `metrics` (what is measured), `fits` (the experiment that the engine runs),
`contrasts` (which differences the trials show), `design` (what a benchmark is, and those that
ship), `running` (rounds until the precision is reached), `pages` (the table in every form).
"""
