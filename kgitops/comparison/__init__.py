"""Two states side by side: snapshots, saved plans or runs of a fleet, value by value."""
