"""Plans and results, for people and machines."""
