package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"tunebench/internal/page"
	"tunebench/internal/table"
)

// freshFor is how long gathered data are handed out without looking again.
const freshFor = time.Second

// handler answers the requests that guard lets through.
type handler struct {
	dirs []string
	page []byte

	mu       sync.Mutex // held while gathering: several readers cost no more than one
	gatherer *table.Gatherer
	maker    *page.Maker
	table    table.Table
	data     []byte
	tag      string
	at       time.Time
}

func newHandler(o Options) (http.Handler, error) {
	var live bytes.Buffer
	if err := page.Live(&live); err != nil {
		return nil, err
	}
	h := &handler{dirs: o.Dirs, page: live.Bytes(), gatherer: table.NewGatherer(o.Table), maker: page.NewMaker(o.Page)}
	if err := h.gather(); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", h.showPage)
	mux.HandleFunc("/data", h.showData)
	mux.HandleFunc("/curves", h.showCurves)
	return mux, nil
}

// gather makes table and data anew where they are old. The caller holds the lock, or is
// the only one to know the handler.
func (h *handler) gather() error {
	if time.Since(h.at) < freshFor {
		return nil
	}
	t, err := h.gatherer.Gather(h.dirs)
	if err != nil {
		return err
	}
	data, err := h.maker.Data(t)
	if err != nil {
		return err
	}
	h.table, h.data, h.tag, h.at = t, data, tagOf(data), time.Now()
	return nil
}

// tagOf names content by its hash, as an ETag.
func tagOf(data []byte) string {
	sum := sha256.Sum256(data)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:18]) + `"`
}

func (h *handler) showPage(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(h.page) // A reader that went away is no concern of ours.
}

func (h *handler) showData(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	err := h.gather()
	data, tag := h.data, h.tag
	h.mu.Unlock()
	if err != nil {
		http.Error(w, "the results cannot be gathered: "+err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, r, data, tag)
}

func (h *handler) showCurves(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	t := h.table
	h.mu.Unlock()
	data, ok, err := page.Curves(t, r.URL.Query().Get("row"))
	switch {
	case !ok:
		http.Error(w, "there is no such experiment", http.StatusNotFound)
	case err != nil:
		http.Error(w, "the logs cannot be read", http.StatusInternalServerError)
	default:
		answer(w, r, data, tagOf(data))
	}
}

// answer sends JSON, or that the reader has it already.
func answer(w http.ResponseWriter, r *http.Request, data []byte, tag string) {
	w.Header().Set("ETag", tag)
	for known := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		if strings.TrimSpace(known) == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data) // A reader that went away is no concern of ours.
}
