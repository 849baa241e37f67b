"""Errors of bytes that are read, and of values that are written."""


class MalformedError(ValueError):
    """Bytes that are not a message of the version that they were read as."""


class TooLargeError(MalformedError):
    """Bytes that are more, or become more, than are read."""


class UnwritableMessageError(ValueError):
    """A value that the version of its message can't hold."""


class TooLongError(MalformedError):
    """A message with more elements than its reader wants to look at now."""
