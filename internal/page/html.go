package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"
)

// The parts of the page. uPlot (MIT, assets/uPlot.LICENSE) draws the series.
var (
	//go:embed assets/uPlot.iife.min.js
	plotScript []byte
	//go:embed assets/uPlot.min.css
	plotStyle []byte
	//go:embed assets/uPlot.LICENSE
	plotLicense []byte
	//go:embed assets/*.js
	scripts embed.FS
	//go:embed assets/page.css
	pageStyle []byte
	//go:embed assets/body.html
	pageBody []byte
)

// pageScript is the page's own script: its parts in one function, in an order in which each
// uses only what stands before it while it is loaded.
func pageScript() []byte {
	var out bytes.Buffer
	out.WriteString("\"use strict\";\n(() => {\n")
	for _, name := range []string{"base", "table", "time", "ledger", "front", "rest", "main"} {
		part, err := scripts.ReadFile("assets/" + name + ".js")
		if err != nil {
			panic(err) // A part that is not embedded is a mistake of the build.
		}
		out.Write(part)
	}
	out.WriteString("})();\n")
	return out.Bytes()
}

// Policy is the content policy of the page: nothing may be loaded, and of scripts and
// styles only those run whose hashes it names. A live page may ask its own server.
func Policy(live bool) string {
	connect := ""
	if live {
		connect = "connect-src 'self'; "
	}
	return fmt.Sprintf("default-src 'none'; script-src %s %s; style-src %s %s; img-src data:; %sbase-uri 'none'; form-action 'none'",
		source(plotScript), source(pageScript()), source(plotStyle), source(pageStyle), connect)
}

// source names an inline script or style by the hash of what stands between its tags.
func source(content []byte) string {
	sum := sha256.Sum256(content)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// write puts the parts together. Only data is of a reader's making, and it is escaped.
func write(w io.Writer, data []byte, policy string) error {
	var out bytes.Buffer
	out.WriteString("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	out.WriteString("<meta http-equiv=\"Content-Security-Policy\" content=\"" + html.EscapeString(policy) + "\">\n")
	out.WriteString("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
	out.WriteString("<meta name=\"referrer\" content=\"no-referrer\">\n<link rel=\"icon\" href=\"data:,\">\n")
	out.WriteString("<title>tunebench report</title>\n")
	element(&out, "<style>", plotStyle, "</style>\n")
	element(&out, "<style>", pageStyle, "</style>\n")
	out.WriteString("</head>\n")
	out.Write(pageBody)
	element(&out, "<script type=\"application/json\" id=\"data\">", data, "</script>\n")
	out.WriteString("<!-- uPlot:\n")
	out.Write(plotLicense)
	out.WriteString("-->\n")
	element(&out, "<script>", plotScript, "</script>\n")
	element(&out, "<script>", pageScript(), "</script>\n")
	out.WriteString("</body>\n</html>\n")
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

func element(out *bytes.Buffer, open string, content []byte, end string) {
	out.WriteString(open)
	out.Write(content)
	out.WriteString(end)
}
