"""Answers about what administrators set: configs, ACLs, quotas and virtual clusters."""
