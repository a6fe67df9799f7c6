"""Imports every module that registers an experiment; imported by `trials.experiment` on demand."""

import trials.claim_experiments
import trials.ifca_data_experiments
import trials.ifca_experiments  # noqa: F401
