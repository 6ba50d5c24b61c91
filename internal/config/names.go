package config

import (
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// fileSuffix makes the name of a variable that names a secret's file.
const fileSuffix = "_FILE"

// secretBytesMax bounds what is read from a secret's file, which may have been
// given the wrong name.
const secretBytesMax = 64 << 10

// help says what to set, for each name.
var help = map[string]string{
	"DATABASE_URL":         "the URL of the application's role, postgres://payonce_app:PASSWORD@HOST:PORT/DATABASE",
	"MIGRATE_DATABASE_URL": "the URL of the owner, postgres://payonce_owner:PASSWORD@HOST:PORT/DATABASE",
	"KAFKA_BROKERS":        "HOST:PORT of one or more brokers, separated by commas",
	"KAFKA_DOOR":           "true to take payments on from commands in Kafka, too, or false",
	"TOPIC_PREFIX":         "what the names of the shared topics begin with, such as payonce",
	"HTTP_ADDR":            "HOST:PORT that serves the API, such as :8080",
	"RATE_LIMIT":           "the requests per second that each merchant may send to this process, such as 1000; 0 for no limit",
	"RATE_BURST":           "the requests that each merchant may send at once, such as 2000; twice PAYONCE_RATE_LIMIT without it",
	"ADMIN_ADDR":           "HOST:PORT that serves /livez and /readyz, such as :9080",
	"CELL":                 "the name of this database with its services, such as main",
	"LOG_LEVEL":            "debug, info, warn or error",
	"PROVIDER":             "a list of ACCOUNT=CONNECTOR, such as card=simulated,card-b=simulated-nokeys",
	"PROVIDER_URL":         "the URLs of the accounts in PAYONCE_PROVIDER, in the same order, separated by commas; empty where the connector knows it",
	"PROVIDER_KEY":         "the API keys of the accounts in PAYONCE_PROVIDER, in the same order, separated by commas; empty for an account without one",
	"PROVIDER_ACCOUNT":     "the providers' names of the accounts in PAYONCE_PROVIDER, in the same order, separated by commas; empty where they are asked",
	"PROVIDER_WEBHOOK_SECRETS": "the webhook secrets of the accounts in PAYONCE_PROVIDER, in the same order, separated by commas; " +
		"several of one account separated by |; empty for an account without",
	"PROVIDER_TIMEOUT": "the longest time that one call to a provider may take, such as 5s",
	"PROVIDER_SLOTS":   "the number of requests that may be in flight at one provider account, such as 128",
	"DRIFT_INTERVAL":   "the least length of a window in which a provider's list is held against our operations, such as 6h; 0 for none",
	"KEY_WINDOW":       "the time for which an idempotency key answers at least, from 24h to 72h",
	"LEASE":            "the time for which a claim holds, such as 15s; longer than PAYONCE_PROVIDER_TIMEOUT",
	"WORKER_NAME":      "a name that no other worker has",
}

// variable is one name that a process reads.
type variable struct {
	name   string // with the prefix
	field  string // of the struct
	help   string
	secret bool
}

// namesOf lists the variables of a process, in the order of its struct.
func namesOf(process any) []variable { return variablesIn(reflect.TypeOf(process)) }

func variablesIn(t reflect.Type) []variable {
	var variables []variable
	for field := range t.Fields() {
		if field.Anonymous {
			variables = append(variables, variablesIn(field.Type)...)
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("env"), ",")
		variables = append(variables, variable{
			name: Prefix + name, field: field.Name, help: help[name], secret: field.Tag.Get("secret") != "",
		})
	}
	return variables
}

// known are the variables of all processes: a shared environment is no mistake.
var known = slices.Concat(
	namesOf(Intake{}), namesOf(Relay{}), namesOf(Worker{}), namesOf(Reconciler{}),
	namesOf(Migrate{}), namesOf(TopicsTool{}), namesOf(MerchantTool{}), namesOf(OperatorTool{}), namesOf(DriftTool{}),
)

// othersPrefixes begin names that programs beside the services read.
var othersPrefixes = []string{Prefix + "TEST_", Prefix + "DEMO_", Prefix + "PSPSIM_"}

// unknownNames reports names of ours that nobody reads: a misspelt name would
// otherwise leave the default in force without a word.
func unknownNames(given map[string]string) []string {
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if strings.HasPrefix(name, Prefix) && !isKnown(name) && !isInjected(name, given[name]) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s: payonce knows no such name; remove it, or correct it to one of %s",
		strings.Join(unknown, ", "), strings.Join(knownNames(), ", "))}
}

func isKnown(name string) bool {
	if slices.ContainsFunc(othersPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
		return true
	}
	return slices.ContainsFunc(known, func(v variable) bool {
		return name == v.name || (v.secret && name == v.name+fileSuffix)
	})
}

// injected are the names that Kubernetes gives to each port of a service.
var injected = regexp.MustCompile(`_(SERVICE_HOST|SERVICE_PORT|SERVICE_PORT_[A-Z0-9_]+|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)

// isInjected reports whether Kubernetes sets the name in each container, for a
// service that is called payonce or payonce-something. NAME_PORT is one only with its
// kind of value: PAYONCE_HTTP_PORT=8080 is somebody's mistake for an address.
func isInjected(name, value string) bool {
	return injected.MatchString(name) || (strings.HasSuffix(name, "_PORT") && strings.Contains(value, "://"))
}

func knownNames() []string {
	var names []string
	for _, v := range known {
		names = append(names, v.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// value returns what the variable was set to, directly or in its file.
func (v variable) value(given map[string]string) (value string, set bool, err error) {
	value, set = given[v.name]
	path, inFile := given[v.name+fileSuffix]
	if v.secret && inFile {
		if set {
			return "", false, fmt.Errorf("%s and %s are both set: remove one of them", v.name, v.name+fileSuffix)
		}
		if value, err = readSecret(path); err != nil {
			return "", false, fmt.Errorf("%s: %w", v.name+fileSuffix, err)
		}
		set = true
	}
	if set && value == "" {
		return "", false, fmt.Errorf("%s is set and empty: set it to %s, or remove it", v.name, v.help)
	}
	return value, set, nil
}

// readSecret reads a file without the newline that editors leave at its end.
func readSecret(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("the file cannot be read: %w", err)
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, secretBytesMax+1))
	if err != nil {
		return "", fmt.Errorf("the file cannot be read: %w", err)
	}
	if len(content) > secretBytesMax {
		return "", fmt.Errorf("the file %s has more than %d bytes and is no secret", path, secretBytesMax)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r"), nil
}
