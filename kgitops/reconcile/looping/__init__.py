"""Turn after turn, of many projects on many clusters, in one process."""
