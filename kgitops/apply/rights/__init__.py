"""The rights of a plan, decided by the live registry and never by the plan's own word."""
