"""Expresses virtual clusters with the ACLs, quotas and names of a Kafka that has none."""
