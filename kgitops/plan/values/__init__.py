"""Kinds whose objects are maps of values: quotas, client metrics, consumer groups."""
