"""Names and clients that declarations match: those that no client has, and that do not exist."""
