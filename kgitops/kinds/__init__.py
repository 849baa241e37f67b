"""Kinds of objects, each in one module: its documents, what they declare, its plan."""
