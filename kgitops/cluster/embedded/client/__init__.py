"""The in-process Admin client of an embedded cluster: Kafka's calls as one principal makes them.

``EmbeddedAdmin`` (``admin.py``) is a connection of one principal, with its host and client id. The
port (``adapter.py``) takes kgitops' logical requests only; this client is the whole surface, item
by item and version by version, as the brokers of spec §3 answer: for tests of policies, for
exploring, and for anything that speaks Kafka's protocol on behalf of the cluster.

How a call is answered:

1. A method of ``EmbeddedAdmin`` is one of Kafka's requests. There is a module per family
   (``topics.py``, ``configs.py``, ``acls.py``, …), and its class is a mixin of ``EmbeddedAdmin``.
   The method settles what the version of the request and the timeout ask for.
2. ``connection.py`` hands a function to the controller. It gets the draft of one decision, with the
   caller's rights, and what it writes becomes true as one batch, or never if it is a read or
   ``validate_only``.
3. The function resolves names by the caller's namespace (``namespaces.py``): a caller whose user,
   or else whose client id, is bound to a virtual cluster speaks of everything by local names and
   is answered in them (VC-249). Every family is written once over that namespace.
4. The module of ``controls/`` for that kind decides each item. A ``Refusal`` becomes the result of
   its item; it is raised to the caller where Kafka's answer has one error for the whole request.

Answers are values (``RequestResult`` with Kafka's code and message, or a dataclass that holds one),
by the keys that were asked for. Connections are safe to use from several threads: the controller
takes one request at a time.

Not modelled, and so refused by being absent: produce and fetch (``kgitops/serve/data`` has them; a
caller's topics are looked up here, ``authorize_topics``), WriteTxnMarkers, log directories, quorum
and broker requests, delegation tokens (a caller with one acts as its owner, VC-094).
"""
