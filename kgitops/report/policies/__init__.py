"""Policies, their verdicts and their tests in every format."""
