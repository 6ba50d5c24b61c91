package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
)

// The settings of a topic that its shape asks for.
const (
	settingReplicas  = "min.insync.replicas"
	settingTimestamp = "message.timestamp.type"
	settingBytes     = "max.message.bytes"
)

// checkSettings reads back what topics have, because the settings of one that existed
// before were not ours: automatic creation makes a topic whose senders set the time of
// their commands.
func (s TopicShape) checkSettings(ctx context.Context, admin *kadm.Client, topics []string) error {
	wanted := s.settings()
	if len(wanted) == 0 {
		return nil
	}
	described, err := admin.DescribeTopicConfigs(ctx, topics...)
	if err != nil {
		return fmt.Errorf("reading the settings of topics: %w", err)
	}
	var unsafe []error
	for _, topic := range described {
		if topic.Err != nil {
			return fmt.Errorf("reading the settings of topic %s: %w", topic.Name, topic.Err)
		}
		if missing := missingSettings(wanted, topic.Configs); len(missing) > 0 {
			unsafe = append(unsafe, fmt.Errorf("topic %s exists with other settings: set %s", topic.Name, strings.Join(missing, ",")))
		}
	}
	return errors.Join(unsafe...)
}

// missingSettings lists what is wanted and neither set nor exceeded, as name=value.
func missingSettings(wanted map[string]*string, there []kadm.Config) []string {
	var missing []string
	for name, value := range wanted {
		if !slices.ContainsFunc(there, func(c kadm.Config) bool { return c.Key == name && suffices(name, c.MaybeValue(), *value) }) {
			missing = append(missing, name+"="+*value)
		}
	}
	slices.Sort(missing)
	return missing
}

// suffices reports whether a setting is as safe as the wanted one, or safer.
func suffices(name, there, wanted string) bool {
	if name == settingTimestamp {
		return there == wanted
	}
	has, err := strconv.Atoi(there)
	least, wantedErr := strconv.Atoi(wanted)
	if err != nil || wantedErr != nil {
		return false
	}
	if name == settingBytes {
		return has <= least
	}
	return has >= least
}
