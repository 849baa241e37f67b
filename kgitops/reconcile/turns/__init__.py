"""One turn: its plans, what of them may be applied by itself, and its result."""
