package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/testkit"
)

// programEnv makes this test binary the program instead of its test.
const programEnv = "RUNTESTS_TEST_PROGRAM"

// noDocker leads Docker's client to where nobody listens.
const noDocker = "DOCKER_HOST=unix:///no/such/socket"

func TestMain(m *testing.M) {
	if os.Getenv(programEnv) != "" {
		main()
	}
	os.Exit(m.Run())
}

// runner returns the program with a command to run. It starts no servers, because
// the environment names some.
func runner(arguments ...string) *exec.Cmd {
	command := exec.Command(os.Args[0], arguments...)
	command.Env = append(os.Environ(), programEnv+"=1", testkit.DatabaseEnv+"=named", testkit.BrokersEnv+"=named",
		testkit.PostgresEnv+"=", testkit.KafkaEnv+"=") // this run's own choice, perhaps
	return command
}

func TestTheExitCodeIsTheCommands(t *testing.T) {
	t.Parallel()
	for want, arguments := range map[int][]string{
		0:         {"--", "true"},
		7:         {"--", "sh", "-c", "exit 7"},
		128 + 9:   {"--", "sh", "-c", "kill -9 $$"},
		exitUsage: {"--"},
		exitSetUp: {"--", "/no/such/command"},
		1:         {"false"},
	} {
		command := runner(arguments...)
		_ = command.Run() // its error is the exit code
		require.Equal(t, want, command.ProcessState.ExitCode(), arguments)
	}
}

func TestServersThatTheEnvironmentNamesAreUsed(t *testing.T) {
	t.Parallel()
	output, err := runner("--", "sh", "-c", "echo $"+testkit.DatabaseEnv+" $"+testkit.BrokersEnv).Output()
	require.NoError(t, err)
	require.Equal(t, "named named\n", string(output))
}

func TestO6_AServerIsNamedOrChosenAndOneThatCannotBeHadIsAnError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		environment []string
		want        string
	}{
		{
			[]string{testkit.PostgresEnv + "=container"},
			testkit.DatabaseEnv + " names a server and " + testkit.PostgresEnv + " chooses another one",
		},
		{[]string{testkit.KafkaEnv + "=container"}, testkit.BrokersEnv + " names a server and " + testkit.KafkaEnv + " chooses another one"},
		{[]string{testkit.PostgresEnv + "=docker"}, testkit.PostgresEnv + ` is "docker"`},
		{[]string{testkit.KafkaEnv + "=docker"}, testkit.KafkaEnv + ` is "docker"`},
		{[]string{testkit.DatabaseEnv + "=", testkit.PostgresEnv + "=container", noDocker}, "no Docker engine answers"},
		{[]string{testkit.BrokersEnv + "=", testkit.KafkaEnv + "=container", noDocker}, "no Docker engine answers"},
	} {
		command := runner("--", "true")
		command.Env = append(command.Env, c.environment...)
		output, _ := command.CombinedOutput() // its error is the exit code
		require.Equal(t, exitSetUp, command.ProcessState.ExitCode(), "%v: %s", c.environment, output)
		require.Contains(t, string(output), c.want)
	}
}

func TestASignalReachesTheCommandAndAllThatItStarted(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		command := runner("--", "sh", "-c", "echo ready; sleep 600; true")
		output, err := command.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, command.Start())
		reader := bufio.NewReader(output)
		_, err = reader.ReadString('\n')
		require.NoError(t, err)

		require.NoError(t, command.Process.Signal(signal))
		_, err = io.ReadAll(reader) // ends when the last process that holds it is gone
		require.NoError(t, err)
		require.Error(t, command.Wait())
		require.Equal(t, 128+int(signal), command.ProcessState.ExitCode())
	}
}

// It is of the kind that this run was started with, so a container in some runs.
func TestTheCommandGetsAPostgreSQLThatIsGoneAfterwards(t *testing.T) {
	t.Parallel()
	command := runner("--", "sh", "-c", `echo "$`+testkit.DatabaseEnv+`"; sleep 600`)
	command.Env = append(command.Env, testkit.DatabaseEnv+"=", testkit.PostgresEnv+"="+os.Getenv(testkit.PostgresEnv))
	output, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	url, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	url = strings.TrimSpace(url)
	connection, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	require.NoError(t, connection.Close(t.Context()))

	require.NoError(t, command.Process.Signal(syscall.SIGTERM))
	require.Error(t, command.Wait())
	_, err = pgx.Connect(t.Context(), url)
	require.Error(t, err)
}
