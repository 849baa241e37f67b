import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Records written and read, in transactions and without; of clients since 2.5. */
public class Records implements Session.Verbs {
    private static final int PATIENCE_S = 45;
    private final Map<String, KafkaProducer<String, String>> open = new HashMap<>();

    @Override
    public Object run(String verb, Session.Arguments arguments) throws Exception {
        switch (verb) {
            case "produce":
                return produce(arguments);
            case "transact":
                return transact(arguments);
            case "begin":
                return begin(arguments);
            case "end":
                try (KafkaProducer<String, String> producer = open.remove(arguments.text("producer"))) {
                    producer.commitTransaction();
                    return "committed";
                }
            case "transform":
                return transform(arguments);
            case "fence":
                return fence(arguments);
            case "read":
                return read(arguments);
            default:
                throw new IllegalArgumentException(verb);
        }
    }

    /** The topics that the brokers confirmed, and how many records. */
    private static Object produce(Session.Arguments arguments) throws Exception {
        try (KafkaProducer<String, String> producer = producer(arguments, Map.of())) {
            List<RecordMetadata> written = send(producer, arguments.text("topic"), arguments.text("prefix"), arguments.number("count"));
            producer.flush();
            return Map.of(
                "topics", written.stream().map(RecordMetadata::topic).collect(Collectors.toSet()),
                "records", written.size(),
                "offsets", written.stream().filter(RecordMetadata::hasOffset).count());
        }
    }

    /** A transaction that is committed or aborted. */
    private static Object transact(Session.Arguments arguments) throws Exception {
        try (KafkaProducer<String, String> producer = producer(arguments, Map.of("transactional.id", arguments.text("id")))) {
            producer.initTransactions();
            producer.beginTransaction();
            send(producer, arguments.text("topic"), arguments.text("prefix"), arguments.number("count"));
            if (arguments.text("end").equals("commit")) {
                producer.commitTransaction();
            } else {
                producer.abortTransaction();
            }
            return arguments.text("end");
        }
    }

    /** A transaction that stays open until its end is asked for. */
    private Object begin(Session.Arguments arguments) throws Exception {
        KafkaProducer<String, String> producer = producer(arguments, Map.of("transactional.id", arguments.text("id")));
        open.put(arguments.text("producer"), producer);
        producer.initTransactions();
        producer.beginTransaction();
        return send(producer, arguments.text("topic"), arguments.text("prefix"), arguments.number("count")).size();
    }

    /** Reads in a group and writes in transactions; the first is aborted, and all is read again. */
    private static Object transform(Session.Arguments arguments) throws Exception {
        int count = arguments.number("count");
        Properties settings = arguments.settings();
        settings.put("group.id", arguments.text("group"));
        settings.put("isolation.level", "read_committed");
        try (KafkaProducer<String, String> producer = producer(arguments, Map.of("transactional.id", arguments.text("id")));
                KafkaConsumer<String, String> consumer = consumer(settings)) {
            producer.initTransactions();
            consumer.subscribe(List.of(arguments.text("from")));
            for (boolean commits : List.of(false, true)) {
                List<ConsumerRecord<String, String>> rows = poll(consumer, count);
                producer.beginTransaction();
                Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                for (ConsumerRecord<String, String> row : rows) {
                    String value = (commits ? "" : "aborted ") + row.value();
                    producer.send(new ProducerRecord<>(arguments.text("to"), row.key(), value));
                    offsets.put(new TopicPartition(row.topic(), row.partition()), new OffsetAndMetadata(row.offset() + 1));
                }
                producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                if (commits) {
                    producer.commitTransaction();
                } else {
                    producer.abortTransaction();
                    consumer.seekToBeginning(consumer.assignment());
                }
            }
            Map<String, Long> committed = new TreeMap<>();
            consumer.committed(consumer.assignment()).forEach((place, offset) ->
                committed.put(place.toString(), offset == null ? -1 : offset.offset()));
            return committed;
        }
    }

    /** A producer that a second one with its transactional id fences: the error that it meets. */
    private static Object fence(Session.Arguments arguments) throws Exception {
        Map<String, String> id = Map.of("transactional.id", arguments.text("id"));
        try (KafkaProducer<String, String> first = producer(arguments, id);
                KafkaProducer<String, String> second = producer(arguments, id)) {
            first.initTransactions();
            first.beginTransaction();
            send(first, arguments.text("topic"), "fenced", 1);
            second.initTransactions();
            try {
                send(first, arguments.text("topic"), "fenced", 1);
                first.commitTransaction();
                return "nothing";
            } catch (ProducerFencedException error) {
                return error.getClass().getSimpleName();
            } catch (java.util.concurrent.ExecutionException error) {
                return error.getCause().getClass().getSimpleName();
            }
        }
    }

    /** All values of a topic, in the order of its partitions. */
    private static Object read(Session.Arguments arguments) throws Exception {
        try (KafkaConsumer<String, String> consumer = consumer(arguments.settings())) {
            List<TopicPartition> places = consumer.partitionsFor(arguments.text("topic")).stream()
                .map(row -> new TopicPartition(row.topic(), row.partition())).collect(Collectors.toList());
            consumer.assign(places);
            consumer.seekToBeginning(places);
            Map<TopicPartition, Long> ends = consumer.endOffsets(places);
            List<String> values = new ArrayList<>();
            long deadline = System.nanoTime() + PATIENCE_S * 1_000_000_000L;
            while (places.stream().anyMatch(place -> consumer.position(place) < ends.get(place))) {
                consumer.poll(Duration.ofMillis(100)).forEach(row -> values.add(row.value()));
                if (System.nanoTime() > deadline) {
                    throw new IllegalStateException("not read to the end: " + values.size());
                }
            }
            return values;
        }
    }

    private static List<RecordMetadata> send(KafkaProducer<String, String> producer, String topic, String prefix, int count)
            throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            sent.add(producer.send(new ProducerRecord<>(topic, "key" + i, prefix + i)));
        }
        List<RecordMetadata> written = new ArrayList<>();
        for (Future<RecordMetadata> one : sent) {
            written.add(one.get());
        }
        return written;
    }

    private static List<ConsumerRecord<String, String>> poll(KafkaConsumer<String, String> consumer, int count) {
        List<ConsumerRecord<String, String>> rows = new ArrayList<>();
        long deadline = System.nanoTime() + PATIENCE_S * 1_000_000_000L;
        while (rows.size() < count) {
            consumer.poll(Duration.ofMillis(200)).forEach(rows::add);
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("read " + rows.size() + " records");
            }
        }
        return rows;
    }

    private static KafkaProducer<String, String> producer(Session.Arguments arguments, Map<String, String> more) throws Exception {
        Properties settings = arguments.settings();
        settings.putAll(more);
        settings.put("max.block.ms", "30000");
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    static KafkaConsumer<String, String> consumer(Properties settings) {
        settings.put("enable.auto.commit", "false");
        settings.putIfAbsent("auto.offset.reset", "earliest");
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    static Collection<String> places(Collection<TopicPartition> partitions) {
        return partitions.stream().map(TopicPartition::toString).sorted().collect(Collectors.toList());
    }
}
