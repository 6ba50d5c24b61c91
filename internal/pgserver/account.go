package pgserver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the operating system user that the server runs as.
type account struct {
	credential *syscall.Credential // nil: the user that we are
}

// serverAccount is ourselves, or nobody when we are root. It must be a user that
// exists in the password file, because initdb looks its name up.
func serverAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return account{}, fmt.Errorf("PostgreSQL refuses to run as root, and there is no user nobody to run it as: %w", err)
	}
	uid, err := strconv.ParseUint(nobody.Uid, 10, 32)
	if err != nil {
		return account{}, fmt.Errorf("reading the user id of nobody: %w", err)
	}
	gid, err := strconv.ParseUint(nobody.Gid, 10, 32)
	if err != nil {
		return account{}, fmt.Errorf("reading the group id of nobody: %w", err)
	}
	return account{&syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}

// makeFolder creates the server's private folder. Root uses /tmp whatever TMPDIR
// says, because TMPDIR may lie where nobody cannot go.
func (a account) makeFolder() (string, error) {
	parent := ""
	if a.credential != nil {
		parent = "/tmp"
	}
	folder, err := os.MkdirTemp(parent, "payonce-postgres-")
	if err != nil {
		return "", fmt.Errorf("creating the server's folder: %w", err)
	}
	return folder, a.own(folder)
}

func (a account) writeFile(path, content string) error {
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return a.own(path)
}

func (a account) own(path string) error {
	if a.credential == nil {
		return nil
	}
	if err := os.Lchown(path, int(a.credential.Uid), int(a.credential.Gid)); err != nil {
		return fmt.Errorf("giving %s to nobody: %w", path, err)
	}
	return nil
}

// ownTree gives a folder and all that is in it to the account, because our umask
// may have kept it from other users.
func (a account) ownTree(folder string) error {
	return filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, a.own(path))
	})
}

// apply makes the command run as the account, in the folder, with an environment
// that holds nothing of ours: neither secrets nor PG* variables.
func (a account) apply(command *exec.Cmd, folder string) {
	command.Dir = folder
	command.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + folder, "LC_ALL=C", "TZ=UTC"}
	command.SysProcAttr = &syscall.SysProcAttr{Credential: a.credential}
}
