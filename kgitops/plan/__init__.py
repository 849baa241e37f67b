"""Differences as requests: pure functions over values."""
