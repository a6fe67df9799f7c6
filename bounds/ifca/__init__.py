"""Statements of Ghosh, Chung, Yin & Ramchandran on IFCA: journal and conference versions."""
