// sarama in a virtual cluster, by local names.
package main

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/IBM/sarama"

	. "kgitops-gateway-clients/told"
	. "kgitops-serve-clients/calls"
)

const patience = 60 * time.Second

var (
	member = Read()
	admin  sarama.ClusterAdmin
)

func config(change func(*sarama.Config)) *sarama.Config {
	made := sarama.NewConfig()
	made.Version = sarama.V3_6_0_0
	made.Net.TLS.Enable, made.Net.TLS.Config = true, member.TLS()
	made.Net.SASL.Enable, made.Net.SASL.Mechanism = true, sarama.SASLTypePlaintext
	made.Net.SASL.User, made.Net.SASL.Password = member.User, member.Password
	made.Producer.Return.Successes = true
	made.Producer.Partitioner = sarama.NewManualPartitioner
	made.Consumer.Offsets.Initial = sarama.OffsetOldest
	made.Consumer.Offsets.AutoCommit.Enable = false
	made.Consumer.Group.Heartbeat.Interval = 500 * time.Millisecond
	made.Consumer.Group.Session.Timeout = 10 * time.Second
	made.Metadata.RefreshFrequency = 2 * time.Second
	if change != nil {
		change(made)
	}
	return made
}

func main() {
	var err error
	if admin, err = sarama.NewClusterAdmin(member.Servers, config(nil)); err != nil {
		Call("list topics", "connect", nil, func() (any, error) { return Done(err) })
		return
	}
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
}

// keep reads the quiet topic, commits, and stays a member of its group.
func keep() {
	stays, err := join("kept", []string{member.Quiet}, nil)
	if err != nil {
		panic(err)
	}
	defer stays.close()
	stays.settle(func(int) bool { return stays.committed() })
	Kept()
}

func topics() {
	Call("list topics", "all of them", member.Topics, func() (any, error) {
		found, err := admin.ListTopics()
		names := []string{}
		for name := range found {
			names = append(names, name)
		}
		sort.Strings(names)
		return names, err
	})
	Call("describe topics", "describe", fmt.Sprint(member.Out, OutPartitions), func() (any, error) {
		found, err := admin.DescribeTopics([]string{member.Out})
		if err != nil {
			return nil, err
		}
		return fmt.Sprint(found[0].Name, len(found[0].Partitions)), nil
	})
	Call("describe configs", "of a topic", "1", func() (any, error) {
		entries, err := admin.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: member.Out})
		for _, entry := range entries {
			if entry.Name == "min.insync.replicas" {
				return entry.Value, err
			}
		}
		return len(entries), err
	})
}

func message(topic string, partition int32, value string) *sarama.ProducerMessage {
	return &sarama.ProducerMessage{Topic: topic, Partition: partition, Value: sarama.StringEncoder(value)}
}

func records() {
	produce := func(value string, change func(*sarama.Config)) func() (any, error) {
		return func() (any, error) {
			producer, err := sarama.NewSyncProducer(member.Servers, config(change))
			if err != nil {
				return nil, err
			}
			defer producer.Close()
			_, offset, err := producer.SendMessage(message(member.In, 0, value))
			return offset, err
		}
	}
	Call("produce", "acks=all", int64(0), produce("a", func(c *sarama.Config) { c.Producer.RequiredAcks = sarama.WaitForAll }))
	Call("produce", "acks=1", int64(1), produce("b", nil))
	Call("produce, idempotent", "one", int64(2), produce("c", careful))
	Call("produce, acks=0", "one", int64(0), produce("d", func(c *sarama.Config) { c.Producer.RequiredAcks = sarama.NoResponse }))
	Call("produce, acks=0", "all are there", "a b c d", func() (any, error) { return read("acks", member.In, 4, nil) })
	Call("offsets of a topic", "first and end", []int64{0, 4}, func() (any, error) {
		client, err := sarama.NewClient(member.Servers, config(nil))
		if err != nil {
			return nil, err
		}
		defer client.Close()
		first, err := client.GetOffset(member.In, 0, sarama.OffsetOldest)
		if err != nil {
			return nil, err
		}
		end, err := client.GetOffset(member.In, 0, sarama.OffsetNewest)
		return []int64{first, end}, err
	})
}

func careful(c *sarama.Config) {
	c.Producer.Idempotent = true
	c.Producer.RequiredAcks = sarama.WaitForAll
	c.Net.MaxOpenRequests = 1
}

func transactions() {
	producer, err := sarama.NewSyncProducer(member.Servers, config(func(c *sarama.Config) {
		careful(c)
		c.Producer.Transaction.ID = member.Prefix + "tx"
	}))
	if err != nil {
		Call("transaction", "begin", nil, func() (any, error) { return Done(err) })
		return
	}
	defer producer.Close()
	within := func(topic string, partition int32, values []string, end func() error) (any, error) {
		if err := producer.BeginTxn(); err != nil {
			return nil, err
		}
		for _, value := range values {
			if _, _, err := producer.SendMessage(message(topic, partition, value)); err != nil {
				return nil, err
			}
		}
		return Done(end())
	}
	Call("transaction", "abort", nil, func() (any, error) { return within(member.Out, 0, []string{"no"}, producer.AbortTxn) })
	Call("transaction", "commit", nil, func() (any, error) { return within(member.Out, 0, []string{"yes"}, producer.CommitTxn) })
	Call("consume, transform, produce", "records", nil, func() (any, error) {
		values, err := read("transform", member.In, 4, nil)
		if err != nil {
			return nil, err
		}
		upper := strings.Fields(strings.ToUpper(fmt.Sprint(values)))
		return within(member.Out, 1, upper, func() error {
			offsets := map[string][]*sarama.PartitionOffsetMetadata{member.In: {{Partition: 0, Offset: 4}}}
			if err := producer.AddOffsetsToTxn(offsets, member.Prefix+"transformed"); err != nil {
				return err
			}
			return producer.CommitTxn()
		})
	})
	Call("consume, transform, produce", "offsets", int64(4), func() (any, error) { return committed("transformed") })
	Call("read committed", "records", "A B C D yes", func() (any, error) {
		return read("committed", member.Out, 5, func(c *sarama.Config) { c.Consumer.IsolationLevel = sarama.ReadCommitted })
	})
}

// committed waits for the offset: one of a transaction is there once its end is written.
func committed(group string) (any, error) {
	offset := int64(-1)
	for end := time.Now().Add(patience); offset < 0 && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		found, err := admin.ListConsumerGroupOffsets(member.Prefix+group, map[string][]int32{member.In: {0}})
		if err != nil {
			return nil, err
		}
		offset = found.GetBlock(member.In, 0).Offset
	}
	return offset, nil
}

func groups() {
	group := member.Prefix + "told"
	if _, err := read("told", member.In, 4, nil); err != nil {
		panic(err)
	}
	listed := func() (any, error) {
		found, err := admin.ListConsumerGroups()
		for name := range found {
			if member.Gateway && strings.Contains(name, ":") {
				return name, err
			}
		}
		_, has := found[group]
		return has, err
	}
	Call("list groups", "has ours", true, listed)
	Call("describe group", "without members", group+" Empty", func() (any, error) {
		found, err := admin.DescribeConsumerGroups([]string{group})
		if err != nil {
			return nil, err
		}
		return found[0].GroupId + " " + found[0].State, nil
	})
	Call("offsets of a group", "list", int64(4), func() (any, error) { return committed("told") })
	Call("offsets of a group", "alter", nil, func() (any, error) {
		offsets := map[string]map[int32]sarama.OffsetAndMetadata{member.In: {0: {Offset: 2, LeaderEpoch: -1}}}
		_, err := admin.AlterConsumerGroupOffsets(group, offsets, nil)
		return Done(err)
	})
	Call("offsets of a group", "list what was altered", int64(2), func() (any, error) { return committed("told") })
	Call("delete offsets", "of a partition", nil, func() (any, error) { return Done(admin.DeleteConsumerGroupOffset(group, member.In, 0)) })
	Call("delete group", "ours", nil, func() (any, error) { return Done(admin.DeleteConsumerGroup(group)) })
	Call("delete group", "it is gone", false, listed)
}

func refusals() {
	detail := &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}
	policy := "policy"
	Call("changes are refused", "create", policy, func() (any, error) { return Done(admin.CreateTopic("mine", detail, false)) })
	Call("changes are refused", "delete", policy, func() (any, error) { return Done(admin.DeleteTopic(member.In)) })
	Call("changes are refused", "create partitions", policy, func() (any, error) { return Done(admin.CreatePartitions(member.In, 9, nil, false)) })
	for _, name := range []string{"no.such", member.Physical} {
		Call("unknown topic", "metadata of "+name, sarama.ErrUnknownTopicOrPartition, func() (any, error) {
			found, err := admin.DescribeTopics([]string{name})
			if err != nil {
				return nil, err
			}
			return found[0].Err, nil
		})
	}
}

// reader is what sarama calls for each of a member's partitions.
type reader struct {
	lock    sync.Mutex
	claims  int
	commits int
	values  []string
	enough  int
	end     context.CancelFunc
}

func (*reader) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (*reader) Cleanup(sarama.ConsumerGroupSession) error { return nil }
func (r *reader) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	r.add(1)
	defer r.add(-1)
	for found := range claim.Messages() {
		r.lock.Lock()
		r.values = append(r.values, string(found.Value))
		session.MarkMessage(found, "")
		if r.enough == 0 {
			session.Commit()
			r.commits++
		}
		if done := r.enough > 0 && len(r.values) >= r.enough; done {
			session.Commit()
			r.end()
		}
		r.lock.Unlock()
	}
	return nil
}

func (r *reader) add(number int) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.claims += number
}

func (r *reader) committed() bool {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.commits > 0
}

func (r *reader) count() int {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.claims
}

func read(group, topic string, count int, change func(*sarama.Config)) (any, error) {
	within, end := context.WithTimeout(context.Background(), patience)
	defer end()
	found := &reader{enough: count, end: end}
	joined, err := sarama.NewConsumerGroup(member.Servers, member.Prefix+group, config(change))
	if err != nil {
		return nil, err
	}
	defer joined.Close()
	for within.Err() == nil {
		if err := joined.Consume(within, []string{topic}, found); err != nil && within.Err() == nil {
			return nil, err
		}
	}
	sort.Strings(found.values)
	return strings.Join(found.values, " "), nil
}

// joined is a member of a group that consumes in the background.
type joined struct {
	reader
	group sarama.ConsumerGroup
	done  chan struct{}
}

func join(group string, topics []string, change func(*sarama.Config)) (*joined, error) {
	made, err := sarama.NewConsumerGroup(member.Servers, member.Prefix+group, config(change))
	if err != nil {
		return nil, err
	}
	within, end := context.WithCancel(context.Background())
	found := &joined{group: made, done: make(chan struct{})}
	found.end = end
	go func() {
		defer close(found.done)
		for within.Err() == nil {
			if err := made.Consume(within, topics, &found.reader); err != nil && within.Err() == nil {
				fmt.Println(err)
			}
		}
	}()
	return found, nil
}

func (j *joined) settle(done func(int) bool) int {
	for end := time.Now().Add(patience); !done(j.count()) && time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
	}
	return j.count()
}

func (j *joined) close() {
	j.end()
	<-j.done
	j.group.Close()
}

func members() {
	names := []string{member.In, member.Out}
	for _, each := range []struct {
		scenario string
		strategy sarama.BalanceStrategy
	}{
		{"range group", sarama.NewBalanceStrategyRange()},
		{"sticky group", sarama.NewBalanceStrategySticky()},
		{"cooperative group", sarama.NewBalanceStrategyCooperativeSticky()},
	} {
		group := strings.ReplaceAll(each.scenario, " ", "-")
		expected := fmt.Sprintf("%d shared 2 %s %s %d", All, member.In, member.Out, All)
		Call(each.scenario, "one has all, then shares, then has all again", expected, func() (any, error) {
			return shared(group, names, func(c *sarama.Config) {
				c.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{each.strategy}
			})
		})
	}
	for _, turn := range []string{"comes", "comes back"} {
		Call("static member", "classic: "+turn, InPartitions, func() (any, error) {
			found, err := join("static", []string{member.In}, func(c *sarama.Config) { c.Consumer.Group.InstanceId = "one" })
			if err != nil {
				return nil, err
			}
			defer found.close()
			return found.settle(func(count int) bool { return count == InPartitions }), nil
		})
	}
}

func shared(group string, topics []string, change func(*sarama.Config)) (any, error) {
	all := func(count int) bool { return count == All }
	first, err := join(group, topics, change)
	if err != nil {
		return nil, err
	}
	defer first.close()
	alone := first.settle(all)
	second, err := join(group, topics, change)
	if err != nil {
		return nil, err
	}
	second.settle(func(count int) bool { return count > 0 && count+first.count() == All })
	together := "not shared"
	if mine, other := first.count(), second.count(); mine > 0 && other > 0 && mine+other == All {
		together = "shared"
	}
	size, found, err := described(member.Prefix + group)
	second.close()
	if err != nil {
		return nil, err
	}
	after := first.settle(all)
	return fmt.Sprintf("%d %s %d %s %d", alone, together, size, strings.Join(found, " "), after), nil
}

func described(group string) (int, []string, error) {
	found, err := admin.DescribeConsumerGroups([]string{group})
	if err != nil {
		return 0, nil, err
	}
	names := map[string]bool{}
	for _, one := range found[0].Members {
		assignment, err := one.GetMemberAssignment()
		if err != nil {
			return 0, nil, err
		}
		for topic := range assignment.Topics {
			names[topic] = true
		}
	}
	sorted := []string{}
	for name := range names {
		sorted = append(sorted, name)
	}
	sort.Strings(sorted)
	return len(found[0].Members), sorted, nil
}
