"""The mark that a stored fit has in place of a value.  The programs that read fits import it."""

#: Stands where a metric does not apply: no truth is known, or a method has no rounds.
MISSING = -1.0
#: The experiments whose trials have the mark.
MARKS = {"benchmark.fit": MISSING}
