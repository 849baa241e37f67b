"""Declared virtual clusters, members and links, and the checks between them."""
