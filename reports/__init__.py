"""Reports of stored runs: figures, tables, LaTeX and PDF.  Computes no statistic."""

from reports.assemble import BuildResult, build
from reports.errors import ReportError

__all__ = ["BuildResult", "ReportError", "build"]
