"""Judging a plan by the policies, and the gate that an apply takes its plans from."""
