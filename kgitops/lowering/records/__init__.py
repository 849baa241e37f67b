"""The registry's records of virtual clusters."""
