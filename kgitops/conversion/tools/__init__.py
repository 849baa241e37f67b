"""The tools whose files can be converted, a module each."""
