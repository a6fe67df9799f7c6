"""Claims about the papers' statements, the procedures that try them, and the decisions.

One cell goes through six records, each with a name of its own:

1. `trials.run.cell.Params`: the cell's parameter assignment, fixed before a trial runs.
2. `trials.run.engine.Demand`: the blocks of the cell that a procedure requests.
3. `trials.run.store.Cell`: the cell as the run's store has it, with its number and design.
4. `verify.procedures.base.Observed`: the assignment with the trials that were read from the store.
5. `verify.decisions.constants.CellSample`: the input of the decision on constants, with the
   statistic, the allowed failure probability and the role.  Other decisions take counts or means.
6. `verify.evidence.CellResult`: the cell's row in the evidence, which the report prints.

Words that come in pairs: a `bounds.statement.Constant` is a constant of a statement, a
`verify.decisions.constants.ConstantBox` the box in which a decision looks for it.  A
`trials.run.store.Table` holds trials, a `verify.evidence.EvidenceTable` is printed.
"""
