"""What differs between two tables, found by fingerprints, and nothing else hydrated."""
