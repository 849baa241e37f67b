"""The SQLite file of an embedded cluster: the log, its snapshots, and the registry."""
