package pgserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	embedded "github.com/fergusstrange/embedded-postgres"

	"github.com/payonce/payonce/internal/leash"
)

const (
	// fetchVersion is what is downloaded, about 15 MB from Maven Central.
	fetchVersion = embedded.V18
	// DownloadedMajor is its major version, the newest that payonce is tested on.
	DownloadedMajor = 18
)

// fetch sets c.bin to downloaded binaries. They stay in the user's cache, which
// for root lies where the server's user cannot go, so that root's are copied.
func (c *cluster) fetch(ctx context.Context) error {
	fetched, err := fetchBinaries(ctx)
	if err != nil {
		return fmt.Errorf("downloading PostgreSQL %s: %w", fetchVersion, err)
	}
	if c.account.credential != nil {
		copied := filepath.Join(c.folder, "postgresql")
		if err := os.CopyFS(copied, os.DirFS(fetched)); err != nil {
			return fmt.Errorf("copying PostgreSQL from the cache: %w", err)
		}
		if err := c.account.ownTree(copied); err != nil {
			return err
		}
		fetched = copied
	}
	c.bin = filepath.Join(fetched, "bin")
	return nil
}

// fetchBinaries returns the folder of the unpacked download, which it fills once
// per user. Of two processes that do so at once the second one finds the place
// taken, which is as good.
func fetchBinaries(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("looking for the user's cache: %w", err)
	}
	parent := filepath.Join(cache, "payonce")
	unpacked := filepath.Join(parent, "postgresql-"+string(fetchVersion))
	if _, err := os.Stat(unpacked); err == nil {
		return unpacked, nil
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", fmt.Errorf("creating the cache: %w", err)
	}
	folder, err := os.MkdirTemp(parent, "fetch-")
	if err != nil {
		return "", fmt.Errorf("creating a folder to fetch into: %w", err)
	}
	held, err := leash.Hold(folder)
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(folder))
	}
	defer held.Release()
	// The library uses the default client, which would keep connections open.
	defer http.DefaultClient.CloseIdleConnections() //nolint:forbidigo // see above; it is the library's client
	done := make(chan error, 1)
	// The library takes no context. When ours ends first, the download goes on
	// for as long as this process does and is thrown away.
	go func() { done <- unpackInto(folder) }()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case err := <-done:
		if err != nil {
			return "", err
		}
	}
	if err := os.Rename(filepath.Join(folder, "unpacked"), unpacked); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("putting the download into the cache: %w", err)
	}
	return unpacked, nil
}

// unpackInto downloads and unpacks, and does no more: the library can only do all
// of it in its Start, whose initdb and server refuse root. So Start gets a data
// folder that looks initialised, which skips initdb, and is empty, which its
// server then refuses. That last error is expected.
func unpackInto(folder string) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	data := filepath.Join(folder, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		return fmt.Errorf("creating a folder: %w", err)
	}
	if err := os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte(strconv.Itoa(DownloadedMajor)), 0o600); err != nil {
		return fmt.Errorf("creating a file: %w", err)
	}
	unpacked := filepath.Join(folder, "unpacked")
	err = embedded.NewDatabase(embedded.DefaultConfig().Version(fetchVersion).Port(port).
		CachePath(filepath.Join(folder, "archive")).RuntimePath(unpacked).BinariesPath(unpacked).DataPath(data).
		Logger(io.Discard)).Start()
	if majorVersion(filepath.Join(unpacked, "bin")) == DownloadedMajor {
		return nil
	}
	return errors.Join(err, errors.New("let this machine reach Maven Central, or do without the download: install PostgreSQL 15 or newer"))
}
