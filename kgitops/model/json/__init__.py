"""JSON of the model's values, canonical and strict."""
