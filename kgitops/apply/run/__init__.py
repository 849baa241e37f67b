"""A run: its steps sent in wire batches, tried again, waited for and resumed."""
