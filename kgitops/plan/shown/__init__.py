"""The values that a plan shows of its changes, derived from the rest of each change."""
