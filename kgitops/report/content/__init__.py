"""What every rendering of a plan says, whatever its format."""
