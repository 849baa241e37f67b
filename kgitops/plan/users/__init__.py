"""Planning users who log in by SCRAM."""
