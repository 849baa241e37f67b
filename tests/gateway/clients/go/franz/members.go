package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	. "kgitops-gateway-clients/told"
)

// owned is a member of a group that polls in the background and counts its partitions.
type owned struct {
	lock   sync.Mutex
	parts  map[string]map[int32]bool
	values []string
	client *kgo.Client
	end    context.CancelFunc
	done   chan struct{}
}

func newOwned(group string, options []kgo.Opt) *owned {
	found := &owned{parts: map[string]map[int32]bool{}, done: make(chan struct{})}
	change := func(has bool) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, parts map[string][]int32) {
			found.lock.Lock()
			defer found.lock.Unlock()
			for topic, numbers := range parts {
				if found.parts[topic] == nil {
					found.parts[topic] = map[int32]bool{}
				}
				for _, number := range numbers {
					found.parts[topic][number] = has
				}
			}
		}
	}
	found.client = client(append(slices.Clone(options), kgo.ConsumerGroup(group),
		kgo.OnPartitionsAssigned(change(true)), kgo.OnPartitionsRevoked(change(false)), kgo.OnPartitionsLost(change(false)))...)
	within, end := context.WithCancel(ctx)
	found.end = end
	go func() {
		defer close(found.done)
		for within.Err() == nil {
			found.client.PollFetches(within).EachRecord(func(record *kgo.Record) {
				found.lock.Lock()
				defer found.lock.Unlock()
				found.values = append(found.values, string(record.Value))
			})
		}
	}()
	return found
}

func (o *owned) count() int {
	o.lock.Lock()
	defer o.lock.Unlock()
	count := 0
	for _, numbers := range o.parts {
		for _, has := range numbers {
			if has {
				count++
			}
		}
	}
	return count
}

func (o *owned) settle(done func(int) bool) int {
	for end := time.Now().Add(patience); !done(o.count()) && time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
	}
	return o.count()
}

func (o *owned) close() {
	o.end()
	<-o.done
	o.client.Close()
}

// shared tells how many partitions a member has alone, with a second, and after that has left, and
// what a description of the group says about both.
func shared(group string, options []kgo.Opt, kip848 bool) (any, error) {
	all := func(count int) bool { return count == 6 }
	first := newOwned(group, options)
	defer first.close()
	alone := first.settle(all)
	second := newOwned(group, options)
	second.settle(func(count int) bool { return count > 0 && count+first.count() == 6 })
	together := "not shared"
	if mine, other := first.count(), second.count(); mine > 0 && other > 0 && mine+other == 6 {
		together = "shared"
	}
	size, topics, err := described(group, kip848)
	second.close()
	if err != nil {
		return nil, err
	}
	after := first.settle(all)
	return fmt.Sprintf("%d %s %d %s %d", alone, together, size, strings.Join(topics, " "), after), nil
}

// migrate lets a member of the new protocol come to a classic one, and that leave.
func migrate() (any, error) {
	group := member.Prefix + "migrating"
	all := func(count int) bool { return count == InPartitions }
	old := client(kgo.ConsumerGroup(group), kgo.ConsumeTopics(member.In), kgo.Balancers(kgo.RangeBalancer()), kgo.DisableAutoCommit())
	read, err := poll(old, 4)
	if err != nil {
		return nil, err
	}
	if err := old.CommitUncommittedOffsets(ctx); err != nil {
		return nil, err
	}
	next := newOwned(group, []kgo.Opt{kgo.ConsumeTopics(member.In), kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer())})
	defer next.close()
	some := func(count int) bool { return count > 0 && count < InPartitions }
	together := some(next.settle(some))
	size, _, err := described(group, true)
	if err != nil {
		return nil, err
	}
	old.Close()
	alone := next.settle(all)
	if err := next.client.ProduceSync(ctx, record(member.In, 0, "late")).FirstErr(); err != nil {
		return nil, err
	}
	next.settle(func(int) bool { return len(next.read()) > 0 })
	return fmt.Sprintf("%s, %t %d %d %s", read, together, size, alone, strings.Join(next.read(), " ")), nil
}

func (o *owned) read() []string {
	o.lock.Lock()
	defer o.lock.Unlock()
	return slices.Clone(o.values)
}

func described(group string, kip848 bool) (int, []string, error) {
	var parts kadm.TopicsSet
	var size int
	if kip848 {
		found, err := admin.DescribeConsumerGroups(ctx, group)
		if err != nil {
			return 0, nil, err
		}
		row := found[group]
		if row.Err != nil {
			return 0, nil, row.Err
		}
		parts, size = row.AssignedPartitions(), len(row.Members)
	} else {
		found, err := admin.DescribeGroups(ctx, group)
		if err != nil {
			return 0, nil, err
		}
		row := found[group]
		if row.Err != nil {
			return 0, nil, row.Err
		}
		parts, size = row.AssignedPartitions(), len(row.Members)
	}
	return size, parts.Topics(), nil
}
