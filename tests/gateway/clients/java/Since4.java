import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.SubscriptionPattern;

/** What clients have had since 4.0: groups of any type, and patterns that brokers match. */
public class Since4 implements Session.Verbs, Members.Subscriber {
    @Override
    public Object run(String verb, Session.Arguments arguments) throws Exception {
        try (AdminClient admin = AdminClient.create(arguments.settings())) {
            switch (verb) {
                case "group types":
                    return admin.listGroups().all().get().stream().collect(Collectors.toMap(
                        GroupListing::groupId, row -> row.type().map(Object::toString).orElse("")));
                case "streams group":
                    return streamsGroup(admin, arguments.text("group"));
                case "group":
                    return group(admin, arguments.text("group"));
                default:
                    throw new IllegalArgumentException(verb);
            }
        }
    }

    private static Object group(AdminClient admin, String name) throws Exception {
        var found = admin.describeConsumerGroups(List.of(name)).all().get().get(name);
        Map<String, Object> told = new LinkedHashMap<>();
        told.put("type", found.type().toString());
        told.put("state", found.groupState().toString());
        told.put("upgraded", found.members().stream().map(member -> member.upgraded().orElse(null)).collect(Collectors.toList()));
        told.put("owned", found.members().stream()
            .map(member -> Records.places(member.assignment().topicPartitions())).collect(Collectors.toList()));
        return told;
    }

    private static Object streamsGroup(AdminClient admin, String name) throws Exception {
        var found = admin.describeStreamsGroups(List.of(name)).all().get().get(name);
        Set<String> topics = new TreeSet<>();
        found.subtopologies().forEach(part -> {
            topics.addAll(part.sourceTopics());
            topics.addAll(part.repartitionSinkTopics());
            topics.addAll(part.repartitionSourceTopics().keySet());
            topics.addAll(part.stateChangelogTopics().keySet());
        });
        return Map.of("state", found.groupState().toString(), "topics", topics, "members", found.members().size());
    }

    @Override
    public void subscribe(KafkaConsumer<String, String> consumer, String pattern, ConsumerRebalanceListener listener) {
        consumer.subscribe(new SubscriptionPattern(pattern), listener);
    }
}
