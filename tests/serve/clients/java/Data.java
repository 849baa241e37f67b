import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Producers, consumers in a group, transactions; of clients since 2.0. */
public class Data implements Scenario.Part {
    private static final TopicPartition FIRST = new TopicPartition("data", 0);
    private static final int PATIENCE_S = 20;

    @Override
    public void run(Calls calls, AdminClient admin, String servers) throws Exception {
        admin.createTopics(List.of(new NewTopic("data", 1, (short) 1))).all().get();
        try (KafkaProducer<String, String> producer = producer(servers, Map.of("acks", "all"))) {
            calls.call("records", "produce", 0L, () -> producer.send(new ProducerRecord<>("data", "k", "one")).get().offset());
        }
        try (KafkaProducer<String, String> producer = producer(servers, Map.of("enable.idempotence", "true"))) {
            calls.call("records", "produce, idempotent", 1L,
                () -> producer.send(new ProducerRecord<>("data", "k", "two")).get().offset());
        }
        try (KafkaConsumer<String, String> consumer = consumer(servers, Map.of("group.id", "readers"))) {
            consumer.subscribe(List.of("data"));
            calls.call("groups", "consume in a group", List.of("one", "two"), () -> values(consumer, 2));
            calls.call("groups", "commit", null, () -> {
                consumer.commitSync();
                return null;
            });
        }
        calls.call("groups", "what was committed", 2L, () -> admin.listConsumerGroupOffsets("readers")
            .partitionsToOffsetAndMetadata().get().get(FIRST).offset());
        calls.call("records", "offsets of a time", 0L, () -> {
            try (KafkaConsumer<String, String> consumer = consumer(servers, Map.of())) {
                return consumer.offsetsForTimes(Map.of(FIRST, 1L)).get(FIRST).offset();
            }
        });
        transactions(calls, servers);
    }

    private void transactions(Calls calls, String servers) {
        try (KafkaProducer<String, String> producer = producer(servers, Map.of("transactional.id", "tx"))) {
            calls.call("transactions", "begin", null, () -> {
                producer.initTransactions();
                return null;
            });
            calls.call("transactions", "abort", null, () -> {
                producer.beginTransaction();
                producer.send(new ProducerRecord<>("data", "k", "aborted")).get();
                producer.abortTransaction();
                return null;
            });
            calls.call("transactions", "commit", null, () -> {
                producer.beginTransaction();
                producer.send(new ProducerRecord<>("data", "k", "three")).get();
                producer.commitTransaction();
                return null;
            });
            try (KafkaConsumer<String, String> consumer = consumer(servers, Map.of("group.id", "in-transactions"))) {
                consumer.subscribe(List.of("data"));
                values(consumer, 2);
                calls.call("transactions", "commit offsets within", null, () -> {
                    producer.beginTransaction();
                    producer.sendOffsetsToTransaction(Map.of(FIRST, new OffsetAndMetadata(2)), consumer.groupMetadata());
                    producer.commitTransaction();
                    return null;
                });
            }
        }
        for (String level : List.of("read_committed", "read_uncommitted")) {
            List<String> expected = level.equals("read_committed")
                ? List.of("one", "two", "three") : List.of("one", "two", "aborted", "three");
            try (KafkaConsumer<String, String> consumer = consumer(servers, Map.of("isolation.level", level))) {
                consumer.assign(List.of(FIRST));
                consumer.seekToBeginning(List.of(FIRST));
                calls.call("transactions", level, expected, () -> values(consumer, expected.size()));
            }
        }
    }

    private static List<String> values(KafkaConsumer<String, String> consumer, int count) {
        List<String> found = new ArrayList<>();
        long end = System.nanoTime() + PATIENCE_S * 1_000_000_000L;
        while (found.size() < count && System.nanoTime() < end) {
            for (ConsumerRecord<String, String> row : consumer.poll(Duration.ofMillis(200))) {
                found.add(row.value());
            }
        }
        return found;
    }

    private static KafkaProducer<String, String> producer(String servers, Map<String, String> more) {
        Properties settings = settings(servers, more);
        settings.put("delivery.timeout.ms", "15000");
        settings.put("max.block.ms", "15000");
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    private static KafkaConsumer<String, String> consumer(String servers, Map<String, String> more) {
        Properties settings = settings(servers, more);
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    private static Properties settings(String servers, Map<String, String> more) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        settings.put("request.timeout.ms", "10000");
        settings.putAll(more);
        return settings;
    }
}
