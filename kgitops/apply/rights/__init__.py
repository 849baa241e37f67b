"""The rights of a project to a plan's changes, decided by the live registry."""
