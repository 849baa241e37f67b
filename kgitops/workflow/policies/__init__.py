"""Reads the policies of a run and opens an evaluator of them."""
