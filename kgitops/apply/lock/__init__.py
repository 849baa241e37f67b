"""The cluster's lock: claims, the lease, and waiting while it is held."""
