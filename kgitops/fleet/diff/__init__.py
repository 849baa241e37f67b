"""The differences between two tables, found by fingerprints; only they are hydrated."""
