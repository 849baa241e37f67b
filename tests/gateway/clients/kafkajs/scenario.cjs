// KafkaJS in a virtual cluster, by local names: a line for each call, whether it passed, its
// scenario, its name, what was wrong.
const assert = require('node:assert')
const fs = require('node:fs')
const { Kafka, logLevel, AssignerProtocol, ConfigResourceTypes } = require('kafkajs')

const member = JSON.parse(process.argv[2])
const patience = 60000
const [inPartitions, outPartitions] = [4, 2]
const all = inPartitions + outPartitions

const call = async (scenario, name, expected, body) => {
  let found
  let problem = ''
  try {
    found = await body()
  } catch (error) {
    found = error.type ?? error.cause?.type ?? error.name
    problem = ` ${error.message} ${(error.errors ?? []).map((one) => one.type)}`
    if (error.errors?.length) found = error.errors[0].type
  }
  try {
    assert.deepStrictEqual(found, expected)
    console.log(`ok\t${scenario}\t${name}`)
  } catch {
    console.log(`failed\t${scenario}\t${name}\t${(JSON.stringify(found) + problem).replace(/\s+/g, ' ')}`)
  }
}

const until = async (done) => {
  const end = Date.now() + patience
  while (!done() && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 50))
}

const kafka = new Kafka({
  clientId: 'kafkajs', brokers: member.servers, logLevel: logLevel.NOTHING, retry: { retries: 8 },
  ssl: { ca: [fs.readFileSync(member.authority, 'utf8')] },
  sasl: { mechanism: 'scram-sha-512', username: member.user, password: member.password },
})
const consumerOf = (group, more = {}) => kafka.consumer({
  groupId: member.prefix + group, heartbeatInterval: 500, sessionTimeout: 10000, metadataMaxAge: 2000,
  maxWaitTimeInMs: 300, ...more,
})

// One that reads in the background and knows its partitions.
const join = async (group, topics) => {
  const consumer = consumerOf(group)
  const found = { consumer, owned: {}, count: () => Object.values(found.owned).flat().length }
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => { found.owned = payload.memberAssignment })
  await consumer.connect()
  await consumer.subscribe({ topics, fromBeginning: true })
  await consumer.run({ eachMessage: async () => {} })
  return found
}

const read = async (group, topic, count, more = {}) => {
  const consumer = consumerOf(group, more)
  const values = []
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({ eachMessage: async ({ message }) => { values.push(String(message.value)) } })
  await until(() => values.length >= count)
  await consumer.disconnect() // commits what was read
  return values.sort()
}

const topics = async (admin) => {
  await call('list topics', 'all of them', member.topics, async () => (await admin.listTopics()).sort())
  await call('describe topics', 'metadata', [member.out, outPartitions], async () => {
    const [found] = (await admin.fetchTopicMetadata({ topics: [member.out] })).topics
    return [found.name, found.partitions.length]
  })
  await call('describe configs', 'of a topic', [member.out, '1'], async () => {
    const { resources: [found] } = await admin.describeConfigs({
      includeSynonyms: false, resources: [{ type: ConfigResourceTypes.TOPIC, name: member.out }],
    })
    const entry = found.configEntries.find(({ configName }) => configName === 'min.insync.replicas')
    return [found.resourceName, entry.configValue]
  })
}

const records = async (admin) => {
  const produce = async (value, { acks = -1, ...more }) => {
    const producer = kafka.producer(more)
    await producer.connect()
    const sent = await producer.send({ topic: member.in, acks, messages: [{ value, partition: 0 }] })
    await producer.disconnect()
    return sent[0]?.baseOffset
  }
  await call('produce', 'acks=all', '0', () => produce('a', {}))
  await call('produce', 'acks=1', '1', () => produce('b', { acks: 1 }))
  await call('produce, idempotent', 'one', '2', () => produce('c', { idempotent: true, maxInFlightRequests: 1 }))
  await call('produce, acks=0', 'one', undefined, () => produce('d', { acks: 0 }))
  await call('produce, acks=0', 'all are there', ['a', 'b', 'c', 'd'], () => read('acks', member.in, 4))
  await call('offsets of a topic', 'first and end', ['0', '4'], async () => {
    const found = await admin.fetchTopicOffsets(member.in)
    const { low, high } = found.find(({ partition }) => partition === 0)
    return [low, high]
  })
}

const transactions = async (admin) => {
  const producer = kafka.producer({ transactionalId: `${member.prefix}tx`, maxInFlightRequests: 1, idempotent: true })
  await producer.connect()
  for (const [end, value] of [['abort', 'no'], ['commit', 'yes']]) {
    await call('transaction', end, undefined, async () => {
      const transaction = await producer.transaction()
      await transaction.send({ topic: member.out, messages: [{ value, partition: 0 }] })
      await transaction[end]()
    })
  }
  const group = `${member.prefix}transformed`
  await call('consume, transform, produce', 'records', ['a', 'b', 'c', 'd'], async () => {
    const values = await read('transform', member.in, 4)
    const transaction = await producer.transaction()
    const messages = values.map((value) => ({ value: value.toUpperCase(), partition: 1 }))
    await transaction.send({ topic: member.out, messages })
    await transaction.sendOffsets({
      consumerGroupId: group, topics: [{ topic: member.in, partitions: [{ partition: 0, offset: '4' }] }],
    })
    await transaction.commit()
    return values
  })
  await call('consume, transform, produce', 'offsets', '4', () => offset(admin, group))
  await producer.disconnect()
  // It has no other isolation than that unless a consumer asks for it.
  await call('read committed', 'records', ['A', 'B', 'C', 'D', 'yes'], () => read('committed', member.out, 5))
}

// Waits for the offset: one of a transaction is there once its end is written.
const offset = async (admin, groupId) => {
  const end = Date.now() + patience
  for (;;) {
    const [{ partitions }] = await admin.fetchOffsets({ groupId, topics: [member.in] })
    const { offset: found } = partitions.find(({ partition }) => partition === 0)
    if (found !== '-1' || Date.now() > end) return found
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

const members = async (admin) => {
  const names = [member.in, member.out]
  for (const [scenario, subscribed] of [['round-robin group', names], ['classic group by regex', [new RegExp(member.pattern)]]]) {
    const expected = [all, 'shared', 2, [...names].sort(), all]
    await call(scenario, 'one has all, then shares, then has all again', expected, async () => {
      const group = scenario.replaceAll(' ', '-')
      const first = await join(group, subscribed)
      await until(() => first.count() === all)
      const alone = first.count()
      const second = await join(group, subscribed)
      await until(() => second.count() > 0 && first.count() + second.count() === all)
      const together = first.count() > 0 && second.count() > 0 ? 'shared' : 'not shared'
      const { groups: [found] } = await admin.describeGroups([member.prefix + group])
      const told = found.members.flatMap((one) => Object.keys(AssignerProtocol.MemberAssignment.decode(one.memberAssignment).assignment))
      await second.consumer.disconnect()
      await until(() => first.count() === all)
      const after = first.count()
      await first.consumer.disconnect()
      return [alone, together, found.members.length, [...new Set(told)].sort(), after]
    })
  }
}

const groups = async (admin) => {
  const group = `${member.prefix}told`
  await read('told', member.in, 4)
  const listed = async () => {
    const names = (await admin.listGroups()).groups.map(({ groupId }) => groupId)
    return names.find((name) => member.gateway && name.includes(':')) ?? names.includes(group)
  }
  await call('list groups', 'has ours', true, listed)
  await call('describe group', 'without members', [group, 'Empty'], async () => {
    const { groups: [found] } = await admin.describeGroups([group])
    return [found.groupId, found.state]
  })
  await call('offsets of a group', 'list', '4', () => offset(admin, group))
  await call('offsets of a group', 'alter', undefined, () => admin.setOffsets({
    groupId: group, topic: member.in, partitions: [{ partition: 0, offset: '2' }],
  }))
  await call('offsets of a group', 'list what was altered', '2', () => offset(admin, group))
  await call('delete group', 'ours', 0, async () => (await admin.deleteGroups([group]))[0].errorCode)
  await call('delete group', 'it is gone', false, listed)
}

const refusals = async (admin) => {
  await call('changes are refused', 'create', 'POLICY_VIOLATION', () => admin.createTopics({ topics: [{ topic: 'mine' }] }))
  await call('changes are refused', 'delete', 'POLICY_VIOLATION', () => admin.deleteTopics({ topics: [member.in] }))
  await call('changes are refused', 'create partitions', 'POLICY_VIOLATION',
    () => admin.createPartitions({ topicPartitions: [{ topic: member.in, count: 9 }] }))
  for (const name of ['no.such', member.physical]) {
    await call('unknown topic', `metadata of ${name}`, 'UNKNOWN_TOPIC_OR_PARTITION',
      () => admin.fetchTopicMetadata({ topics: [name] }))
  }
}

// Reads the quiet topic, commits, and stays a member of its group until the input ends.
const keep = async () => {
  const consumer = consumerOf('kept')
  await consumer.connect()
  await consumer.subscribe({ topic: member.quiet, fromBeginning: true })
  await consumer.run({ autoCommit: false, eachMessage: async ({ topic, partition, message }) => {
    await consumer.commitOffsets([{ topic, partition, offset: String(Number(message.offset) + 1) }])
    console.log('kept')
  } })
  process.stdin.resume()
  await new Promise((resolve) => process.stdin.on('end', resolve))
  await consumer.disconnect()
}

const main = async () => {
  if (process.argv[3] === 'keep') return keep()
  const admin = kafka.admin()
  await admin.connect()
  await topics(admin)
  await records(admin)
  await transactions(admin)
  await members(admin)
  await groups(admin)
  if (member.gateway) await refusals(admin)
  await admin.disconnect()
  process.exit(0)
}

main()
