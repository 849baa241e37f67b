"""Plans for very many clusters at once: the same diff, planner and policies, on Spark."""
