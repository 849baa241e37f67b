import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** A producer, a consumer in a group and a transaction; of clients before 2.0. */
public class DataBefore2 implements Scenario.Part {
    private static final int PATIENCE_S = 20;

    @Override
    public void run(Calls calls, AdminClient admin, String servers) throws Exception {
        admin.createTopics(List.of(new NewTopic("data", 1, (short) 1))).all().get();
        try (KafkaProducer<String, String> producer = producer(servers, "acks", "all")) {
            calls.call("records", "produce", 0L, () -> producer.send(new ProducerRecord<>("data", "k", "one")).get().offset());
        }
        try (KafkaProducer<String, String> producer = producer(servers, "transactional.id", "tx")) {
            calls.call("transactions", "commit", null, () -> {
                producer.initTransactions();
                producer.beginTransaction();
                producer.send(new ProducerRecord<>("data", "k", "two")).get();
                producer.commitTransaction();
                return null;
            });
        }
        Properties settings = settings(servers, "group.id", "readers");
        settings.put("auto.offset.reset", "earliest");
        settings.put("isolation.level", "read_committed");
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of("data"));
            calls.call("groups", "consume in a group", List.of("one", "two"), () -> values(consumer, 2));
            calls.call("groups", "commit", null, () -> {
                consumer.commitSync();
                return null;
            });
        }
    }

    private static List<String> values(KafkaConsumer<String, String> consumer, int count) {
        List<String> found = new ArrayList<>();
        long end = System.nanoTime() + PATIENCE_S * 1_000_000_000L;
        while (found.size() < count && System.nanoTime() < end) {
            for (ConsumerRecord<String, String> row : consumer.poll(200)) {
                found.add(row.value());
            }
        }
        return found;
    }

    private static KafkaProducer<String, String> producer(String servers, String key, String value) {
        Properties settings = settings(servers, key, value);
        settings.put("max.block.ms", "15000");
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    private static Properties settings(String servers, String key, String value) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        settings.put("request.timeout.ms", "10000");
        settings.put("session.timeout.ms", "6000");
        settings.put(key, value);
        return settings;
    }
}
