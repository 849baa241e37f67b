"""What a fleet's runs came to, for people and programs."""
