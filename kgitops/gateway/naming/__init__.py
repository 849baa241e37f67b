"""Names of virtual clusters as values: built from the registry, and followed while it changes."""
