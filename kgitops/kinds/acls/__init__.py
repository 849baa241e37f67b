"""The rights of clients."""
