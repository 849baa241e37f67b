"""Kafka's objects as expressions see them, one module for each kind.

Every field stands there with its type, its words and its reading (``record``).
"""
