package containers

import (
	"context"
	"fmt"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"

	"github.com/payonce/payonce/internal/testkit/apachekafka"
)

// KafkaImage is the version that tests run without Docker, too.
const KafkaImage = "apache/kafka:" + apachekafka.Version

// KafkaImageEnv names another image, of the same conventions.
const KafkaImageEnv = "PAYONCE_TEST_KAFKA_IMAGE"

// kafkaPort is where the node listens for clients outside of its container.
const kafkaPort = "9092/tcp"

// kafkaScript is what the container waits for before it starts the node.
const kafkaScript = "/tmp/start-kafka.sh"

// kafkaSettings are those of one node that is broker and controller. A transaction's
// markers are sent from the node to itself, for which it has a listener whose
// advertised address is good inside the container.
var kafkaSettings = map[string]string{
	"KAFKA_NODE_ID":                        "1",
	"KAFKA_PROCESS_ROLES":                  "broker,controller",
	"KAFKA_LISTENERS":                      "CLIENT://:9092,NODE://:9094,CONTROLLER://:9093",
	"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "CLIENT:PLAINTEXT,NODE:PLAINTEXT,CONTROLLER:PLAINTEXT",
	"KAFKA_INTER_BROKER_LISTENER_NAME":     "NODE",
	"KAFKA_CONTROLLER_LISTENER_NAMES":      "CONTROLLER",
	"KAFKA_CONTROLLER_QUORUM_VOTERS":       "1@localhost:9093",
	// Internal topics of a single node cannot have replicas.
	"KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR":                 "1",
	"KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS":                     "4",
	"KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR":         "1",
	"KAFKA_TRANSACTION_STATE_LOG_MIN_ISR":                    "1",
	"KAFKA_TRANSACTION_STATE_LOG_NUM_PARTITIONS":             "4",
	"KAFKA_SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR":            "1",
	"KAFKA_SHARE_COORDINATOR_STATE_TOPIC_NUM_PARTITIONS":     "4",
	"KAFKA_SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR": "1",
	// Tests start one consumer after the other and need not wait for company.
	"KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
	// A topic that is missing must be seen as missing, as in production.
	"KAFKA_AUTO_CREATE_TOPICS_ENABLE": "false",
	"KAFKA_HEAP_OPTS":                 "-Xms256m -Xmx768m",
}

// StartKafka starts one node of Apache Kafka and returns once it serves, or
// ErrNoEngine. The caller stops it, also when ctx is done.
func StartKafka(ctx context.Context) (*Server, error) {
	if err := Check(ctx); err != nil {
		return nil, err
	}
	image := imageOr(KafkaImageEnv, KafkaImage)
	container, err := testcontainers.Run(ctx, image,
		testcontainers.WithEnv(kafkaSettings),
		testcontainers.WithExposedPorts(kafkaPort),
		testcontainers.WithEntrypoint("sh", "-c"),
		testcontainers.WithCmd(fmt.Sprintf("until [ -s %[1]s ]; do sleep 0.1; done; exec sh %[1]s", kafkaScript)),
		testcontainers.WithLifecycleHooks(testcontainers.ContainerLifecycleHooks{
			PostStarts: []testcontainers.ContainerHook{startNode},
		}))
	if container == nil {
		return nil, failed(ctx, image, nil, err)
	}
	if err != nil {
		return nil, failed(ctx, image, container, err)
	}
	addr, err := container.PortEndpoint(ctx, kafkaPort, "")
	if err != nil {
		return nil, failed(ctx, image, container, err)
	}
	return &Server{Image: image, Addr: addr, container: container}, nil
}

// startNode tells the node the address to advertise, which is known only now: Docker
// chooses the port when the container starts.
func startNode(ctx context.Context, container testcontainers.Container) error {
	addr, err := container.PortEndpoint(ctx, kafkaPort, "")
	if err != nil {
		return fmt.Errorf("asking for the port: %w", err)
	}
	script := fmt.Sprintf("export KAFKA_ADVERTISED_LISTENERS=CLIENT://%s,NODE://localhost:9094\nexec /etc/kafka/docker/run\n", addr)
	if err := container.CopyToContainer(ctx, []byte(script), kafkaScript, 0o755); err != nil {
		return fmt.Errorf("handing over the start script: %w", err)
	}
	return wait.ForLog("Kafka Server started").WithStartupTimeout(startWait).WithPollInterval(pollInterval).WaitUntilReady(ctx, container)
}
