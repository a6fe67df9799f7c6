"""The verdicts of all claims over several seeds: which ones depend on chance."""
