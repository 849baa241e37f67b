"""The check of an expression: the type of every part, and what can't be meant.

``checker`` goes through the tree; each kind of node has its module, and ``checking`` is what these
share.
"""
