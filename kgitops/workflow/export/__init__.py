"""A cluster as manifests."""
