"""JSON of plans, findings, events of an apply, policies and their tests; the schema of a plan."""
