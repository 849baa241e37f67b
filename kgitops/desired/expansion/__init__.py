"""Expands profiles, defaults, folders and roles: what stands for many values, to those values."""
