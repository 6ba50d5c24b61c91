// Package config reads a process's configuration from its environment.
//
//	PAYONCE_* ──Load──> one struct per process, or every problem at once
//
// What is misspelt, malformed or contradicts itself is refused at start, with a
// message that says what to set. No message holds a value that may be a secret.
// Load looks at the environment that it is given and at secrets' files, and at
// nothing else.
package config

import "time"

// Prefix begins every name.
const Prefix = "PAYONCE_"

// The defaults. Addresses are on loopback: who wants the network says so.
const (
	cellDefault        = "main"
	logLevelDefault    = "info"
	topicPrefixDefault = "payonce"
	httpAddrDefault    = "127.0.0.1:8080"

	intakeAdminDefault     = "127.0.0.1:9080"
	relayAdminDefault      = "127.0.0.1:9081"
	workerAdminDefault     = "127.0.0.1:9082"
	reconcilerAdminDefault = "127.0.0.1:9083"

	// providerTimeoutDefault is long for a payment API and short for a person who
	// waits. Shorter makes more unknown outcomes, longer keeps them open longer.
	providerTimeoutDefault = 5 * time.Second
	// leaseDefault is the provider's timeout with room for a loaded machine. It is
	// also how long a payment waits after its worker died.
	leaseDefault = 15 * time.Second
	// rateLimitDefault is far above what one merchant's customers do, and keeps a client
	// that runs in circles from taking the whole process.
	rateLimitDefault = 1000
	// driftIntervalDefault is about how long a difference from a provider's list goes
	// unseen at most. Inquiries and webhooks find nearly everything within seconds; six
	// hours are within a working day, and long enough that a scan does not read its
	// margins, of two and a half hours, again and again.
	driftIntervalDefault = 6 * time.Hour
	// keyWindowDefault is longer than a weekend's outage at a client.
	keyWindowDefault = 72 * time.Hour
)

// Service is what all four services read.
type Service struct {
	DatabaseURL DatabaseURL `env:"DATABASE_URL,required" secret:"true"`
	AdminAddr   Addr        `env:"ADMIN_ADDR"`
	Cell        Cell        `env:"CELL"`
	LogLevel    LogLevel    `env:"LOG_LEVEL"`
	Topics
}

// Common returns what all services read, whatever the service.
func (s Service) Common() Service { return s }

func (s Service) withDefaults(admin Addr) Service {
	s.AdminAddr, s.Cell, s.LogLevel = admin, cellDefault, logLevelDefault
	s.Topics = Topics{}.withDefaults()
	return s
}

// Topics names the shared topics.
type Topics struct {
	TopicPrefix TopicPrefix `env:"TOPIC_PREFIX"`
}

func (Topics) withDefaults() Topics { return Topics{TopicPrefix: topicPrefixDefault} }

// Keys says how long idempotency keys answer.
type Keys struct {
	// KeyWindow is how long a key is stored at least; the reconciler removes it
	// afterwards, and intake refuses a time-ordered key that is older and not stored. To
	// shorten it, restart intake first; to lengthen it, the reconciler. In the other
	// order a key can be gone while intake takes it for young.
	KeyWindow time.Duration `env:"KEY_WINDOW"`
}

func (Keys) withDefaults() Keys { return Keys{KeyWindow: keyWindowDefault} }

// Kafka says where the brokers are.
type Kafka struct {
	Brokers Brokers `env:"KAFKA_BROKERS,required"`
}

// Accounts are the provider accounts that a process knows.
type Accounts struct {
	List AccountList `env:"PROVIDER,required"`
}

// Providers are the provider accounts that a process calls.
type Providers struct {
	Accounts
	// URLs, Keys and IDs are in the order of the accounts, with an empty item where
	// an account has none; without the variable no account has one. An account without
	// a URL is at the address that its connector knows. An ID is the provider's own
	// name of the account, for credentials that may not ask for it.
	URLs URLList `env:"PROVIDER_URL" secret:"true"`
	Keys KeyList `env:"PROVIDER_KEY" secret:"true"`
	IDs  IDList  `env:"PROVIDER_ACCOUNT"`
	// Timeout bounds one call, from the first byte to the end of the answer.
	Timeout time.Duration `env:"PROVIDER_TIMEOUT"`
}

// Intake is what cmd/intake reads. It calls no provider: it knows the accounts
// because it refuses amounts that they cannot represent.
type Intake struct {
	Service
	Accounts
	Keys
	HTTPAddr Addr `env:"HTTP_ADDR"`
	// RateLimit is how many requests per second each merchant may send to this process in
	// the long run, reads and others counted apart; 0 is no limit. A merchant's own
	// limit goes before it.
	RateLimit int `env:"RATE_LIMIT"`
	// RateBurst is how many may come at once. 0: twice the rate.
	RateBurst int `env:"RATE_BURST"`
	// WebhookSecrets are in the order of the accounts, with an empty item where an
	// account has none: its webhooks are refused. Without the variable all are.
	WebhookSecrets SecretsList `env:"PROVIDER_WEBHOOK_SECRETS" secret:"true"`
	// KafkaDoor takes payments on from commands in Kafka, too. Brokers are read for
	// it only: HTTP works without them.
	KafkaDoor bool    `env:"KAFKA_DOOR"`
	Brokers   Brokers `env:"KAFKA_BROKERS"`
}

func (c Intake) withDefaults() Intake {
	c.Service, c.Keys = c.Service.withDefaults(intakeAdminDefault), c.Keys.withDefaults()
	c.HTTPAddr, c.RateLimit = httpAddrDefault, rateLimitDefault
	return c
}

// Relay is what cmd/relay reads.
type Relay struct {
	Service
	Kafka
}

func (c Relay) withDefaults() Relay {
	c.Service = c.Service.withDefaults(relayAdminDefault)
	return c
}

// Worker is what cmd/worker reads.
type Worker struct {
	Service
	Kafka
	Providers
	// Lease is how long a claimed operation is this worker's alone. It must exceed
	// the timeout of a call with room for everything around it.
	Lease time.Duration `env:"LEASE"`
	// Name is written into attempts. Empty: the host's name and a random suffix.
	Name WorkerName `env:"WORKER_NAME"`
	// Slots are the requests in flight at one account. 0: the worker's default.
	Slots int `env:"PROVIDER_SLOTS"`
}

func (c Worker) withDefaults() Worker {
	c.Service = c.Service.withDefaults(workerAdminDefault)
	c.Timeout, c.Lease = providerTimeoutDefault, leaseDefault
	return c
}

// Reconciler is what cmd/reconciler reads.
type Reconciler struct {
	Service
	Providers
	Keys
	// DriftInterval is the least length of the windows in which providers' lists are
	// held against our operations. 0: they are not, but by payctl.
	DriftInterval time.Duration `env:"DRIFT_INTERVAL"`
}

func (c Reconciler) withDefaults() Reconciler {
	c.Service, c.Keys = c.Service.withDefaults(reconcilerAdminDefault), c.Keys.withDefaults()
	c.Timeout, c.DriftInterval = providerTimeoutDefault, driftIntervalDefault
	return c
}

// Migrate is what payctl migrate reads.
type Migrate struct {
	OwnerURL DatabaseURL `env:"MIGRATE_DATABASE_URL,required" secret:"true"`
}

func (c Migrate) withDefaults() Migrate { return c }

// TopicsTool is what payctl topics reads.
type TopicsTool struct {
	Kafka
	Topics
}

func (c TopicsTool) withDefaults() TopicsTool {
	c.Topics = c.Topics.withDefaults()
	return c
}

// MerchantTool is what payctl merchant reads.
type MerchantTool struct {
	DatabaseURL DatabaseURL `env:"DATABASE_URL,required" secret:"true"`
}

func (c MerchantTool) withDefaults() MerchantTool { return c }

// OperatorTool is what the commands of payctl read that show and decide what waits.
// Cell and topics must be those of the services: what is decided is published by them.
type OperatorTool struct {
	DatabaseURL DatabaseURL `env:"DATABASE_URL,required" secret:"true"`
	Cell        Cell        `env:"CELL"`
	Topics
}

func (c OperatorTool) withDefaults() OperatorTool {
	c.Cell, c.Topics = cellDefault, c.Topics.withDefaults()
	return c
}

// DriftTool is what payctl drift scan reads. It calls the provider, as the reconciler does.
type DriftTool struct {
	OperatorTool
	Providers
}

func (c DriftTool) withDefaults() DriftTool {
	c.OperatorTool = c.OperatorTool.withDefaults()
	c.Timeout = providerTimeoutDefault
	return c
}
