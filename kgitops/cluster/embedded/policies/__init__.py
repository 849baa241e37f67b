"""Policies in the embedded brokers (KIP-108, KIP-201)."""
