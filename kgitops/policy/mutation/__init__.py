"""Mutants: policies with one small mistake each, to see whether their tests notice."""
