"""The far side: one port, one adapter per kind of cluster."""
