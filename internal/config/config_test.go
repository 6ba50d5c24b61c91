package config_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/config"
)

const databaseURL = "postgres://payonce_app:s3cret@127.0.0.1:5432/payonce"

// workerEnviron is a complete environment of a worker, with changes: a value of
// "-" removes the name.
func workerEnviron(changes ...string) []string {
	environ := map[string]string{
		"PAYONCE_DATABASE_URL":  databaseURL,
		"PAYONCE_KAFKA_BROKERS": "127.0.0.1:9092",
		"PAYONCE_PROVIDER":      "card=simulated",
		"PAYONCE_PROVIDER_URL":  "http://127.0.0.1:8090",
	}
	for _, change := range changes {
		name, value, _ := strings.Cut(change, "=")
		environ[name] = value
		if value == "-" {
			delete(environ, name)
		}
	}
	var list []string
	for name, value := range environ {
		list = append(list, name+"="+value)
	}
	return list
}

// problems loads a worker's configuration and returns what is wrong with it.
func problems(t *testing.T, environ []string) []string {
	t.Helper()
	_, err := config.Load[config.Worker](environ)
	if err == nil {
		return nil
	}
	var configuration *config.Error
	require.ErrorAs(t, err, &configuration)
	return configuration.Problems
}

func TestDefaultsStandWhereNothingIsSaid(t *testing.T) {
	t.Parallel()
	c, err := config.Load[config.Worker](workerEnviron("HOME=/root"))
	require.NoError(t, err)
	require.Equal(t, config.Worker{
		Service: config.Service{
			DatabaseURL: databaseURL, AdminAddr: "127.0.0.1:9082", Cell: "main", LogLevel: "info",
			Topics: config.Topics{TopicPrefix: "payonce"},
		},
		Kafka: config.Kafka{Brokers: config.Brokers{"127.0.0.1:9092"}},
		Providers: config.Providers{
			Accounts: config.Accounts{List: config.AccountList{{Name: "card", Connector: "simulated"}}},
			URLs:     config.URLList{"http://127.0.0.1:8090"}, Timeout: 5 * time.Second,
		},
		Lease: 15 * time.Second,
	}, c)
}

func TestEachProcessHasAnAdminPortOfItsOwn(t *testing.T) {
	t.Parallel()
	environ := workerEnviron()
	intake, err := config.Load[config.Intake](environ)
	require.NoError(t, err)
	relay, err := config.Load[config.Relay](environ)
	require.NoError(t, err)
	worker, err := config.Load[config.Worker](environ)
	require.NoError(t, err)
	reconciler, err := config.Load[config.Reconciler](environ)
	require.NoError(t, err)
	addrs := map[config.Addr]bool{
		intake.AdminAddr: true, relay.AdminAddr: true, worker.AdminAddr: true, reconciler.AdminAddr: true, intake.HTTPAddr: true,
	}
	require.Len(t, addrs, 5)
}

func TestEverythingThatIsSaidIsRead(t *testing.T) {
	t.Parallel()
	c, err := config.Load[config.Worker](workerEnviron(
		"PAYONCE_KAFKA_BROKERS=a:1, b:2", "PAYONCE_ADMIN_ADDR=:9999", "PAYONCE_CELL=eu-1", "PAYONCE_LOG_LEVEL=debug",
		"PAYONCE_TOPIC_PREFIX=shop.pay", "PAYONCE_PROVIDER=card=simulated, card-b=simulated-nokeys",
		"PAYONCE_PROVIDER_URL=http://a:1,https://user:pw@b", "PAYONCE_PROVIDER_TIMEOUT=700ms", "PAYONCE_LEASE=1m",
		"PAYONCE_WORKER_NAME=worker-7.shop", "PAYONCE_PROVIDER_SLOTS=9", "PAYONCE_PROVIDER_KEY=,sk_1", "PAYONCE_PROVIDER_ACCOUNT=,acct_1",
	))
	require.NoError(t, err)
	require.Equal(t, config.Brokers{"a:1", "b:2"}, c.Brokers)
	require.Equal(t, config.AccountList{{"card", "simulated"}, {"card-b", "simulated-nokeys"}}, c.List)
	require.Equal(t, config.URLList{"http://a:1", "https://user:pw@b"}, c.URLs)
	require.Equal(t, config.Addr(":9999"), c.AdminAddr)
	require.Equal(t, config.Cell("eu-1"), c.Cell)
	require.Equal(t, config.LogLevel("debug"), c.LogLevel)
	require.Equal(t, config.TopicPrefix("shop.pay"), c.TopicPrefix)
	require.Equal(t, config.WorkerName("worker-7.shop"), c.Name)
	require.Equal(t, []time.Duration{700 * time.Millisecond, time.Minute}, []time.Duration{c.Timeout, c.Lease})
	require.Equal(t, 9, c.Slots)
	address, key, id := c.Of(1)
	require.Equal(t, []string{"https://user:pw@b", "sk_1", "acct_1"}, []string{address, key, id})
	address, key, id = c.Of(0)
	require.Equal(t, []string{"http://a:1", "", ""}, []string{address, key, id})
}

func TestWhatIsNotListedIsEmptyForEachAccount(t *testing.T) {
	t.Parallel()
	c, err := config.Load[config.Worker](workerEnviron("PAYONCE_PROVIDER=card=stripe", "PAYONCE_PROVIDER_URL=-"))
	require.NoError(t, err)
	address, key, id := c.Of(0)
	require.Equal(t, []string{"", "", ""}, []string{address, key, id})
}

func TestO6_ABadValueIsRefusedWithWhatToSet(t *testing.T) {
	t.Parallel()
	for change, problem := range map[string]string{
		"PAYONCE_DATABASE_URL=-":                        "PAYONCE_DATABASE_URL is missing: set it to the URL of the application's role",
		"PAYONCE_DATABASE_URL=":                         "PAYONCE_DATABASE_URL is set and empty",
		"PAYONCE_DATABASE_URL=host=a dbname=b":          "must have the form postgres://USER",
		"PAYONCE_DATABASE_URL=mysql://a/b":              "must have the form postgres://USER",
		"PAYONCE_DATABASE_URL=postgres://a:1":           "must have the form postgres://USER",
		"PAYONCE_KAFKA_BROKERS=a":                       `"a" is not of the form HOST:PORT; set it to HOST:PORT of one or more brokers`,
		"PAYONCE_KAFKA_BROKERS=a:1,":                    `"" is not of the form HOST:PORT`,
		"PAYONCE_KAFKA_BROKERS=:1":                      `":1" is not of the form HOST:PORT`,
		"PAYONCE_ADMIN_ADDR=8080":                       `"8080" is not of the form HOST:PORT`,
		"PAYONCE_ADMIN_ADDR=a:80800":                    `"a:80800" is not of the form HOST:PORT`,
		"PAYONCE_CELL=Main":                             `"Main" is not a name of 1 to 63 characters`,
		"PAYONCE_TOPIC_PREFIX=a/b":                      `"a/b" is not 1 to 200 characters`,
		"PAYONCE_LOG_LEVEL=trace":                       `"trace" is not debug, info, warn or error`,
		"PAYONCE_PROVIDER=card":                         `"card" is not of the form ACCOUNT=CONNECTOR`,
		"PAYONCE_PROVIDER=Card=simulated":               `"Card=simulated" is not of the form ACCOUNT=CONNECTOR`,
		"PAYONCE_PROVIDER=card=simulated,card=x":        "it lists the account card twice",
		"PAYONCE_PROVIDER=card=simulated,b=stripe":      "PAYONCE_PROVIDER lists 2 accounts and PAYONCE_PROVIDER_URL 1 URLs",
		"PAYONCE_PROVIDER_URL=http://a,ftp://b":         "number 2 of its URLs is not of the form https://HOST:PORT",
		"PAYONCE_PROVIDER_TIMEOUT=5":                    `missing unit in duration "5"; set it to the longest time`,
		"PAYONCE_PROVIDER_TIMEOUT=0s":                   "PAYONCE_PROVIDER_TIMEOUT is 0s: set it to a time above zero",
		"PAYONCE_LEASE=-1s":                             "PAYONCE_LEASE is -1s: set it to a time above zero",
		"PAYONCE_LEASE=":                                "PAYONCE_LEASE is set and empty: set it to the time for which a claim holds",
		"PAYONCE_PROVIDER_SLOTS=many":                   `parsing "many"`,
		"PAYONCE_PROVIDER_SLOTS=-1":                     "PAYONCE_PROVIDER_SLOTS is -1: set it to 1 to 4096, or leave it out",
		"PAYONCE_WORKER_NAME=a b":                       `"a b" is not 1 to 128 characters`,
		"PAYONCE_LEASSE=15s":                            "PAYONCE_LEASSE: payonce knows no such name; remove it, or correct it to one of PAYONCE_ADMIN_ADDR,",
		"PAYONCE_LEASE_FILE=/run/lease":                 "PAYONCE_LEASE_FILE: payonce knows no such name",
		"PAYONCE_DATABASE_URL_FILE=/run/secrets/absent": "PAYONCE_DATABASE_URL and PAYONCE_DATABASE_URL_FILE are both set: remove one of them",
	} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			found := problems(t, workerEnviron(change))
			require.Len(t, found, 1, "one mistake is one problem: %q", found)
			require.Contains(t, found[0], problem)
			name, _, _ := strings.Cut(change, "=")
			require.Contains(t, found[0], name)
		})
	}
}

func TestU8_SecretsOfWebhooksAreListedForEachAccount(t *testing.T) {
	t.Parallel()
	list := "PAYONCE_PROVIDER=card=simulated,card-b=stripe,card-c=stripe"
	c, err := config.Load[config.Intake](workerEnviron(list, "PAYONCE_PROVIDER_WEBHOOK_SECRETS=whsec_1|whsec_2,,whsec_3"))
	require.NoError(t, err)
	require.Equal(t, [][]string{{"whsec_1", "whsec_2"}, nil, {"whsec_3"}}, [][]string{c.SecretsOf(0), c.SecretsOf(1), c.SecretsOf(2)})
	require.NotContains(t, fmt.Sprintf("%v %+v", c, c), "whsec_")
	for secrets, problem := range map[string]string{
		"whsec_1,whsec_2":   "lists 3 accounts and PAYONCE_PROVIDER_WEBHOOK_SECRETS those of 2",
		"whsec_1,whsec_2|,": "the secrets of number 2 hold an empty one",
		"whsec_1,,whs ec":   "the secrets of number 3 hold an empty one, or a character that no secret has",
	} {
		_, err := config.Load[config.Intake](workerEnviron(list, "PAYONCE_PROVIDER_WEBHOOK_SECRETS="+secrets))
		require.ErrorContains(t, err, problem)
		require.NotContains(t, err.Error(), "whsec_")
	}
	c, err = config.Load[config.Intake](workerEnviron())
	require.NoError(t, err)
	require.Empty(t, c.SecretsOf(0))
}

func TestO6_AllProblemsAreToldAtOnce(t *testing.T) {
	t.Parallel()
	check := func(config.Worker) []string { return []string{"the process's own check"} }
	_, err := config.Load([]string{
		"PAYONCE_LEASE=0s", "PAYONCE_CELL=?", "PAYONCE_CEL=main", "PAYONCE_PROVIDER=card=a,b=c", "PAYONCE_PROVIDER_URL=http://a",
	}, check)
	var configuration *config.Error
	require.ErrorAs(t, err, &configuration)
	require.Len(t, configuration.Problems, 7, err)
	for _, part := range []string{
		"PAYONCE_CEL:", "PAYONCE_CELL:", "PAYONCE_DATABASE_URL is missing", "PAYONCE_KAFKA_BROKERS is missing", "lists 2 accounts",
		"PAYONCE_LEASE is 0s", "the process's own check",
	} {
		require.ErrorContains(t, err, part)
	}
}

func TestO6_TheNamesOfAllProcessesAndOfKubernetesAreNoMistakes(t *testing.T) {
	t.Parallel()
	require.Empty(t, problems(t, workerEnviron(
		"PAYONCE_HTTP_ADDR=not read by a worker", "PAYONCE_MIGRATE_DATABASE_URL_FILE=/not/read",
		"PAYONCE_TEST_DATABASE_URL=x", "PAYONCE_DEMO_POSTGRES=download", "PAYONCE_PSPSIM_ADDR=x",
		"PAYONCE_SERVICE_HOST=10.0.0.1", "PAYONCE_SERVICE_PORT=80", "PAYONCE_SERVICE_PORT_HTTP=80", "PAYONCE_PORT=tcp://10.0.0.1:80",
		"PAYONCE_PORT_80_TCP=tcp://10.0.0.1:80", "PAYONCE_INTAKE_PORT_80_TCP_ADDR=10.0.0.1", "PAYONCE_INTAKE_SERVICE_HOST=10.0.0.1",
	)))
}

func TestO6_APortInsteadOfAnAddressIsAMistakeAndNoNameOfKubernetes(t *testing.T) {
	t.Parallel()
	for _, mistake := range []string{"PAYONCE_HTTP_PORT=8080", "PAYONCE_ADMIN_PORT=9080", "PAYONCE_PORT_OF_API=8080"} {
		found := problems(t, workerEnviron(mistake))
		require.Len(t, found, 1, mistake)
		require.Contains(t, found[0], "knows no such name")
	}
}

// The page that people read names what there is, with the values that hold without it.
func TestO6_TheDocumentNamesEveryVariableWithItsDefault(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/CONFIGURATION.md")
	require.NoError(t, err)
	rows := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(PAYONCE_[A-Z_]+)` \\| ([^|]*) \\|").FindAllStringSubmatch(string(page), -1) {
		rows[row[1]] = row[2]
	}
	_, names, _ := strings.Cut(problems(t, workerEnviron("PAYONCE_NO_SUCH_NAME=x"))[0], "correct it to one of ")
	require.ElementsMatch(t, strings.Split(names, ", "), slices.Collect(maps.Keys(rows)))

	worker, err := config.Load[config.Worker](workerEnviron())
	require.NoError(t, err)
	intake, err := config.Load[config.Intake](workerEnviron())
	require.NoError(t, err)
	reconciler, err := config.Load[config.Reconciler](workerEnviron())
	require.NoError(t, err)
	for name, value := range map[string]any{
		"CELL": worker.Cell, "LOG_LEVEL": worker.LogLevel, "TOPIC_PREFIX": worker.TopicPrefix, "PROVIDER_TIMEOUT": worker.Timeout, "LEASE": worker.Lease,
		"HTTP_ADDR": intake.HTTPAddr, "RATE_LIMIT": intake.RateLimit, "KEY_WINDOW": intake.KeyWindow, "KAFKA_DOOR": intake.KafkaDoor,
		"DRIFT_INTERVAL": reconciler.DriftInterval,
	} {
		text := strings.TrimSuffix(strings.TrimSuffix(fmt.Sprint(value), "0s"), "0m")
		require.Contains(t, rows[config.Prefix+name], "`"+text+"`", name)
	}
}

func TestASecretCanComeFromAFile(t *testing.T) {
	t.Parallel()
	for content, value := range map[string]string{
		databaseURL: databaseURL, databaseURL + "\n": databaseURL, databaseURL + "\r\n": databaseURL,
	} {
		path := filepath.Join(t.TempDir(), "url")
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		c, err := config.Load[config.Worker](workerEnviron("PAYONCE_DATABASE_URL=-", "PAYONCE_DATABASE_URL_FILE="+path))
		require.NoError(t, err)
		require.Equal(t, value, string(c.DatabaseURL))
	}
}

func TestASecretsFileThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	long, empty := filepath.Join(folder, "long"), filepath.Join(folder, "empty")
	require.NoError(t, os.WriteFile(long, make([]byte, 1<<20), 0o600))
	require.NoError(t, os.WriteFile(empty, []byte("\n"), 0o600))
	for path, problem := range map[string]string{
		filepath.Join(folder, "absent"): "no such file",
		folder:                          "cannot be read",
		long:                            "has more than 65536 bytes",
		empty:                           "is set and empty",
	} {
		found := problems(t, workerEnviron("PAYONCE_DATABASE_URL=-", "PAYONCE_DATABASE_URL_FILE="+path))
		require.Len(t, found, 1)
		require.Contains(t, found[0], problem)
	}
}

func TestNoMessageHoldsASecret(t *testing.T) {
	t.Parallel()
	for _, change := range []string{
		"PAYONCE_DATABASE_URL=postgres://app:s3cret@host:port/payonce",
		"PAYONCE_DATABASE_URL=postgres://app:s3%cret@host:1/payonce",
		"PAYONCE_DATABASE_URL=app:s3cret@host",
		"PAYONCE_PROVIDER_URL=http://user:s3cret@a:port",
		"PAYONCE_PROVIDER_URL=http://user:s3%cret@a,http://b",
		"PAYONCE_PROVIDER_URL=user:s3cret@a",
	} {
		found := problems(t, workerEnviron(change))
		require.Len(t, found, 1, change)
		require.NotContains(t, found[0], "cret", change)
	}
	c, err := config.Load[config.Worker](workerEnviron("PAYONCE_PROVIDER_URL=http://user:s3cret@a"))
	require.NoError(t, err)
	require.NotContains(t, fmt.Sprintf("%v %+v", c, c), "s3cret")
}

func TestIntakeNeedsTwoPorts(t *testing.T) {
	t.Parallel()
	_, err := config.Load[config.Intake](workerEnviron("PAYONCE_HTTP_ADDR=:8080", "PAYONCE_ADMIN_ADDR=:8080"))
	require.ErrorContains(t, err, "PAYONCE_HTTP_ADDR and PAYONCE_ADMIN_ADDR are both :8080: give them different ports")
	_, err = config.Load[config.Intake](workerEnviron("PAYONCE_HTTP_ADDR=:0", "PAYONCE_ADMIN_ADDR=:0"))
	require.NoError(t, err, "each gets a free port")
}

func TestTheDriftScanIsOnUnlessItIsTurnedOff(t *testing.T) {
	t.Parallel()
	interval := func(changes ...string) (time.Duration, error) {
		c, err := config.Load[config.Reconciler](workerEnviron(changes...))
		return c.DriftInterval, err
	}
	for value, want := range map[string]time.Duration{"-": 6 * time.Hour, "0": 0, "30m": 30 * time.Minute} {
		got, err := interval("PAYONCE_DRIFT_INTERVAL=" + value)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, value := range []string{"59s", "-1h"} {
		_, err := interval("PAYONCE_DRIFT_INTERVAL=" + value)
		require.ErrorContains(t, err, "set it to 1m0s or more, or to 0")
	}
}

func TestI12_AKeyAnswersForOneToThreeDays(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{
		"-": 72 * time.Hour, "24h": 24 * time.Hour, "36h30m": 36*time.Hour + 30*time.Minute, "72h": 72 * time.Hour,
	} {
		environ := workerEnviron("PAYONCE_KEY_WINDOW=" + value)
		intake, err := config.Load[config.Intake](environ)
		require.NoError(t, err)
		reconciler, err := config.Load[config.Reconciler](environ)
		require.NoError(t, err)
		require.Equal(t, []time.Duration{want, want}, []time.Duration{intake.KeyWindow, reconciler.KeyWindow})
	}
	for _, value := range []string{"0", "-24h", "23h59m", "72h1s", "3d"} {
		environ := workerEnviron("PAYONCE_KEY_WINDOW=" + value)
		_, err := config.Load[config.Intake](environ)
		require.ErrorContains(t, err, "PAYONCE_KEY_WINDOW")
		_, err = config.Load[config.Reconciler](environ)
		require.ErrorContains(t, err, "from 24h to 72h")
	}
}

func TestI13_TheRateLimitHasADefaultAndCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	load := func(changes ...string) (config.Intake, error) {
		return config.Load[config.Intake](append(changes, "PAYONCE_DATABASE_URL="+databaseURL, "PAYONCE_PROVIDER=card=simulated"))
	}
	for _, c := range []struct {
		environ     []string
		rate, burst int
	}{
		{nil, 1000, 2000},
		{[]string{"PAYONCE_RATE_LIMIT=5"}, 5, 10},
		{[]string{"PAYONCE_RATE_LIMIT=5", "PAYONCE_RATE_BURST=7"}, 5, 7},
		{[]string{"PAYONCE_RATE_LIMIT=0"}, 0, 0},
	} {
		got, err := load(c.environ...)
		require.NoError(t, err)
		require.Equal(t, []int{c.rate, c.burst}, []int{got.RateLimit, got.Burst()}, "%v", c.environ)
	}
	for says, environ := range map[string][]string{
		"PAYONCE_RATE_LIMIT is -1":  {"PAYONCE_RATE_LIMIT=-1"},
		"PAYONCE_RATE_BURST is -1":  {"PAYONCE_RATE_BURST=-1"},
		"which is no limit: remove": {"PAYONCE_RATE_LIMIT=0", "PAYONCE_RATE_BURST=5"},
	} {
		_, err := load(environ...)
		require.ErrorContains(t, err, says)
	}
}

func TestO6_TheKafkaDoorNeedsBrokersAndNothingElseDoesAtIntake(t *testing.T) {
	t.Parallel()
	load := func(changes ...string) (config.Intake, error) {
		return config.Load[config.Intake](append(changes, "PAYONCE_DATABASE_URL="+databaseURL, "PAYONCE_PROVIDER=card=simulated"))
	}
	for _, environ := range [][]string{nil, {"PAYONCE_KAFKA_BROKERS=a:1"}, {"PAYONCE_KAFKA_DOOR=false"}} {
		got, err := load(environ...)
		require.NoError(t, err)
		require.False(t, got.KafkaDoor)
	}
	got, err := load("PAYONCE_KAFKA_DOOR=true", "PAYONCE_KAFKA_BROKERS=a:1")
	require.NoError(t, err)
	require.True(t, got.KafkaDoor)

	_, err = load("PAYONCE_KAFKA_DOOR=true")
	require.ErrorContains(t, err, "PAYONCE_KAFKA_DOOR is true and PAYONCE_KAFKA_BROKERS has no brokers")
	_, err = load("PAYONCE_KAFKA_DOOR=yes", "PAYONCE_KAFKA_BROKERS=a:1")
	require.ErrorContains(t, err, "set it to true to take payments on from commands in Kafka")
}
