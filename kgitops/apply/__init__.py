"""Applying approved plans: lock, journal, checks, sending and resuming."""
