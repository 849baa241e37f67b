import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.Stores;

/** Kafka Streams: counts words exactly once, through a repartition topic into a store with a changelog. */
public class WordCount implements Session.Verbs {
    private KafkaStreams streams;
    private volatile String problem = "";

    @Override
    public Object run(String verb, Session.Arguments arguments) throws Exception {
        switch (verb) {
            case "start":
                start(arguments);
                return null;
            case "state":
                return Map.of("state", streams.state().toString(), "problem", problem);
            case "stop":
                return streams.close(Duration.ofSeconds(30));
            default:
                throw new IllegalArgumentException(verb);
        }
    }

    private void start(Session.Arguments arguments) throws Exception {
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(arguments.text("from"), Consumed.with(Serdes.String(), Serdes.String()))
            .flatMapValues(line -> Arrays.asList(line.split(" ")))
            .groupBy((key, word) -> word, Grouped.with("by-word", Serdes.String(), Serdes.String()))
            .count(Materialized.<String, Long>as(Stores.inMemoryKeyValueStore("store"))
                .withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
            .toStream()
            .map((word, count) -> org.apache.kafka.streams.KeyValue.pair(word, word + "=" + count))
            .to(arguments.text("to"), Produced.with(Serdes.String(), Serdes.String()));
        Properties settings = arguments.settings();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, arguments.text("application"));
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, arguments.text("folder"));
        // Members of an application do not leave their group: others wait until a session has ended.
        if (!"streams".equals(settings.get(StreamsConfig.GROUP_PROTOCOL_CONFIG))) {
            settings.put("session.timeout.ms", "6000");
        }
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, "2");
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, "100");
        // It asks for what was read to be deleted from its repartition topic, and lives with a refusal.
        settings.put(StreamsConfig.REPARTITION_PURGE_INTERVAL_MS_CONFIG, "200");
        settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, "0");
        streams = new KafkaStreams(builder.build(), settings);
        streams.setUncaughtExceptionHandler(error -> {
            error.printStackTrace();
            StringBuilder said = new StringBuilder();
            for (Throwable cause = error; cause != null; cause = cause.getCause()) {
                said.append(cause).append('\n');
            }
            problem = said.toString();
            return org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.start();
    }
}
