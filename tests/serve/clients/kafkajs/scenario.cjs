// The calls of KafkaJS, a line for each: whether it passed, its family, its name, what was wrong.
const assert = require('node:assert')
const { Kafka, logLevel, AclResourceTypes, AclOperationTypes, AclPermissionTypes, ConfigResourceTypes,
  ResourcePatternTypes } = require('kafkajs')

const call = async (family, name, expected, body) => {
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
    console.log(`ok\t${family}\t${name}`)
  } catch {
    console.log(`failed\t${family}\t${name}\t${(JSON.stringify(found) + problem).replace(/\s+/g, ' ')}`)
  }
}

const patience = 20000

const consumed = (consumer, count) => new Promise((resolve) => {
  const values = []
  const timer = setTimeout(() => resolve(values), patience)
  consumer.run({
    eachMessage: async ({ message }) => {
      values.push(String(message.value))
      if (values.length === count) {
        clearTimeout(timer)
        resolve(values)
      }
    },
  })
})

const administer = async (admin) => {
  const topic = { topic: 'orders', numPartitions: 2, replicationFactor: 2 }
  const ofTopic = { type: ConfigResourceTypes.TOPIC, name: 'orders' }
  const acl = {
    resourceType: AclResourceTypes.TOPIC, resourceName: 'orders', resourcePatternType: ResourcePatternTypes.LITERAL,
    principal: 'User:a', host: '*', operation: AclOperationTypes.READ, permissionType: AclPermissionTypes.ALLOW,
  }
  await call('cluster', 'describe: brokers', 3, async () => (await admin.describeCluster()).brokers.length)
  await call('topics', 'create', true, () => admin.createTopics({ topics: [topic] }))
  await call('topics', 'create: it exists', false, () => admin.createTopics({ topics: [topic] }))
  await call('topics', 'create, judged only', true,
    () => admin.createTopics({ validateOnly: true, waitForLeaders: false, topics: [{ topic: 'judged' }] }))
  await call('topics', 'create: too few brokers', 'INVALID_REPLICATION_FACTOR',
    () => admin.createTopics({ topics: [{ topic: 'large', replicationFactor: 9 }] }))
  await call('topics', 'list', ['orders'], async () => (await admin.listTopics()).filter((name) => !name.startsWith('__')))
  await call('topics', 'create partitions', undefined,
    () => admin.createPartitions({ topicPartitions: [{ topic: 'orders', count: 3 }] }))
  await call('topics', 'metadata', 3,
    async () => (await admin.fetchTopicMetadata({ topics: ['orders'] })).topics[0].partitions.length)
  await call('configs', 'alter', 0, async () => {
    const configEntries = [{ name: 'retention.ms', value: '9000' }]
    return (await admin.alterConfigs({ resources: [{ ...ofTopic, configEntries }] })).resources[0].errorCode
  })
  await call('configs', 'alter: wrong value', 'INVALID_CONFIG', () => {
    const configEntries = [{ name: 'retention.ms', value: 'soon' }]
    return admin.alterConfigs({ resources: [{ ...ofTopic, configEntries }] })
  })
  await call('configs', 'describe', '9000', async () => {
    const found = await admin.describeConfigs({ includeSynonyms: true, resources: [ofTopic] })
    return found.resources[0].configEntries.find((entry) => entry.configName === 'retention.ms').configValue
  })
  await call('ACLs', 'create', true, () => admin.createAcls({ acl: [acl] }))
  await call('ACLs', 'describe', 'User:a', async () => (await admin.describeAcls(acl)).resources[0].acls[0].principal)
  await call('ACLs', 'delete', 1, async () => {
    const { filterResponses } = await admin.deleteAcls({ filters: [acl] })
    return filterResponses[0].matchingAcls.length
  })
  await call('moves', 'alter reassignments', undefined, () => admin.alterPartitionReassignments({
    topics: [{ topic: 'orders', partitionAssignment: [{ partition: 0, replicas: [3, 1] }] }],
  }))
  await call('moves', 'list reassignments', 0,
    async () => (await admin.listPartitionReassignments({ topics: null })).topics.length)
}

const exchange = async (kafka, admin) => {
  await admin.createTopics({ topics: [{ topic: 'data', numPartitions: 1 }] })
  const producer = kafka.producer()
  await producer.connect()
  await call('records', 'produce', '0', async () =>
    (await producer.send({ topic: 'data', messages: [{ value: 'one' }, { value: 'two' }] }))[0].baseOffset)
  await producer.disconnect()

  const careful = kafka.producer({ transactionalId: 'tx', maxInFlightRequests: 1, idempotent: true })
  await careful.connect()
  for (const [end, value] of [['abort', 'aborted'], ['commit', 'three']]) {
    await call('transactions', end, undefined, async () => {
      const transaction = await careful.transaction()
      await transaction.send({ topic: 'data', messages: [{ value }] })
      await transaction[end]()
    })
  }
  await careful.disconnect()

  const consumer = kafka.consumer({ groupId: 'readers' })
  await consumer.connect()
  await consumer.subscribe({ topic: 'data', fromBeginning: true })
  await call('groups', 'consume in a group, what is committed', ['one', 'two', 'three'], () => consumed(consumer, 3))
  await call('groups', 'describe', 'Stable', async () => (await admin.describeGroups(['readers'])).groups[0].state)
  await consumer.disconnect()

  await call('records', 'offsets of a topic', '0',
    async () => (await admin.fetchTopicOffsets('data'))[0].low)
  await call('records', 'offsets of a time', '0',
    async () => (await admin.fetchTopicOffsetsByTimestamp('data', 1))[0].offset)
  await call('records', 'delete', undefined,
    () => admin.deleteTopicRecords({ topic: 'data', partitions: [{ partition: 0, offset: '1' }] }))
  await call('groups', 'list', ['readers'], async () => (await admin.listGroups()).groups.map((group) => group.groupId))
  await call('groups', 'set offsets', undefined, () => admin.setOffsets({
    groupId: 'readers', topic: 'data', partitions: [{ partition: 0, offset: '1' }],
  }))
  await call('groups', 'fetch offsets', '1', async () =>
    (await admin.fetchOffsets({ groupId: 'readers', topics: ['data'] }))[0].partitions[0].offset)
  await call('groups', 'delete', 0, async () => (await admin.deleteGroups(['readers']))[0].errorCode)
}

const main = async () => {
  const kafka = new Kafka({ clientId: 'kafkajs', brokers: process.argv[2].split(','), logLevel: logLevel.NOTHING,
    retry: { retries: 3 } })
  const admin = kafka.admin()
  await admin.connect()
  await administer(admin)
  await exchange(kafka, admin)
  await call('topics', 'delete', undefined, () => admin.deleteTopics({ topics: ['orders'] }))
  await call('topics', 'delete: there is none', 'UNKNOWN_TOPIC_OR_PARTITION',
    () => admin.deleteTopics({ topics: ['orders'] }))
  await admin.disconnect()
  process.exit(0)
}

main()
