"""What is wrong with bytes that were read, or with a value that is to be written."""


class MalformedError(ValueError):
    """Bytes that are not a message of the version that they were read as."""


class UnwritableError(ValueError):
    """A value that the version of its message can't hold."""
