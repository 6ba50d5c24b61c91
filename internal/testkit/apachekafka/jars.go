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
	// versionWait bounds asking a program for its version: a first start reads much.
	versionWait = 30 * time.Second
	// fetchWait bounds the fetch, on a slow line too: it is about 45 MB.
	fetchWait = 10 * time.Minute
	// pipeWait is how long a program that was killed may keep its output open,
	// because a child of its own holds it.
	pipeWait = time.Second
)

// ErrUnavailable means that this machine cannot run Apache Kafka.
var ErrUnavailable = errors.New("this machine cannot run Apache Kafka")

//go:embed pom.xml
var pom []byte

var javaVersion = regexp.MustCompile(`version "(\d+)`)

// version returns what a program says about its version. A program counts only when
// it answers: macOS has a java that does not, and a wrapper may hang.
func version(ctx context.Context, wait time.Duration, name, option string) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	command := exec.CommandContext(limited, name, option)
	command.WaitDelay = pipeWait
	output, err := command.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		return nil, fmt.Errorf("%w: %s %s does not answer within %s", ErrUnavailable, name, option, wait)
	case err != nil:
		return nil, fmt.Errorf("%w: %s %s: %w; it says %.200q", ErrUnavailable, name, option, err, output)
	}
	return output, nil
}

func checkJava(ctx context.Context) error {
	output, err := version(ctx, versionWait, "java", "-version")
	if err != nil {
		return err
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
	if _, err := version(ctx, versionWait, "mvn", "--version"); err != nil {
		return "", fmt.Errorf("its jars are not in %s, and there is no Maven to fetch them: %w", jars, err)
	}
	if err := os.MkdirAll(filepath.Dir(jars), 0o755); err != nil {
		return "", fmt.Errorf("creating the cache: %w", err)
	}
	return jars, fetchInto(ctx, jars)
}

// fetchInto fetches into a folder of its own and renames it at the end, so that
// jars that are there are complete. Of two processes that fetch at once the
// second one finds the place taken, which is as good.
func fetchInto(ctx context.Context, jars string) error {
	ctx, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
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
	command := exec.CommandContext(ctx, "mvn", "--quiet", "--batch-mode", "--file", pomFile,
		"dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory="+fetched)
	command.WaitDelay = pipeWait
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("fetching Apache Kafka with Maven: %w\n%s", err, output)
	}
	if err := os.Rename(fetched, jars); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("putting the jars into the cache: %w", err)
	}
	return nil
}
