"""The cluster as it would be after the requests accepted so far."""
