"""Tells people and other programs of events: webhooks and commit statuses, which delay nothing."""
