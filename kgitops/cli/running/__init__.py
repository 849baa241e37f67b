"""What several commands do alike: choose a target, plan, ask, execute."""
