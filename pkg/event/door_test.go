package event_test

import (
	"regexp"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/pkg/event"
)

func TestI1_ACommandTopicNamesItsMerchant(t *testing.T) {
	t.Parallel()
	id := uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")
	topics := event.DoorTopicsOf("pay.once", id)
	require.Equal(t, []string{"pay.once.intake." + id.String(), "pay.once.intake-replies." + id.String()}, topics.All())

	pattern := regexp.MustCompile(event.DoorPattern("pay.once"))
	found, err := event.DoorMerchant("pay.once", topics.Commands)
	require.NoError(t, err)
	require.Equal(t, id, found)
	require.Regexp(t, pattern, topics.Commands)
	for _, other := range []string{
		topics.Replies, "pay.once.events", "payXonce.intake." + id.String(), "pay.once.intake.", topics.Commands + "0",
		"pay.once.intake.01890A5D-AC96-774B-BCCE-B302099A8057", // another name is another topic, and no merchant's
		"pay.once.intake.01890a5dac96774bbcceb302099a8057",
	} {
		_, err := event.DoorMerchant("pay.once", other)
		require.Error(t, err, other)
		require.NotRegexp(t, pattern, other)
	}
}
