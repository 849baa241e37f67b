"""Judges requests one after the other on the state that accepted ones leave behind."""
