package web

import (
	"net"
	"net/http"
	"strings"

	"tunebench/internal/page"
)

// guard refuses what no reader of the page asks, before anything is looked up. The Host
// must be a name of this machine's loopback, at any port since ports are forwarded: a
// foreign name that was made to point here (DNS rebinding) is not served.
func guard(next http.Handler) http.Handler {
	policy := page.Policy(true) + "; frame-ancestors 'none'"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-cache")
		switch {
		case !ownName(r.Host):
			http.Error(w, "this page is served to the machine that it runs on only", http.StatusMisdirectedRequest)
		case foreign(r.Header):
			http.Error(w, "another site asked", http.StatusForbidden)
		case r.Method != http.MethodGet:
			h.Set("Allow", http.MethodGet)
			http.Error(w, "only GET", http.StatusMethodNotAllowed)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// ownName reports whether a Host header names the loopback interface.
func ownName(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

// foreign reports whether the browser says that a page of another site made the request.
// A link that was followed shows that site nothing, so it is let through.
func foreign(h http.Header) bool {
	site := h.Get("Sec-Fetch-Site")
	return (site == "cross-site" || site == "same-site") && h.Get("Sec-Fetch-Mode") != "navigate"
}
