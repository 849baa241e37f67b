"""The variables of expressions, and Kafka's objects as expressions see them.

Every field has its type, its documentation and the function that reads it (``record``).
"""
