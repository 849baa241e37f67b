"""A process of its own for the policies, with bounds on time and memory."""
