"""A cluster in one SQLite file: decide, append, replay."""
