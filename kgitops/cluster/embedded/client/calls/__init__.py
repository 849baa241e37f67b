"""The calls that a connection to an embedded cluster can make, in families."""
