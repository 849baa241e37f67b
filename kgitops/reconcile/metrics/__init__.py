"""Metrics of the loop for Prometheus; a registry of its own for each loop, and no global one."""
