"""Calls about groups and their committed offsets."""
