"""Continuous reconciliation: turns that plan again and again, and apply alone what they may."""
