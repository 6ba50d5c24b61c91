package pgserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	embedded "github.com/fergusstrange/embedded-postgres"
)

// fetchVersion is what is downloaded, about 15 MB from Maven Central.
const fetchVersion = embedded.V18

// fetch puts downloaded binaries into the server's folder. The archive stays in
// the user's cache; it is unpacked again for each server, because the cache may
// lie in root's home, where the server's user cannot go.
func (c *cluster) fetch(ctx context.Context) error {
	done := make(chan error, 1)
	// The library takes no context. When ours ends first, the download goes on
	// for as long as this process does and is thrown away.
	go func() { done <- fetchInto(filepath.Join(c.folder, "postgresql")) }()
	select {
	case <-ctx.Done():
		return fmt.Errorf("downloading PostgreSQL %s: %w", fetchVersion, ctx.Err())
	case err := <-done:
		if err != nil {
			return fmt.Errorf("downloading PostgreSQL %s: %w", fetchVersion, err)
		}
	}
	c.bin = filepath.Join(c.folder, "postgresql", "bin")
	return c.account.ownTree(filepath.Join(c.folder, "postgresql"))
}

// fetchInto downloads and unpacks, and does no more: the library can only do all
// of it in its Start, whose initdb and server refuse root. So Start gets a data
// folder that looks initialised, which skips initdb, and is empty, which its
// server then refuses. That last error is expected.
func fetchInto(folder string) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	data := folder + "-none"
	if err := os.Mkdir(data, 0o700); err != nil {
		return fmt.Errorf("creating a folder: %w", err)
	}
	defer os.RemoveAll(data)
	if err := os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte("18\n"), 0o600); err != nil {
		return fmt.Errorf("creating a file: %w", err)
	}
	err = embedded.NewDatabase(embedded.DefaultConfig().Version(fetchVersion).Port(uint32(port)).
		CachePath(cacheFolder(folder)).RuntimePath(folder).BinariesPath(folder).DataPath(data).
		Logger(io.Discard)).Start()
	if majorVersion(filepath.Join(folder, "bin")) >= versionMin {
		return nil
	}
	return errors.Join(err, errors.New("there is no PostgreSQL of version 15 or newer on this machine either: install one"))
}

// cacheFolder is where the archive is kept between runs; in the server's own
// folder for a user who has no cache.
func cacheFolder(fallback string) string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return fallback + "-archive"
	}
	return filepath.Join(cache, "payonce", "postgresql")
}
