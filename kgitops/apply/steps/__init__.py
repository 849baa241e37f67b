"""Steps of a run: sent in wire batches, tried again, undone, and their outcomes."""
