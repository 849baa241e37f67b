"""Decisions about the records in partitions: transactions, and deletions."""
