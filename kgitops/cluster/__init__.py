"""Clusters: one port, and one adapter per kind of cluster."""
