"""The journal of a run on the cluster, and resuming a run from it."""
