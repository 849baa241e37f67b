"""Configs of groups, and subscriptions to the metrics of clients."""
