"""Policies in a process of their own, which is stopped where they take too much.

``session`` is what the rest of kgitops sees, ``process`` holds the child, and ``serving`` is what
runs in it. The limits bound mistakes: a policy is the project's own code, not an enemy's.
"""
