import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.TransactionListing;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.serialization.StringSerializer;

/** What clients have had since 3.3: topics by their ids, transactions listed, described and fenced. */
public class Since3 implements Session.Verbs {
    @Override
    public Object run(String verb, Session.Arguments arguments) throws Exception {
        try (AdminClient admin = AdminClient.create(arguments.settings())) {
            switch (verb) {
                case "id":
                    return admin.describeTopics(List.of(arguments.text("topic"))).allTopicNames().get()
                        .get(arguments.text("topic")).topicId().toString();
                case "of id":
                    Uuid id = Uuid.fromString(arguments.text("id"));
                    return admin.describeTopics(TopicCollection.ofTopicIds(List.of(id))).allTopicIds().get().get(id).name();
                case "transactions":
                    return admin.listTransactions().all().get().stream()
                        .map(TransactionListing::transactionalId).collect(Collectors.toCollection(TreeSet::new));
                case "open":
                    return open(admin, arguments);
                default:
                    throw new IllegalArgumentException(verb);
            }
        }
    }

    /** An open transaction as administrators see it, before one of them fences its producer. */
    private static Object open(AdminClient admin, Session.Arguments arguments) throws Exception {
        String id = arguments.text("id");
        String topic = arguments.text("topic");
        var settings = arguments.settings();
        settings.put("transactional.id", id);
        Map<String, Object> found = new TreeMap<>();
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            producer.initTransactions();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(topic, 0, "k", "left open")).get();
            var described = admin.describeTransactions(List.of(id)).all().get().get(id);
            found.put("state", described.state().toString());
            found.put("topics", Records.places(described.topicPartitions()));
            TopicPartition place = new TopicPartition(topic, 0);
            found.put("producers", admin.describeProducers(List.of(place)).partitionResult(place).get().activeProducers().stream()
                .anyMatch(row -> row.producerId() == described.producerId()));
            admin.fenceProducers(List.of(id)).all().get();
            try {
                producer.commitTransaction();
                found.put("then", "committed");
            } catch (RuntimeException error) {
                found.put("then", error.getClass().getSimpleName());
            }
        }
        return found;
    }
}
