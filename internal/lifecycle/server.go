package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// serverStopWait is how long requests in hand may take once a server stops, longer
// than the API lets any of them take. Connections that are still open then are cut.
const serverStopWait = 12 * time.Second

// Listen opens the address that a server of this process serves on, so that an
// address that is taken is an error at start.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	return listener, nil
}

// Server is the part that serves HTTP on a listener. It takes no new connection
// once it stops, and lets requests in hand end.
func Server(name string, listener net.Listener, server *http.Server) Part {
	return Part{
		Name:     name,
		StopWait: serverStopWait + time.Second, // for cutting what is left
		Run: func(ctx context.Context) error {
			failed := make(chan error, 1)
			go func() { failed <- server.Serve(listener) }()
			select {
			case err := <-failed:
				return err
			case <-ctx.Done():
			}
			err := shutDown(context.WithoutCancel(ctx), server)
			if end := <-failed; !errors.Is(end, http.ErrServerClosed) {
				err = errors.Join(err, end) // it broke as it was told to stop
			}
			return err
		},
	}
}

// shutDown is in good order when the requests in hand ended. A client that holds
// its connection longer is cut, and that is no error of ours.
func shutDown(ctx context.Context, server *http.Server) error {
	ctx, cancel := context.WithTimeout(ctx, serverStopWait)
	defer cancel()
	err := server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	return err
}
