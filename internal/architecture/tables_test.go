package architecture

const thisModule = "github.com/payonce/payonce"

// packages says who may import whom. It reads as the money flows: what is on
// top stands on nothing, a hop stands on what it uses, and no hop knows the next
// one.
var packages = arrows{
	module: thisModule,
	rows: []arrow{
		// Words that everyone shares, and that others may build on.
		{pkg: "pkg/money", modules: "currency"},
		{pkg: "pkg/payment", imports: "pkg/money", modules: "uuid"},
		{pkg: "pkg/event", imports: "pkg/money pkg/payment", modules: "uuid"},
		{pkg: "pkg/inbox", imports: "pkg/event", modules: "backoff kgo pgx uuid zap"},
		{pkg: "pkg/client", imports: "pkg/money pkg/payment", modules: "backoff json uuid", tests: "internal/app internal/config"},
		{pkg: "schema"},

		// What a process stands on.
		{pkg: "internal/config", modules: "env"},
		{pkg: "internal/lifecycle", modules: "sync"},
		{pkg: "internal/telemetry", modules: "zap"},
		{pkg: "internal/postgres", imports: "pkg/inbox pkg/money schema", modules: "goose pgx uuid zap"},
		{pkg: "internal/groupcommit", imports: "internal/postgres", modules: "pgx"},
		{pkg: "internal/await", modules: "uuid zap"},
		{pkg: "internal/kafka", modules: "kadm kgo kmsg zap"},

		// Owners of tables: rows and their legal moves.
		{pkg: "internal/merchant", modules: "lru pgx rate uuid"},
		{
			pkg:     "internal/idempotency",
			imports: "internal/lifecycle internal/postgres",
			modules: "json pgx uuid zap",
			tests:   "internal/operation",
		},
		{pkg: "internal/operation", imports: "internal/postgres pkg/event pkg/money pkg/payment", modules: "pgx uuid"},
		{pkg: "internal/evidence", imports: "internal/postgres pkg/money pkg/payment", modules: "pgx uuid", tests: "internal/operation"},
		{pkg: "internal/outbox", imports: "internal/postgres pkg/event", modules: "pgx uuid"},
		{pkg: "internal/ledger", imports: "internal/postgres pkg/money", modules: "pgx uuid", tests: "internal/operation"},
		{
			pkg:     "internal/casework",
			imports: "internal/ledger internal/operation internal/postgres pkg/money pkg/payment",
			modules: "pgx uuid",
			tests:   "internal/evidence internal/outcome internal/provider",
		},

		// The port to providers, and what is plugged into it.
		{pkg: "internal/provider", imports: "pkg/money pkg/payment", modules: "uuid", tests: "internal/provider/conformance"},
		{
			pkg:     "internal/provider/simulated",
			imports: "internal/provider pkg/money pkg/payment",
			modules: "uuid",
			tests:   "internal/provider/conformance internal/pspsim",
		},
		{
			pkg:     "internal/provider/stripe",
			imports: "internal/provider pkg/money pkg/payment",
			modules: "stripe uuid",
			tests:   "internal/provider/conformance internal/testkit/fakestripe",
		},
		{
			pkg:     "internal/provider/connectors",
			imports: "internal/provider internal/provider/simulated internal/provider/stripe pkg/money",
		},
		{pkg: "internal/provider/conformance", imports: "internal/provider pkg/money pkg/payment", modules: "testify uuid"},
		{pkg: "internal/pspsim"},

		{
			pkg:     "internal/webhook",
			imports: "internal/postgres internal/provider",
			modules: "pgx uuid zap",
			tests:   "internal/provider/simulated internal/pspsim",
		},

		// The hops, left to right.
		{
			pkg: "internal/accept",
			imports: "internal/groupcommit internal/idempotency internal/merchant internal/operation internal/outbox " +
				"internal/postgres pkg/event pkg/money pkg/payment",
			modules: "json otel pgx uuid",
		},
		{pkg: "internal/problem", imports: "internal/accept internal/postgres pkg/payment"},
		{ // what a member's name means, for the documents
			pkg:     "internal/vocabulary",
			imports: "internal/accept internal/problem pkg/event pkg/money pkg/payment",
			modules: "currency huma json uuid",
		},
		{ // what is on Kafka, for those who read it
			pkg:     "internal/asyncapi",
			imports: "internal/accept internal/problem internal/vocabulary pkg/event pkg/inbox pkg/payment",
			modules: "huma uuid",
			tests:   "internal/eventschema",
		},
		{pkg: "internal/eventschema", imports: "pkg/event schema", modules: "jsonschema"},
		{pkg: "internal/documents", imports: "internal/asyncapi internal/httpapi internal/problem", modules: "huma"}, // writes the documents
		{
			pkg: "internal/httpapi",
			imports: "internal/accept internal/await internal/idempotency internal/merchant internal/operation internal/postgres " +
				"internal/problem internal/provider internal/vocabulary internal/webhook pkg/event pkg/payment schema",
			modules: "huma lru pgx rate uuid zap",
			tests:   "internal/provider/simulated internal/pspsim",
		},
		{
			pkg:     "internal/relay",
			imports: "internal/kafka internal/outbox internal/postgres pkg/event",
			modules: "backoff kgo pgx uuid zap",
		},
		{
			pkg: "internal/outcome",
			imports: "internal/casework internal/evidence internal/groupcommit internal/idempotency internal/ledger internal/operation " +
				"internal/outbox internal/postgres internal/provider pkg/event pkg/money pkg/payment",
			modules: "pgx uuid",
		},
		{
			pkg: "internal/worker",
			imports: "internal/evidence internal/groupcommit internal/lifecycle internal/operation " +
				"internal/outcome internal/postgres internal/provider pkg/event pkg/inbox pkg/payment",
			modules: "backoff gobreaker kgo pgx uuid zap",
			tests:   "internal/accept internal/provider/connectors internal/pspsim internal/testkit/fakestripe",
		},
		{
			pkg: "internal/reconcile",
			imports: "internal/casework internal/evidence internal/groupcommit internal/lifecycle internal/operation " +
				"internal/outcome internal/provider internal/webhook pkg/payment",
			modules: "pgx sync uuid zap",
			tests:   "internal/ledger internal/provider/connectors internal/pspsim internal/testkit/fakestripe",
		},
		{
			pkg: "internal/drift",
			imports: "internal/evidence internal/lifecycle internal/operation internal/outcome internal/postgres internal/provider " +
				"pkg/money pkg/payment",
			modules: "pgx uuid zap",
			tests:   "internal/casework internal/pspsim",
		},

		{
			pkg: "internal/kafkadoor",
			imports: "internal/accept internal/idempotency internal/kafka internal/lifecycle internal/merchant internal/postgres " +
				"internal/problem pkg/event pkg/inbox",
			modules: "kgo pgx uuid zap",
		},
		{
			pkg: "pkg/intake", // the library door: accept for other modules, without its types
			imports: "internal/accept internal/idempotency internal/merchant internal/operation internal/postgres " +
				"internal/provider/connectors pkg/event pkg/money pkg/payment",
			modules: "pgx uuid",
			tests:   "internal/httpapi",
		},

		// Processes.
		{
			pkg: "internal/app",
			imports: "internal/accept internal/casework internal/config internal/drift internal/evidence internal/httpapi internal/idempotency " +
				"internal/kafka internal/kafkadoor internal/lifecycle internal/merchant internal/operation internal/outcome internal/postgres " +
				"internal/provider internal/provider/connectors internal/reconcile internal/relay internal/telemetry internal/webhook internal/worker " +
				"pkg/event pkg/money pkg/payment",
			modules: "kgo pgx uuid x509roots zap",
			tests:   "internal/pgserver internal/pspsim pkg/client",
		},
		{
			pkg: "internal/demo",
			imports: "examples/billing internal/eventschema internal/kafka internal/leash internal/merchant internal/pgserver " +
				"internal/postgres internal/pspsim pkg/event pkg/money pkg/payment",
			modules: "kadm kfake kgo pgx progressbar uuid zap",
			tests:   "internal/app",
		},
		{ // the pipeline against its own document
			pkg:     "internal/contract",
			imports: "internal/app internal/lifecycle internal/pgserver internal/postgres internal/pspsim",
			modules: "backoff kfake",
		},
		{pkg: "internal/proof", tests: "internal/pspsim"},
		{
			pkg: "internal/proof/matrix",
			tests: "internal/operation internal/outcome internal/provider internal/provider/conformance " +
				"internal/provider/simulated internal/pspsim internal/reconcile internal/worker",
		},
		{pkg: "examples/billing", imports: "pkg/event pkg/inbox pkg/money pkg/payment", modules: "goose kgo pgx uuid zap"},
		{pkg: "examples/billing/cmd/billing", imports: "examples/billing internal/lifecycle", modules: "env zap"},
		{pkg: "examples/shop", imports: "pkg/intake pkg/money pkg/payment", modules: "backoff pgx uuid"},
		{pkg: "examples/shop/cmd/shop", imports: "examples/shop pkg/intake pkg/money", modules: "pgx uuid"},
		{pkg: "cmd/intake", imports: "internal/app"},
		{pkg: "cmd/relay", imports: "internal/app"},
		{pkg: "cmd/worker", imports: "internal/app"},
		{pkg: "cmd/reconciler", imports: "internal/app"},
		{pkg: "cmd/pspsim", imports: "internal/lifecycle internal/pspsim", modules: "kong"},
		{
			pkg:     "cmd/payctl",
			imports: "internal/app internal/demo internal/lifecycle",
			modules: "kong term uuid zap",
			tests:   "internal/evidence internal/merchant internal/operation internal/outcome internal/pspsim",
		},
		{
			pkg: "bench",
			imports: "internal/accept internal/app internal/leash internal/lifecycle internal/merchant internal/pgserver internal/postgres " +
				"internal/pspsim pkg/event",
			modules: "hdrhistogram kfake kong pgx uuid",
		},

		// Servers of our own, for the demo and for tests, and the tests' tools.
		{pkg: "internal/leash"},
		{pkg: "internal/pgserver", imports: "internal/leash schema", modules: "backoff embedded-postgres pgx"},
		{
			pkg: "internal/testkit",
			imports: "internal/pgserver internal/postgres internal/testkit/apachekafka " +
				"pkg/event pkg/inbox schema",
			modules: "backoff goleak kadm kfake kgo pgx testify uuid",
		},
		{pkg: "internal/testkit/apachekafka", imports: "internal/leash", modules: "backoff kadm kgo uuid"},
		{pkg: "internal/testkit/containers", imports: "internal/testkit/apachekafka", modules: "testcontainers"},
		{
			pkg:     "internal/testkit/runtests", // alone in holding Docker's client
			imports: "internal/pgserver internal/testkit internal/testkit/apachekafka internal/testkit/containers",
			modules: "sync",
		},
		{
			pkg:     "internal/testkit/fixture", // accepted payments, for tests of what comes after
			imports: "internal/idempotency internal/merchant internal/operation internal/outbox pkg/event pkg/money pkg/payment",
			modules: "pgx testify uuid",
		},
		{
			pkg: "internal/testkit/rig", // worker and reconciler around a simulated provider
			imports: "internal/operation internal/outcome internal/provider internal/provider/connectors internal/pspsim " +
				"internal/reconcile internal/testkit internal/testkit/fixture internal/worker pkg/event pkg/payment",
			modules: "kgo testify uuid zap",
		},
		{
			pkg:     "internal/testkit/settle", // outcomes, for tests of what came before
			imports: "internal/evidence internal/operation internal/outcome pkg/event pkg/money pkg/payment",
			modules: "pgx testify uuid",
		},
		{pkg: "deploy", modules: "yaml", tests: "internal/app internal/pspsim"}, // tests of files that no compiler reads
		{pkg: "internal/testkit/fakestripe"},                                    // a Stripe that keeps what it is told
		{pkg: "internal/architecture"},
	},
	modules: map[string]string{
		"backoff":           "github.com/cenkalti/backoff/v5",
		"currency":          "github.com/bojanz/currency",
		"embedded-postgres": "github.com/fergusstrange/embedded-postgres",
		"env":               "github.com/caarlos0/env/v11",
		"gobreaker":         "github.com/sony/gobreaker/v2",
		"goleak":            "go.uber.org/goleak",
		"goose":             "github.com/pressly/goose/v3",
		"huma":              "github.com/danielgtaylor/huma/v2",
		"hdrhistogram":      "github.com/HdrHistogram/hdrhistogram-go",
		"json":              "github.com/go-json-experiment/json",
		"jsonschema":        "github.com/santhosh-tekuri/jsonschema/v6",
		"kadm":              "github.com/twmb/franz-go/pkg/kadm",
		"kfake":             "github.com/twmb/franz-go/pkg/kfake",
		"kgo":               "github.com/twmb/franz-go", // kgo, and its errors
		"kmsg":              "github.com/twmb/franz-go/pkg/kmsg",
		"kong":              "github.com/alecthomas/kong",
		"lru":               "github.com/hashicorp/golang-lru/v2",
		"otel":              "go.opentelemetry.io/otel",
		"pgx":               "github.com/jackc/pgx/v5",
		"progressbar":       "github.com/schollz/progressbar/v3",
		"rapid":             "pgregory.net/rapid",
		"rate":              "golang.org/x/time",
		"stripe":            "github.com/stripe/stripe-go/v85",
		"stripe-mock":       "github.com/stripe/stripe-mock",
		"sync":              "golang.org/x/sync",
		"term":              "golang.org/x/term",
		"testcontainers":    "github.com/testcontainers/testcontainers-go",
		"testify":           "github.com/stretchr/testify",
		"uuid":              "github.com/google/uuid",
		"x509roots":         "golang.org/x/crypto/x509roots/fallback",
		"yaml":              "go.yaml.in/yaml/v3",
		"zap":               "go.uber.org/zap",
	},
	testImports: "internal/postgres internal/testkit internal/testkit/fixture internal/testkit/rig internal/testkit/settle " +
		"pkg/event pkg/money pkg/payment schema",
	testModules: "goleak jsonschema kadm kfake kgo kmsg pgx rapid stripe-mock sync testify uuid yaml zap",
}

// tables says whose SQL may write which table. Everyone else asks the owner.
var tables = owners{
	rows: []owner{
		{pkg: "internal/merchant", tables: "merchant api_key merchant_change"},
		{pkg: "internal/idempotency", tables: "idempotency_key"},
		{pkg: "internal/operation", tables: "invoice_identity reference_identity payment operation attempt payment_history epoch"},
		{pkg: "internal/evidence", tables: "evidence operator_statement"},
		{pkg: "internal/outbox", tables: "outbox outbox_lane outbox_parked"},
		{pkg: "internal/ledger", tables: "ledger_account ledger_entry"},
		{pkg: "internal/casework", tables: "payment_case payment_case_history"},
		{pkg: "internal/webhook", tables: "provider_event provider_event_conflict"},
		{pkg: "internal/drift", tables: "drift_scanned drift_scan drift_seen drift_question drift_later drift_finding"},
		{pkg: "pkg/inbox", tables: "processed_message inbox_floor"},
		{pkg: "examples/billing", tables: "billed"},
		{pkg: "examples/shop", tables: "customer_order"},
		{pkg: "schema", tables: "operation_arrow payment_case_arrow"}, // the same in every installation
	},
	migrations: "schema",
	testTools:  "internal/testkit",
}

// vague are names under which anything could be kept, and soon is.
var vague = []string{"base", "common", "helper", "helpers", "misc", "model", "models", "shared", "util", "utils"}

// sizes is what a reader can take in: a file of two nouns is two files.
var sizes = limits{fileLines: 500, functionLines: 80}
