package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tunebench/internal/experiment"
	"tunebench/internal/metric"
	"tunebench/internal/outcome"
)

// Keys of the first harness's flat results.json that are neither settings nor metrics.
const (
	gpusKey      = "num_gpus"
	frameworkKey = "acceleration_framework_config_file"
	errorsKey    = "error_messages"
)

// parseFlat understands the first harness's results.json, which has no structure:
// texts are settings and numbers are metrics. An experiment without final metrics and
// without an error was not finished, whatever that harness thought of it.
func parseFlat(fields []field) (Record, error) {
	r := Record{Version: Version}
	r.Host.MaxRSSOneProcess = metric.Missing("not recorded by the harness that wrote this file")
	for _, f := range fields {
		r.addFlat(f)
	}
	switch text := r.Outcome.ErrorMessages; {
	case text != "":
		r.Outcome.Status, r.Outcome.Reason = judgeText(text)
		return r, nil
	case hasFinalMetrics(r.Metrics):
		r.Outcome.Status = outcome.OK
		return r, nil
	}
	r.Outcome.Status = outcome.Incomplete
	return r, errors.New("neither final metrics nor error_messages: the experiment was not finished")
}

func (r *Record) addFlat(f field) {
	switch f.name {
	case gpusKey:
		if n, ok := wholeNumber(f.raw); ok {
			r.Experiment.NumGPUs = n
			return
		}
		r.Notes = append(r.Notes, fmt.Sprintf("num_gpus is %s, not a number of GPUs", cut(string(f.raw))))
	case frameworkKey:
		if path, ok := text(f.raw); ok && path != "" {
			r.Experiment.Framework = &experiment.Content{Path: path}
		}
	case errorsKey:
		r.Outcome.ErrorMessages = errorText(f.raw)
	default:
		r.addFlatValue(f)
	}
}

// addFlatValue sorts one of the free keys into the settings or the metrics by the
// type of its value.
func (r *Record) addFlatValue(f field) {
	if s, ok := text(f.raw); ok {
		r.Experiment.Settings = append(r.Experiment.Settings, experiment.Setting{Name: f.name, Values: []string{s}})
		return
	}
	var list []string
	if f.raw[0] == '[' && json.Unmarshal(f.raw, &list) == nil {
		r.Experiment.Settings = append(r.Experiment.Settings, experiment.Setting{Name: f.name, Values: list, List: true})
		return
	}
	r.Metrics = append(r.Metrics, metric.Metric{Name: f.name, Value: flatValue(f.raw)})
}

func flatValue(raw json.RawMessage) metric.Value {
	spelled := string(raw)
	var gap metric.Value
	switch spelled[0] {
	case 'n':
		return metric.Missing("null in the file")
	case 't', 'f':
		gap = metric.Missing("not a number")
	case '{':
		if json.Unmarshal(raw, &gap) == nil && !gap.Known() && gap.Text != "" {
			return gap
		}
		gap = metric.Missing("not a number")
	case '[':
		gap = metric.Missing("not a number")
	default:
		number, err := strconv.ParseFloat(spelled, 64)
		if err == nil {
			return metric.Of(number)
		}
		gap = metric.Of(math.Inf(1))
	}
	gap.Text = cut(spelled)
	return gap
}

// judgeText names the cause that error_messages tells of; that harness recorded no exit.
func judgeText(text string) (outcome.Status, string) {
	return outcome.Explain(outcome.ScanLogs(strings.NewReader(text + "\n")))
}

// hasFinalMetrics reports whether the trainer printed its closing line.
func hasFinalMetrics(set metric.Set) bool {
	for _, name := range []string{"train_runtime", "train_loss", "train_samples_per_second", "train_steps_per_second"} {
		if v, ok := set.Get(name); ok && (v.Known() || v.Text != "") {
			return true
		}
	}
	return false
}

func text(raw json.RawMessage) (string, bool) {
	var s string
	if raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// errorText reads one text or a list of them, one after the other. Any other value
// that is not empty is kept as it is spelled, so that a failure stays one.
func errorText(raw json.RawMessage) string {
	if s, ok := text(raw); ok {
		return s
	}
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		return strings.Join(list, "\n")
	}
	return string(raw)
}

// wholeNumber reads 2, 2.0 and "2".
func wholeNumber(raw json.RawMessage) (int, bool) {
	n, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil || n != math.Trunc(n) || n < 0 || n > math.MaxInt32 {
		return 0, false
	}
	return int(n), true
}

func cut(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// quoteNotFinite replaces the words NaN, Infinity and -Infinity, which Python writes
// and JSON does not know, by the spelling of a gap. Texts are left alone.
func quoteNotFinite(data []byte) []byte {
	if !bytes.Contains(data, []byte("NaN")) && !bytes.Contains(data, []byte("Infinity")) {
		return data
	}
	var out bytes.Buffer
	inText := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inText && c == '\\' && i+1 < len(data):
			out.Write(data[i : i+2])
			i++
			continue
		case c == '"':
			inText = !inText
		case !inText:
			if word := notFiniteAt(data[i:]); word != "" {
				fmt.Fprintf(&out, `{"gap":"not finite: %s","text":"%s"}`, word, word)
				i += len(word) - 1
				continue
			}
		}
		out.WriteByte(data[i])
	}
	return out.Bytes()
}

func notFiniteAt(data []byte) string {
	for _, word := range []string{"NaN", "-Infinity", "Infinity"} {
		if bytes.HasPrefix(data, []byte(word)) {
			return word
		}
	}
	return ""
}
