"""Kafka's wire protocol: messages as values, and values as bytes; no sockets, nothing of kgitops.

``messages.jsonl`` has the fields of every message of Kafka 4.3, with the versions that each field
is in (``tools/wire_messages.py`` makes it from Kafka's jar). What is used of it is made when it is
used first: classes of the values (``messages.py``), and a reader and a writer for each version
(``reading.py``, ``writing.py``), as Python source for exactly the fields of that version.

``virtual_clusters.jsonl`` has the messages of KIP-1134 in the same form, with private keys. They
are experimental.

    from kgitops.wire import messages
    from kgitops.wire.codec import read, write

    request = read(messages.CreateTopicsRequest, 7, data)
    data = write(messages.CreateTopicsResponse(topics=[]), 7)

``apis.py`` lists the requests by their keys, and ``frames.py`` has what surrounds them on a
connection. Whatever is not exactly a message of its version is a ``MalformedError``.
"""
