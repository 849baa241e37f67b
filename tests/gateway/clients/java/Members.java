import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;

/** Members of groups, each of which reads and commits in a thread of its own until it is stopped. */
public class Members implements Session.Verbs {
    private final Map<String, Member> members = new HashMap<>();

    @Override
    public Object run(String verb, Session.Arguments arguments) throws Exception {
        String name = arguments.text("member");
        switch (verb) {
            case "start":
                members.put(name, new Member(arguments));
                return null;
            case "state":
                return members.get(name).state();
            case "stop":
                return members.remove(name).stop();
            default:
                throw new IllegalArgumentException(verb);
        }
    }

    /** Subscribes with what a newer client has. */
    public interface Subscriber {
        void subscribe(KafkaConsumer<String, String> consumer, String pattern, ConsumerRebalanceListener listener);
    }

    private static class Member implements ConsumerRebalanceListener {
        private final KafkaConsumer<String, String> consumer;
        private final Thread thread;
        private final List<String> read = new ArrayList<>();
        private final List<String> given = new ArrayList<>();
        private volatile boolean stopped;
        private Collection<String> owned = List.of();
        private String problem = "";
        private int generation = -1;
        private int commits;

        Member(Session.Arguments arguments) throws Exception {
            Properties settings = arguments.settings();
            consumer = Records.consumer(settings);
            if (arguments.has("pattern")) {
                consumer.subscribe(Pattern.compile(arguments.text("pattern")), this);
            } else if (arguments.has("re2j")) {
                Subscriber newer = (Subscriber) Class.forName("Since4").getDeclaredConstructor().newInstance();
                newer.subscribe(consumer, arguments.text("re2j"), this);
            } else {
                consumer.subscribe(List.of(arguments.text("topics").split(",")), this);
            }
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
            List<String> found = new ArrayList<>();
            for (ConsumerRecord<String, String> row : consumer.poll(Duration.ofMillis(100))) {
                found.add(row.topic() + ":" + row.value());
            }
            boolean committed = !found.isEmpty() && commit();
            synchronized (this) {
                read.addAll(found);
                owned = Records.places(consumer.assignment());
                generation = consumer.groupMetadata().generationId();
                commits += committed ? 1 : 0;
            }
        }

        /** A rebalance may come first: its records are then read again by whoever gets them. */
        private boolean commit() {
            try {
                consumer.commitSync(Duration.ofSeconds(20));
                return true;
            } catch (CommitFailedException | RebalanceInProgressException error) {
                return false;
            }
        }

        synchronized Map<String, Object> state() {
            Map<String, Object> state = new LinkedHashMap<>();
            state.put("owned", owned);
            state.put("read", new ArrayList<>(read));
            state.put("given", new ArrayList<>(given));
            state.put("generation", generation);
            state.put("commits", commits);
            state.put("problem", problem);
            return state;
        }

        Object stop() throws InterruptedException {
            stopped = true;
            thread.join(30_000);
            return state();
        }

        @Override
        public synchronized void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            given.addAll(Records.places(partitions));
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            // What was read is committed after each poll.
        }
    }
}
