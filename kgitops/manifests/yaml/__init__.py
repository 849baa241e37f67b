"""Strict YAML 1.2 with a file, line and column for every value."""
