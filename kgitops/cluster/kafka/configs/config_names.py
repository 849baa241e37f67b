"""librdkafka's config names, grouped by how kgitops treats them.

Source: CONFIGURATION.md of librdkafka 2.16. A test checks the names against librdkafka itself.
"""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


UNDERSTOOD = _names(
    """
    broker.address.family client.dns.lookup client.id enable.ssl.certificate.verification
    https.ca.location https.ca.pem sasl.mechanism sasl.mechanisms
    sasl.oauthbearer.client.credentials.client.id sasl.oauthbearer.client.credentials.client.secret
    sasl.oauthbearer.client.id sasl.oauthbearer.client.secret sasl.oauthbearer.config
    sasl.oauthbearer.extensions
    sasl.oauthbearer.method sasl.oauthbearer.scope sasl.oauthbearer.token.endpoint.url
    sasl.password sasl.username security.protocol socket.connection.setup.timeout.ms
    socket.timeout.ms ssl.ca.location ssl.ca.pem ssl.certificate.location ssl.certificate.pem
    ssl.endpoint.identification.algorithm ssl.key.location ssl.key.password ssl.key.pem
    ssl.keystore.location ssl.keystore.password
    """
)
"""Configs that both clients follow."""

ADDED = _names("sasl.oauthbearer.token.provider ssl.keystore.type")
"""Configs of kgitops's own, which librdkafka does not know."""

PASSED_ON = _names(
    """
    api.version.fallback.ms api.version.request api.version.request.timeout.ms batch.num.messages
    batch.size broker.address.ttl broker.version.fallback client.rack compression.codec
    compression.level compression.type connections.max.idle.ms debug enable.metrics.push
    enable.random.seed fetch.error.backoff.ms fetch.max.bytes fetch.message.max.bytes
    fetch.min.bytes fetch.queue.backoff.ms fetch.wait.max.ms linger.ms log.connection.close
    log.thread.name log_level max.in.flight max.in.flight.requests.per.connection
    max.partition.fetch.bytes message.copy.max.bytes message.max.bytes message.send.max.retries
    metadata.max.age.ms metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy
    queue.buffering.backpressure.threshold queue.buffering.max.kbytes queue.buffering.max.messages
    queue.buffering.max.ms queued.max.messages.kbytes queued.min.messages receive.message.max.bytes
    reconnect.backoff.jitter.ms reconnect.backoff.max.ms reconnect.backoff.ms retries
    retry.backoff.max.ms retry.backoff.ms socket.blocking.max.ms socket.keepalive.enable
    socket.max.fails socket.nagle.disable socket.receive.buffer.bytes socket.send.buffer.bytes
    sticky.partitioning.linger.ms topic.metadata.propagation.max.ms
    topic.metadata.refresh.fast.cnt topic.metadata.refresh.fast.interval.ms
    topic.metadata.refresh.interval.ms topic.metadata.refresh.sparse
    """
)
"""Configs for librdkafka alone: they change its speed, not its results."""

OWN = _names(
    """
    acks allow.auto.create.topics auto.commit.enable auto.commit.interval.ms auto.offset.reset
    check.crcs delivery.report.only.error delivery.timeout.ms enable.auto.commit
    enable.auto.offset.store enable.gapless.guarantee enable.idempotence enable.partition.eof
    group.id group.instance.id group.protocol group.protocol.type group.remote.assignor
    heartbeat.interval.ms isolation.level max.poll.interval.ms message.timeout.ms
    partition.assignment.strategy partitioner produce.offset.report queuing.strategy
    request.required.acks request.timeout.ms session.timeout.ms statistics.interval.ms
    topic.blacklist transaction.timeout.ms transactional.id
    """
)
"""Configs that kgitops sets itself, because the registry's guarantees depend on them."""

ADVICE = {
    "bootstrap.servers": "write the servers in the cluster's url: kafka://HOST:PORT,HOST:PORT",
    "metadata.broker.list": "write the servers in the cluster's url: kafka://HOST:PORT,HOST:PORT",
    "ssl.truststore.location": "it is a Java client's; set ssl.ca.location to a PEM file",
    "ssl.truststore.password": "it is a Java client's; set ssl.ca.location to a PEM file",
    "ssl.truststore.type": "it is a Java client's; set ssl.ca.location to a PEM file",
    "ssl.truststore.certificates": "it is a Java client's; set ssl.ca.pem",
    "ssl.keystore.key": "it is a Java client's; set ssl.key.pem",
    "ssl.keystore.certificate.chain": "it is a Java client's; set ssl.certificate.pem",
    "sasl.jaas.config": "it is a Java client's; set sasl.username and sasl.password",
    "sasl.login.callback.handler.class": "it is a Java client's; set sasl.oauthbearer.method=oidc",
    "sasl.client.callback.handler.class": "it is a Java client's; sasl.mechanism is enough",
}
"""Advice for configs that users often try, by name."""

UNSUPPORTED = _names(
    """
    bootstrap.servers enable.sasl.oauthbearer.unsecure.jwt interceptors metadata.broker.list
    plugin.library.paths sasl.kerberos.keytab sasl.kerberos.kinit.cmd
    sasl.kerberos.min.time.before.relogin sasl.kerberos.principal sasl.kerberos.service.name
    sasl.oauthbearer.assertion.algorithm sasl.oauthbearer.assertion.claim.aud
    sasl.oauthbearer.assertion.claim.exp.seconds sasl.oauthbearer.assertion.claim.iss
    sasl.oauthbearer.assertion.claim.jti.include sasl.oauthbearer.assertion.claim.nbf.seconds
    sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.file
    sasl.oauthbearer.assertion.jwt.template.file sasl.oauthbearer.assertion.private.key.file
    sasl.oauthbearer.assertion.private.key.passphrase sasl.oauthbearer.assertion.private.key.pem
    sasl.oauthbearer.grant.type
    sasl.oauthbearer.metadata.authentication.type sasl.oauthbearer.sub.claim.name
    ssl.ca.certificate.stores ssl.cipher.suites ssl.crl.location ssl.curves.list ssl.engine.id
    ssl.engine.location ssl.providers ssl.sigalgs.list
    """
)
"""Configs that one of the two clients would ignore, so neither accepts them."""
