"""Judges requests one after another, each on the state that the accepted ones leave behind."""
