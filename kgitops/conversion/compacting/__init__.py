"""Less to write: what many topics repeat becomes profiles and defaults."""
