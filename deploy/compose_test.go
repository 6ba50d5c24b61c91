package deploy_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/payonce/payonce/internal/app"
	"github.com/payonce/payonce/internal/pspsim"
)

// project is docker-compose.yml, as far as the tests look at it.
type project struct {
	Services map[string]service
	Volumes  map[string]any
}

type service struct {
	Image       string
	Command     []string
	Environment map[string]string
	Profiles    []string
	Restart     string
	ReadOnly    bool     `yaml:"read_only"`
	CapDrop     []string `yaml:"cap_drop"`
	SecurityOpt []string `yaml:"security_opt"`
	Privileged  bool
	PullPolicy  string `yaml:"pull_policy"`
	MemLimit    string `yaml:"mem_limit"`
	Ports       []string
	Healthcheck struct{ Test []string }
	DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
}

// once reports whether the service is a step of the set-up.
func (s service) once() bool { return s.Restart == "no" && len(s.Profiles) == 0 }

// ours is the program that the service runs, if it is one of ours.
func (s service) ours() (program string, ok bool) {
	program, ok = strings.CutPrefix(s.Image, "payonce/")
	program, _, _ = strings.Cut(program, ":")
	return program, ok
}

var variable = regexp.MustCompile(`\$\{[A-Z_]+:-([^}]*)\}`)

func readProject(t *testing.T) project {
	t.Helper()
	text, err := os.ReadFile("../docker-compose.yml")
	require.NoError(t, err)
	var p project
	require.NoError(t, yaml.Unmarshal(variable.ReplaceAll(text, []byte("$1")), &p))
	return p
}

// programs are the commands that a running pipeline has: their folders' names. The
// example of the library is to be read, and has no part in it.
func programs(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"../cmd/*/main.go", "../examples/billing/cmd/*/main.go"} {
		mains, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, main := range mains {
			found = append(found, filepath.Base(filepath.Dir(main)))
		}
	}
	slices.Sort(found)
	return found
}

func TestO7_EveryProgramHasAnImageAndRunsInTheProject(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("images")
	require.NoError(t, err)
	listed := regexp.MustCompile(`(?m)^for name in (.*); do$`).FindSubmatch(script)
	require.NotNil(t, listed)
	images := strings.Fields(string(listed[1]))
	slices.Sort(images)
	require.Equal(t, programs(t), images)

	run := map[string]int{}
	for _, s := range readProject(t).Services {
		if program, ok := s.ours(); ok {
			run[program]++
		}
	}
	for _, program := range programs(t) {
		require.NotZero(t, run[program], "nothing runs %s", program)
		delete(run, program)
	}
	require.Empty(t, run, "there are no such programs")
	for _, name := range []string{"relay", "worker"} {
		services := readProject(t).Services
		require.Contains(t, services, name+"-1")
		require.Equal(t, services[name+"-1"], services[name+"-2"])
	}
}

// A step that nothing waits for ends while `up --wait` still waits for it to be
// healthy, which then fails.
func TestEveryStepOfTheSetUpIsWaitedForByAServiceThatStays(t *testing.T) {
	t.Parallel()
	services := readProject(t).Services
	waited := map[string]bool{}
	for name, s := range services {
		for on, how := range s.DependsOn {
			require.Contains(t, services, on, name)
			if services[on].once() {
				require.Equal(t, "service_completed_successfully", how.Condition, "%s on %s", name, on)
			} else {
				require.Equal(t, "service_healthy", how.Condition, "%s on %s", name, on)
			}
			waited[on] = waited[on] || s.Restart == "unless-stopped"
		}
	}
	for name, s := range services {
		if s.once() {
			require.True(t, waited[name], "%s is waited for by nothing that stays", name)
		}
	}
}

func TestO6_TheProjectSetsOnlyWhatItsProgramsRead(t *testing.T) {
	t.Parallel()
	for name, s := range readProject(t).Services {
		program, _ := s.ours()
		var environ []string
		for variable, value := range s.Environment {
			environ = append(environ, variable+"="+value)
		}
		if known, ok := app.Find(program); ok {
			require.NoError(t, known.Check(environ), name)
		}
		if program == "payctl" || program == "pspsim" { // their names stand in the same list
			relay, _ := app.Find("relay")
			if err := relay.Check(environ); err != nil {
				require.NotContains(t, err.Error(), "knows no such name", name)
			}
		}
		if program == "billing" {
			require.Equal(t, []string{"BILLING_DATABASE_URL", "BILLING_KAFKA_BROKERS"}, slices.Sorted(maps.Keys(s.Environment)))
		}
		if faults, ok := s.Environment["PAYONCE_PSPSIM_FAULTS"]; ok {
			_, err := pspsim.ReadFaults(strings.NewReader(faults))
			require.NoError(t, err, name)
		}
	}
}

func TestO7_OurContainersMayDoNothingButTheirWork(t *testing.T) {
	t.Parallel()
	for name, s := range readProject(t).Services {
		require.False(t, s.Privileged, name)
		require.Contains(t, s.SecurityOpt, "no-new-privileges:true", name)
		require.NotEmpty(t, s.MemLimit, name)
		for _, port := range s.Ports {
			require.True(t, strings.HasPrefix(port, "127.0.0.1:"), "%s: %s", name, port)
		}
		if s.Restart == "unless-stopped" {
			require.NotEmpty(t, s.Healthcheck.Test, name)
		}
		if _, ours := s.ours(); ours {
			require.True(t, s.ReadOnly, name)
			require.Equal(t, []string{"ALL"}, s.CapDrop, name)
			require.Equal(t, "never", s.PullPolicy, name)
		}
	}
}

// The engine restarts nothing because of a silent database (O5): the images ask
// for liveness. The project asks for readiness, for `up --wait`.
func TestO5_ImagesAskForLivenessAndTheProjectForReadiness(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Dockerfile", "from-source.Dockerfile"} {
		dockerfile, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, line := range []string{
			"USER 65532:65532", `ENTRYPOINT ["/payonce"]`,
			`HEALTHCHECK --interval=30s --timeout=3s --start-period=30s --retries=3 CMD ["/payonce", "health", "livez"]`,
		} {
			require.Contains(t, string(dockerfile), "\n"+line+"\n", name)
		}
	}
	for name, s := range readProject(t).Services {
		program, _ := s.ours()
		if _, ok := app.Find(program); ok || program == "billing" {
			require.Equal(t, []string{"CMD", "/payonce", "health", "readyz"}, s.Healthcheck.Test, name)
		}
	}
}
