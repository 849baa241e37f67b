"""The in-process Admin client of an embedded cluster."""
