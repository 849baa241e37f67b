"""JSON of plans, findings and policy tests, and the schema of a plan."""
