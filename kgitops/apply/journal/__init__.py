"""The journal of a run in the registry, and the repair of the registry's records."""
