"""The steps that commands share: choose a target, plan, ask, execute."""
