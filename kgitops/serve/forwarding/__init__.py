"""Forwarding: brokers send what the controller decides to it, in Envelopes (KIP-590).

How a forwarded request is answered:

1. ``dispatch.py`` of ``serve`` sees that its API is one of ``apis.py`` and gives the client's frame
   to ``brokers/requests.py``. ``brokers/checks.py`` refuses what only this broker can judge.
2. The broker's ``Forwarder`` (``brokers/forwarder.py``) packs the frame, as it came, and the
   client's principal into an Envelope (``envelope.py``) and sends it over the
   broker's one connection to the active controller (``brokers/channel.py``), again and again until
   a controller answers or the time is up.
3. The controller's listener knows the broker by its login (``brokers/login.py``).
   ``controllers/requests.py`` checks that it may forward and unpacks the request, and
   ``controllers/decider.py`` has it decided for the client, with an audit line (``audit.py``).
4. The broker passes the answer on without looking into it. If there is none, ``failures.py``
   makes one with an error for every item.

``brokers/internal_topics.py`` lets brokers ask for topics of their own, and ``options.py`` turns
all that on and off. ``serve/nodes.py`` knows the controllers and the active one, and
``serve/views.py`` what brokers that lag behind see.
"""
