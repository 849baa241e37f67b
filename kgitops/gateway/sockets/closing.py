"""Closes sockets so that their peers get what was sent to them."""

import asyncio

_PATIENCE_S = 2.0


def close_when_sent(transport: asyncio.Transport) -> None:
    """Close a socket once all is sent, or after a short time."""
    transport.close()
    if transport.get_write_buffer_size():
        asyncio.get_running_loop().call_later(_PATIENCE_S, transport.abort)


def close_when_read(transport: asyncio.Transport, *, reading: bool) -> None:
    """Close a socket once the peer has read what was sent, or after a short time.

    If it were closed while the peer sends, the peer might never see the last responses. What comes
    from the peer is ``reading`` already, or is from now on, and is to be thrown away.
    """
    try:
        transport.write_eof()
    except OSError:  # the peer is gone, which the event loop has not seen yet
        transport.abort()
        return
    if not reading:
        transport.resume_reading()
    asyncio.get_running_loop().call_later(_PATIENCE_S, transport.abort)
