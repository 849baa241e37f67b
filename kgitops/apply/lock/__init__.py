"""The cluster's lock: claims, the lease, and waits while it is held."""
