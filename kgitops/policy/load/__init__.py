"""Policies as loaded rules."""
