"""Requests about groups: of their members, of their offsets, and of those who look at them."""
