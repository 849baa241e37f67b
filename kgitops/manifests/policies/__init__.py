"""The kinds Policy, Waiver and PolicyTest."""
