// Package web serves the page of package page over results folders on the loopback
// interface, while a matrix runs or afterwards.
//
// It has the listener, the server with its checks, and the three answers: the page, its
// data, and the curves of one row. What stands in them is left to package page. No part
// of a request becomes a path: the folders are those that the server was started with.
package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"tunebench/internal/page"
	"tunebench/internal/table"
)

// Options says what is served.
type Options struct {
	Dirs  []string // results folders, or single experiment folders
	Table table.Options
	Page  page.Options
}

// Listen opens the port on 127.0.0.1; 0 chooses a free one.
func Listen(port int) (net.Listener, error) {
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listen on the loopback interface: %w", err)
	}
	return l, nil
}

// URL is where a browser finds the page of a listener.
func URL(l net.Listener) string { return "http://" + l.Addr().String() + "/" }

// How long one request may take in all its parts, and how long the last ones get when
// the server ends. The data of a large folder takes seconds to gather.
const (
	readTime  = 10 * time.Second
	writeTime = 2 * time.Minute
	idleTime  = time.Minute
	graceTime = 2 * time.Second
)

// Serve answers on the listener until ctx ends, and then returns nil. It closes the
// listener, refuses one that is not on the loopback interface, and fails at once where a
// folder cannot be gathered.
func Serve(ctx context.Context, l net.Listener, o Options) error {
	if !onLoopback(l.Addr()) {
		_ = l.Close()
		return fmt.Errorf("serve the page: %s is not on the loopback interface, and others could read the results", l.Addr())
	}
	h, err := newHandler(o)
	if err != nil {
		_ = l.Close()
		return err
	}
	server := &http.Server{
		Handler:     guard(h),
		ReadTimeout: readTime, ReadHeaderTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: idleTime,
		MaxHeaderBytes: 16 << 10,
	}
	stopped := context.AfterFunc(ctx, func() { shut(server) })
	defer stopped()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the page: %w", err)
	}
	return nil
}

// shut lets the requests that run come to an end, within bounds.
func shut(server *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), graceTime)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		_ = server.Close()
	}
}

func onLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
