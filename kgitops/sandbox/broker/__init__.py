"""Brokers: their folders, properties, users and processes."""
