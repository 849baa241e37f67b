"""Running a plan: its steps are sent in wire batches, retried, awaited and resumed."""
