"""Approved plans become results."""
