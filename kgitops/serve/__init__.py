"""An embedded cluster behind sockets that speak Kafka's protocol, for clients of any kind.

Begin with ``server.py``, which opens the listeners. How a request is answered:

1. ``listening/protocol.py`` cuts frames out of what a connection sends, one at a time, in order.
2. ``dispatch.py`` reads the header and the message, and finds the answer of its API in
   ``answers/table.py``. Requests that write, or may be large, are answered in a thread of their
   own, so that no listener waits for a policy or a disk.
3. A function of ``answers/``, a module a family like the embedded cluster's ``client/``, turns the
   message into calls of ``EmbeddedAdmin``, and their results into the answer's message.
"""
