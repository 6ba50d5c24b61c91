package pgserver

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// versionMin is the oldest PostgreSQL that payonce supports.
const versionMin = 15

// binaryFolders are where packages of the known systems put their binaries,
// besides PATH.
var binaryFolders = []string{
	"/usr/lib/postgresql/*/bin",                          // Debian, Ubuntu
	"/usr/pgsql-*/bin",                                   // Red Hat, from postgresql.org
	"/opt/homebrew/opt/postgresql@*/bin",                 // Homebrew, Apple silicon
	"/usr/local/opt/postgresql@*/bin",                    // Homebrew, Intel
	"/Applications/Postgres.app/Contents/Versions/*/bin", // Postgres.app
	"/usr/local/pgsql/bin",                               // built from source
	"/opt/local/lib/postgresql*/bin",                     // MacPorts
	"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",    // Homebrew on Linux
}

// Installed reports whether the machine has binaries that Start takes instead of the
// download.
func Installed() bool { return localBinaries() != "" }

// localBinaries returns the folder of the newest usable binaries of the machine,
// or nothing.
func localBinaries() string {
	newest, found := 0, ""
	for _, bin := range localFolders() {
		if major := majorVersion(bin); major >= versionMin && major > newest {
			newest, found = major, bin
		}
	}
	return found
}

func localFolders() []string {
	var folders []string
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			folders = append(folders, filepath.Dir(path))
		}
	}
	for _, pattern := range binaryFolders {
		matches, _ := filepath.Glob(pattern) // fails for a malformed pattern only
		folders = append(folders, matches...)
	}
	return folders
}

var versionOutput = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// majorVersion is the version of the server binary in the folder, or 0 when the
// folder holds no server that runs here, or no initdb beside it.
func majorVersion(bin string) int {
	if _, err := os.Stat(filepath.Join(bin, "initdb")); err != nil {
		return 0
	}
	output, err := exec.Command(filepath.Join(bin, "postgres"), "--version").Output()
	if err != nil {
		return 0
	}
	match := versionOutput.FindSubmatch(output)
	if match == nil {
		return 0
	}
	major, _ := strconv.Atoi(string(match[1])) // the pattern allows digits only
	return major
}
