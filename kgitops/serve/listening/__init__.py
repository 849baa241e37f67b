"""Connections of clients: frames, their order, and limits."""
