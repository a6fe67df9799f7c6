"""Mutation of statements: would the evidence behind a verdict have refuted a false theorem?"""
