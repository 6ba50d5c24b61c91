package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/payonce/payonce/internal/app"
	"github.com/payonce/payonce/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// payctl runs a command line and returns what it wrote.
func payctl(t *testing.T, environ []string, arguments ...string) (code int, out, errOut string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), arguments, terminal{environ: environ, out: &stdout, errOut: &stderr})
	return code, stdout.String(), stderr.String()
}

func TestAMerchantIsCreatedInAMigratedDatabase(t *testing.T) {
	t.Parallel()
	database := testkit.NewEmptyDatabase(t)
	environ := []string{"PAYONCE_MIGRATE_DATABASE_URL=" + database.OwnerURL, "PAYONCE_DATABASE_URL=" + database.AppURL}
	code, _, errOut := payctl(t, environ, "merchant", "create", "Shop", "--provider", "card")
	require.Equal(t, app.ExitFailed, code)
	require.Contains(t, errOut, "run `payctl migrate` first")

	code, out, errOut := payctl(t, environ, "migrate")
	require.Equal(t, app.ExitOK, code, errOut)
	require.Equal(t, "the schema is up to date\n", out)

	code, out, errOut = payctl(t, environ, "merchant", "create", "Shop", "--provider", "card", "--output", "json")
	require.Equal(t, app.ExitOK, code, errOut)
	var created map[string]string
	require.NoError(t, json.Unmarshal([]byte(out), &created))
	require.Len(t, created, 2)
	require.NoError(t, uuid.Validate(created["id"]))
	require.Contains(t, created["apiKey"], "po_")

	code, out, _ = payctl(t, environ, "merchant", "create", "Shop", "--provider", "card")
	require.Equal(t, app.ExitOK, code)
	require.Contains(t, out, "this once")
}

func TestTopicsAreCreated(t *testing.T) {
	t.Parallel()
	broker := testkit.NewFakeBroker(t)
	code, out, errOut := payctl(t, []string{"PAYONCE_KAFKA_BROKERS=" + broker.Addrs[0], "PAYONCE_TOPIC_PREFIX=shop"},
		"topics", "create", "--partitions", "8", "--replication", "1")
	require.Equal(t, app.ExitOK, code, errOut)
	require.Equal(t, "shop.requests\nshop.events\nshop.dead-letters\n", out)
}

func TestI1_AMerchantsTopicsAreCreatedWithTheBrokersTime(t *testing.T) {
	t.Parallel()
	broker := testkit.NewFakeBroker(t)
	merchant := "01890a5d-ac96-774b-bcce-b302099a8057"
	code, out, errOut := payctl(t, []string{"PAYONCE_KAFKA_BROKERS=" + broker.Addrs[0], "PAYONCE_TOPIC_PREFIX=shop"},
		"topics", "create", "--merchant", merchant, "--partitions", "4")
	require.Equal(t, app.ExitOK, code, errOut)
	require.Equal(t, "shop.intake."+merchant+"\nshop.intake-replies."+merchant+"\n", out)
	described, err := kadm.NewClient(broker.Client(t)).DescribeTopicConfigs(t.Context(), "shop.intake."+merchant)
	require.NoError(t, err)
	commands, err := described.On("shop.intake."+merchant, nil)
	require.NoError(t, err)
	settings := map[string]string{}
	for _, c := range commands.Configs {
		settings[c.Key] = c.MaybeValue()
	}
	require.Equal(t, "LogAppendTime", settings["message.timestamp.type"])
	require.Equal(t, "524288", settings["max.message.bytes"])
}

func TestExitCodesTellMistakesApart(t *testing.T) {
	t.Parallel()
	nobody := []string{"PAYONCE_DATABASE_URL=postgres://payonce_app:pw@127.0.0.1:1/payonce"}
	for _, c := range []struct {
		arguments []string
		code      int
		says      string
	}{
		{[]string{"pay"}, app.ExitUsage, "unexpected argument pay"},
		{[]string{"merchant", "create", "Shop"}, app.ExitUsage, "--provider"},
		{[]string{"provider", "explain", "strype"}, app.ExitUsage, "known are simulated"},
		{[]string{"topics", "create", "--partitions", "0"}, app.ExitUsage, "a power of two"},
		{[]string{"config", "check", "intaek"}, app.ExitUsage, "must be one of"},
		{[]string{"demo", "--postgres", "upload"}, app.ExitUsage, `(PAYONCE_DEMO_POSTGRES) is "upload": set it to machine or download`},
		{[]string{"demo", "--postgres", "download", "--database", "postgres://u:p@h/d"}, app.ExitUsage, "remove one of them"},
		{[]string{"demo", "--compose", "../../docker-compose.yml", "--keep"}, app.ExitUsage, "--compose plays on what runs already"},
		{[]string{"migrate"}, app.ExitConfiguration, "PAYONCE_MIGRATE_DATABASE_URL is missing"},
		{[]string{"service", "relay"}, app.ExitConfiguration, "PAYONCE_KAFKA_BROKERS is missing"},
		{[]string{"merchant", "create", "Shop", "--provider", "card"}, app.ExitUnavailable, "connection refused"},
	} {
		code, _, errOut := payctl(t, nobody, c.arguments...)
		require.Equal(t, c.code, code, "%q: %s", c.arguments, errOut)
		require.Contains(t, errOut, c.says, "%q", c.arguments)
	}
}

func TestConfigCheckTellsAboutEachService(t *testing.T) {
	t.Parallel()
	environ := []string{
		"PAYONCE_DATABASE_URL=postgres://payonce_app:pw@127.0.0.1:1/payonce", "PAYONCE_KAFKA_BROKERS=127.0.0.1:1",
		"PAYONCE_PROVIDER=card=simulated",
	}
	code, out, errOut := payctl(t, environ, "config", "check")
	require.Equal(t, app.ExitConfiguration, code)
	require.Equal(t, "intake: ok\nrelay: ok\n", out)
	for _, service := range []string{"worker", "reconciler"} {
		require.Contains(t, errOut, service+": the configuration has problems:\n  PAYONCE_PROVIDER, PAYONCE_PROVIDER_URL, PAYONCE_PROVIDER_KEY: "+
			"provider account card: simulated needs the provider's URL")
	}
	code, out, _ = payctl(t, environ, "config", "check", "relay")
	require.Equal(t, app.ExitOK, code)
	require.Equal(t, "relay: ok\n", out)
}

var update = flag.Bool("update", false, "write the golden files anew")

func TestU1_EachProviderIsExplainedWithWhatIsLeft(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"simulated", "simulated-nokeys", "stripe"} {
		code, out, _ := payctl(t, nil, "provider", "explain", name)
		require.Equal(t, app.ExitOK, code)
		path := filepath.Join("testdata", "explain-"+name+".golden")
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(out), 0o600))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(want), out, "run the test with -update after reading the difference")
	}
}
