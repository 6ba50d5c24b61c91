package apachekafka

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// Version is the version of Apache Kafka in pom.xml.
const Version = "4.4.0"

const (
	// javaMin is the oldest Java that Kafka's server runs on.
	javaMin = 17
	// javaWait bounds asking java for its version: a first start reads much.
	javaWait = 30 * time.Second
)

// ErrUnavailable means that this machine cannot run Apache Kafka.
var ErrUnavailable = errors.New("this machine cannot run Apache Kafka")

//go:embed pom.xml
var pom []byte

var javaVersion = regexp.MustCompile(`version "(\d+)`)

// checkJava believes java only when it answers: macOS has a java that does not.
func checkJava(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, javaWait)
	defer cancel()
	output, err := exec.CommandContext(ctx, "java", "-version").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: java -version: %w", ErrUnavailable, err)
	}
	match := javaVersion.FindSubmatch(output)
	if match == nil {
		return fmt.Errorf("%w: java -version says %.100q", ErrUnavailable, output)
	}
	major, err := strconv.Atoi(string(match[1]))
	if err != nil || major < javaMin {
		return fmt.Errorf("%w: Java is %s, needed is %d or newer", ErrUnavailable, match[1], javaMin)
	}
	return nil
}

// fetchJars returns the folder with Kafka's jars, which it fills once per user.
func fetchJars(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("looking for the user's cache: %w", err)
	}
	jars := filepath.Join(cache, "payonce", "kafka-"+Version)
	if _, err := os.Stat(jars); err == nil {
		return jars, nil
	}
	maven, err := exec.LookPath("mvn")
	if err != nil {
		return "", fmt.Errorf("%w: its jars are not in %s, and there is no Maven to fetch them: %w", ErrUnavailable, jars, err)
	}
	if err := os.MkdirAll(filepath.Dir(jars), 0o755); err != nil {
		return "", fmt.Errorf("creating the cache: %w", err)
	}
	return jars, fetchInto(ctx, maven, jars)
}

// fetchInto fetches into a folder of its own and renames it at the end, so that
// jars that are there are complete. Of two processes that fetch at once the
// second one finds the place taken, which is as good.
func fetchInto(ctx context.Context, maven, jars string) error {
	folder, err := os.MkdirTemp(filepath.Dir(jars), "fetch-")
	if err != nil {
		return fmt.Errorf("creating a folder to fetch into: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	pomFile := filepath.Join(folder, "pom.xml")
	if err := os.WriteFile(pomFile, pom, 0o600); err != nil {
		return fmt.Errorf("writing the pom: %w", err)
	}
	fetched := filepath.Join(folder, "jars")
	command := exec.CommandContext(ctx, maven, "--quiet", "--batch-mode", "--file", pomFile,
		"dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory="+fetched)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("fetching Apache Kafka with Maven: %w\n%s", err, output)
	}
	if err := os.Rename(fetched, jars); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("putting the jars into the cache: %w", err)
	}
	return nil
}
