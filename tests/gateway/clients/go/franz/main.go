// franz-go and its administrative client kadm in a virtual cluster, by local names.
package main

import (
	"context"
	"sort"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	. "kgitops-gateway-clients/told"
	. "kgitops-serve-clients/calls"
)

const patience = 60 * time.Second

var (
	ctx    = context.Background()
	member = Read()
	admin  = kadm.NewClient(client())
)

func client(options ...kgo.Opt) *kgo.Client {
	login := scram.Auth{User: member.User, Pass: member.Password}.AsSha512Mechanism()
	all := append([]kgo.Opt{
		kgo.SeedBrokers(member.Servers...), kgo.DialTLSConfig(member.TLS()), kgo.SASL(login),
		kgo.RetryTimeout(patience), kgo.RecordDeliveryTimeout(patience), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MetadataMinAge(500 * time.Millisecond), kgo.MetadataMaxAge(2 * time.Second), kgo.HeartbeatInterval(500 * time.Millisecond),
	}, options...)
	made, err := kgo.NewClient(all...)
	if err != nil {
		panic(err)
	}
	return made
}

func main() {
	if Keeps() {
		keep()
		return
	}
	topics()
	records()
	transactions()
	members()
	groups()
	if member.Gateway {
		refusals()
	}
	Call("classic group that goes to KIP-848", "shared by both, then all the new one's, which reads on", "a b c d, true 2 4 late", migrate)
}

// keep reads the quiet topic, commits, and stays a member of its group.
func keep() {
	consumer := client(kgo.ConsumerGroup(member.Prefix+"kept"), kgo.ConsumeTopics(member.Quiet), kgo.DisableAutoCommit())
	defer consumer.Close()
	if _, err := poll(consumer, 1); err != nil {
		panic(err)
	}
	if err := consumer.CommitUncommittedOffsets(ctx); err != nil {
		panic(err)
	}
	Kept()
}

func topics() {
	Call("list topics", "all of them", member.Topics, func() (any, error) {
		found, err := admin.ListTopics(ctx)
		return found.Names(), err
	})
	Call("describe topics", "metadata", OutPartitions, func() (any, error) {
		found, err := admin.ListTopics(ctx, member.Out)
		return len(found[member.Out].Partitions), err
	})
	Call("describe configs", "of a topic", member.Out+" 1", func() (any, error) {
		found, err := admin.DescribeTopicConfigs(ctx, member.Out)
		if err != nil {
			return nil, err
		}
		for _, config := range found[0].Configs {
			if config.Key == "min.insync.replicas" {
				return found[0].Name + " " + config.MaybeValue(), nil
			}
		}
		return found[0].Name, found[0].Err
	})
}

func records() {
	produce := func(value string, options ...kgo.Opt) func() (any, error) {
		return func() (any, error) {
			producer := client(options...)
			defer producer.Close()
			result := producer.ProduceSync(ctx, record(member.In, 0, value))
			return result[0].Record.Offset, result.FirstErr()
		}
	}
	Call("produce", "acks=all", int64(0), produce("a", kgo.DisableIdempotentWrite()))
	Call("produce", "acks=1", int64(1), produce("b", kgo.DisableIdempotentWrite(), kgo.RequiredAcks(kgo.LeaderAck())))
	Call("produce, idempotent", "one", int64(2), produce("c"))
	Call("produce, acks=0", "one", true, func() (any, error) {
		_, err := produce("d", kgo.DisableIdempotentWrite(), kgo.RequiredAcks(kgo.NoAck()))()
		return err == nil, err
	})
	Call("produce, acks=0", "all are there", "a b c d", read("acks", 4, kgo.ConsumeTopics(member.In)))
	Call("offsets of a topic", "first and end", []int64{0, 4}, func() (any, error) {
		first, err := admin.ListStartOffsets(ctx, member.In)
		if err != nil {
			return nil, err
		}
		end, err := admin.ListEndOffsets(ctx, member.In)
		from, _ := first.Lookup(member.In, 0)
		to, _ := end.Lookup(member.In, 0)
		return []int64{from.Offset, to.Offset}, err
	})
}

func record(topic string, partition int32, value string) *kgo.Record {
	return &kgo.Record{Topic: topic, Partition: partition, Value: []byte(value)}
}

// read joins a group, reads so many values, sorted, and commits.
func read(group string, count int, options ...kgo.Opt) func() (any, error) {
	return func() (any, error) {
		consumer := client(append(options, kgo.ConsumerGroup(member.Prefix+group), kgo.DisableAutoCommit())...)
		defer consumer.Close()
		values, err := poll(consumer, count)
		if err != nil {
			return nil, err
		}
		return values, consumer.CommitUncommittedOffsets(ctx)
	}
}

type poller interface {
	PollFetches(context.Context) kgo.Fetches
}

func poll(consumer poller, count int) (string, error) {
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	values := []string{}
	for len(values) < count && within.Err() == nil {
		fetches := consumer.PollFetches(within)
		if errs := fetches.Errors(); len(errs) > 0 {
			return strings.Join(values, " "), errs[0].Err
		}
		fetches.EachRecord(func(found *kgo.Record) { values = append(values, string(found.Value)) })
	}
	sort.Strings(values)
	return strings.Join(values, " "), nil
}

func transactions() {
	producer := client(kgo.TransactionalID(member.Prefix + "tx"))
	for _, end := range []kgo.TransactionEndTry{kgo.TryAbort, kgo.TryCommit} {
		name, value := "abort", "no"
		if end == kgo.TryCommit {
			name, value = "commit", "yes"
		}
		Call("transaction", name, nil, func() (any, error) {
			if err := producer.BeginTransaction(); err != nil {
				return nil, err
			}
			if err := producer.ProduceSync(ctx, record(member.Out, 0, value)).FirstErr(); err != nil {
				return nil, err
			}
			return Done(producer.EndTransaction(ctx, end))
		})
	}
	producer.Close()
	Call("consume, transform, produce", "records", true, transform)
	Call("consume, transform, produce", "offsets", int64(4), func() (any, error) { return committed("transform") })
	Call("read committed", "records", "A B C D yes", read("committed", 5, kgo.ConsumeTopics(member.Out), kgo.FetchIsolationLevel(kgo.ReadCommitted())))
	Call("list transactions", "ours", true, func() (any, error) {
		found, err := admin.ListTransactions(ctx, nil, nil)
		ours := false
		for name := range found {
			if strings.Contains(name, ":") && member.Gateway {
				return name, err
			}
			ours = ours || name == member.Prefix+"tx"
		}
		return ours, err
	})
	Call("describe transactions", "ours", "CompleteCommit", func() (any, error) {
		// Committed records are read a moment before the coordinator says so.
		for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
			found, err := admin.DescribeTransactions(ctx, member.Prefix+"tx")
			state := found[member.Prefix+"tx"].State
			if err != nil || state == "CompleteCommit" || time.Now().After(end) {
				return state, err
			}
		}
	})
}

func transform() (any, error) {
	session, err := kgo.NewGroupTransactSession(sessionOptions()...)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	values, err := poll(session, 4)
	if err != nil {
		return values, err
	}
	if err := session.Begin(); err != nil {
		return nil, err
	}
	for _, value := range strings.Fields(values) {
		if err := session.ProduceSync(ctx, record(member.Out, 1, strings.ToUpper(value))).FirstErr(); err != nil {
			return nil, err
		}
	}
	return session.End(ctx, kgo.TryCommit)
}

func sessionOptions() []kgo.Opt {
	login := scram.Auth{User: member.User, Pass: member.Password}.AsSha512Mechanism()
	return []kgo.Opt{
		kgo.SeedBrokers(member.Servers...), kgo.DialTLSConfig(member.TLS()), kgo.SASL(login),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.TransactionalID(member.Prefix + "transform"),
		kgo.ConsumerGroup(member.Prefix + "transform"), kgo.ConsumeTopics(member.In), kgo.RequireStableFetchOffsets(),
	}
}

// committed waits for the offset: one of a transaction is there once its end is written.
func committed(group string) (any, error) {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		found, err := admin.FetchOffsets(ctx, member.Prefix+group)
		if err != nil {
			return nil, err
		}
		if offset, has := found.Lookup(member.In, 0); has {
			return offset.At, offset.Err
		}
	}
	return "none", nil
}

func members() {
	names := []kgo.Opt{kgo.ConsumeTopics(member.In, member.Out)}
	regex := []kgo.Opt{kgo.ConsumeTopics(member.Pattern), kgo.ConsumeRegex()}
	own := []kgo.Opt{kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer())}
	for _, each := range []struct {
		scenario string
		options  []kgo.Opt
		kip848   bool
	}{
		{"range group", append(names, kgo.Balancers(kgo.RangeBalancer())), false},
		{"sticky group", append(names, kgo.Balancers(kgo.StickyBalancer())), false},
		{"cooperative group", append(names, kgo.Balancers(kgo.CooperativeStickyBalancer())), false},
		{"classic group by regex", append(regex, kgo.Balancers(kgo.RangeBalancer())), false},
		{"KIP-848 group", append(own, names...), true},
		{"KIP-848 group by regex", append(own, regex...), true},
	} {
		group := strings.ToLower(strings.ReplaceAll(each.scenario, " ", "-"))
		Call(each.scenario, "one has all, then shares, then has all again", "6 shared 2 "+member.In+" "+member.Out+" 6", func() (any, error) {
			return shared(member.Prefix+group, each.options, each.kip848)
		})
	}
	static := func(protocol string, more ...kgo.Opt) func() (any, error) {
		return func() (any, error) {
			options := append(more, kgo.ConsumeTopics(member.In), kgo.InstanceID("one"))
			owned := newOwned(member.Prefix+"static-"+protocol, options)
			defer owned.close()
			return owned.settle(func(count int) bool { return count == InPartitions }), nil
		}
	}
	Call("static member", "classic: comes", InPartitions, static("classic"))
	Call("static member", "classic: comes back", InPartitions, static("classic"))
	// None comes back: a heartbeat on its way while the client leaves takes the name again.
	Call("static member", "KIP-848: comes", InPartitions, static("kip-848", own...))
}

func groups() {
	group := member.Prefix + "told"
	if _, err := read("told", 4, kgo.ConsumeTopics(member.In))(); err != nil {
		panic(err)
	}
	listed := func() (any, error) {
		found, err := admin.ListGroups(ctx)
		for _, name := range found.Groups() {
			if member.Gateway && strings.Contains(name, ":") {
				return name, err
			}
		}
		return found[group].Group == group, err
	}
	Call("list groups", "has ours", true, listed)
	Call("describe group", "without members", "Empty", func() (any, error) {
		found, err := admin.DescribeGroups(ctx, group)
		return found[group].State, err
	})
	Call("offsets of a group", "list", int64(4), func() (any, error) { return committed("told") })
	Call("offsets of a group", "alter", nil, func() (any, error) {
		var offsets kadm.Offsets
		offsets.AddOffset(member.In, 0, 2, -1)
		found, err := admin.CommitOffsets(ctx, group, offsets)
		if err != nil {
			return nil, err
		}
		return Done(found.Error())
	})
	Call("offsets of a group", "list what was altered", int64(2), func() (any, error) { return committed("told") })
	Call("offsets of a group", "lag", int64(2), func() (any, error) {
		found, err := admin.Lag(ctx, group)
		return found[group].Lag.Total(), err
	})
	Call("delete offsets", "of a partition", nil, func() (any, error) {
		var set kadm.TopicsSet
		set.Add(member.In, 0)
		found, err := admin.DeleteOffsets(ctx, group, set)
		if err != nil {
			return nil, err
		}
		return Done(found.Error())
	})
	Call("delete group", "ours", nil, func() (any, error) {
		found, err := admin.DeleteGroup(ctx, group)
		if err != nil {
			return nil, err
		}
		return Done(found.Err)
	})
	Call("delete group", "it is gone", false, listed)
}

func refusals() {
	Call("changes are refused", "create", "POLICY_VIOLATION", func() (any, error) {
		found, err := admin.CreateTopic(ctx, 1, 1, nil, "mine")
		if err != nil {
			return nil, err
		}
		return Done(found.Err)
	})
	Call("changes are refused", "delete", "POLICY_VIOLATION", func() (any, error) {
		found, err := admin.DeleteTopic(ctx, member.In)
		if err != nil {
			return nil, err
		}
		return Done(found.Err)
	})
	Call("changes are refused", "create partitions", "POLICY_VIOLATION", func() (any, error) {
		found, err := admin.CreatePartitions(ctx, 9, member.In)
		if err != nil {
			return nil, err
		}
		return Done(found[member.In].Err)
	})
	for _, name := range []string{"no.such", member.Physical} {
		Call("unknown topic", "metadata of "+name, kerr.UnknownTopicOrPartition.Message, func() (any, error) {
			found, err := admin.ListTopics(ctx, name)
			if err != nil {
				return nil, err
			}
			return Done(found[name].Err)
		})
		Call("unknown topic", "produce to "+name, kerr.UnknownTopicOrPartition.Message, func() (any, error) {
			producer := client(kgo.UnknownTopicRetries(0))
			defer producer.Close()
			return Done(producer.ProduceSync(ctx, record(name, 0, "lost")).FirstErr())
		})
	}
}
