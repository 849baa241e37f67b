import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Share groups (KIP-932): their members, which acknowledge each record, and their administration. */
public class Shares implements Session.Verbs {
    private final Map<String, Member> members = new HashMap<>();

    @Override
    public Object run(String verb, Session.Arguments arguments) throws Exception {
        switch (verb) {
            case "start":
                members.put(arguments.text("member"), new Member(arguments));
                return null;
            case "state":
                return members.get(arguments.text("member")).state();
            case "stop":
                return members.remove(arguments.text("member")).stop();
            default:
                try (AdminClient admin = AdminClient.create(arguments.settings())) {
                    return administer(admin, verb, arguments.text("group"), arguments);
                }
        }
    }

    private static Object administer(AdminClient admin, String verb, String group, Session.Arguments arguments) throws Exception {
        switch (verb) {
            case "from the beginning":
                ConfigEntry earliest = new ConfigEntry("share.auto.offset.reset", "earliest");
                admin.incrementalAlterConfigs(Map.of(
                    new ConfigResource(ConfigResource.Type.GROUP, group),
                    List.of(new AlterConfigOp(earliest, AlterConfigOp.OpType.SET)))).all().get();
                return null;
            case "describe":
                return describe(admin, group);
            case "offsets":
                Map<String, Object> found = new TreeMap<>();
                admin.listShareGroupOffsets(Map.of(group, new ListShareGroupOffsetsSpec())).partitionsToOffsetInfo(group).get()
                    .forEach((place, info) -> found.put(place.toString(), Map.of("start", info.startOffset(), "lag", info.lag().orElse(-1L))));
                return found;
            case "alter offset":
                TopicPartition from = new TopicPartition(arguments.text("topic"), arguments.number("partition"));
                admin.alterShareGroupOffsets(group, Map.of(from, (long) arguments.number("offset"))).all().get();
                return null;
            case "delete offsets":
                admin.deleteShareGroupOffsets(group, Set.of(arguments.text("topic"))).all().get();
                return null;
            case "drop":
                admin.deleteShareGroups(List.of(group)).all().get();
                return null;
            default:
                throw new IllegalArgumentException(verb);
        }
    }

    private static Object describe(AdminClient admin, String group) throws Exception {
        var found = admin.describeShareGroups(List.of(group)).describedGroups().get(group).get();
        Map<String, Object> told = new LinkedHashMap<>();
        told.put("state", found.groupState().toString());
        told.put("owned", found.members().stream()
            .map(member -> Records.places(member.assignment().topicPartitions())).collect(Collectors.toList()));
        return told;
    }

    /**
     * Accepts what it reads, but for records that it gives back when they come for the first time. If it is patient, it
     * goes on when it may not read a topic for a while, and reads again what it could not acknowledge.
     */
    private static class Member {
        private final KafkaShareConsumer<String, String> consumer;
        private final Thread thread;
        private final boolean gives;
        private final boolean patient;
        private final List<String> accepted = new ArrayList<>();
        private final List<String> released = new ArrayList<>();
        private volatile boolean stopped;
        private String problem = "";

        Member(Session.Arguments arguments) throws Exception {
            var settings = arguments.settings();
            settings.put("share.acknowledgement.mode", "explicit");
            consumer = new KafkaShareConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
            consumer.subscribe(List.of(arguments.text("topics").split(",")));
            gives = arguments.has("gives");
            patient = arguments.has("patient");
            thread = new Thread(this::work, arguments.text("member"));
            thread.start();
        }

        private void work() {
            try (consumer) {
                while (!stopped) {
                    poll();
                }
            } catch (Throwable error) {
                error.printStackTrace();
                synchronized (this) {
                    problem = error.getClass().getSimpleName() + ": " + error.getMessage();
                }
            }
        }

        private void poll() {
            List<String> taken = new ArrayList<>();
            List<String> returned = new ArrayList<>();
            ConsumerRecords<String, String> found;
            try {
                found = consumer.poll(Duration.ofMillis(100));
            } catch (TopicAuthorizationException error) {
                if (!patient) {
                    throw error;
                }
                return;
            }
            for (ConsumerRecord<String, String> row : found) {
                boolean first = row.deliveryCount().orElse((short) 1) == 1;
                boolean back = gives && first;
                consumer.acknowledge(row, back ? AcknowledgeType.RELEASE : AcknowledgeType.ACCEPT);
                (back ? returned : taken).add(row.topic() + ":" + row.value());
            }
            consumer.commitSync(Duration.ofSeconds(20)).forEach((place, error) -> error.ifPresent(problem -> {
                if (!patient) {
                    throw problem;
                }
            }));
            synchronized (this) {
                accepted.addAll(taken);
                released.addAll(returned);
            }
        }

        synchronized Map<String, Object> state() {
            Map<String, Object> state = new LinkedHashMap<>();
            state.put("accepted", new ArrayList<>(accepted));
            state.put("released", new ArrayList<>(released));
            state.put("problem", problem);
            return state;
        }

        Object stop() throws InterruptedException {
            stopped = true;
            thread.join(30_000);
            return state();
        }
    }
}
