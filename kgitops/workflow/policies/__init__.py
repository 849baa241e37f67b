"""The policies of a run, found and opened."""
