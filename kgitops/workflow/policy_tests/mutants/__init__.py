"""Mutants of policies, tried in processes of their own."""
