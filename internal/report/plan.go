package report

import (
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"tunebench/internal/experiment"
)

// Plan writes the experiments of a plan as a table for people, no line wider than width
// columns where the figures allow it.
func Plan(w io.Writer, experiments []experiment.Experiment, width int) error {
	columns := []column{
		{header: "exp"}, {header: "scenario", least: minWord}, {header: "model", least: minModel},
		{header: "method", least: minMethod}, {header: "batch", right: true}, {header: "accum", right: true},
		{header: "gpus", right: true}, {header: "identity"},
	}
	for _, e := range experiments {
		cells := []string{
			e.Name, e.Scenario, path.Base(settingText(e, "model_name_or_path")), plannedMethod(e),
			settingText(e, "per_device_train_batch_size"), settingText(e, "gradient_accumulation_steps"),
			strconv.Itoa(e.NumGPUs), e.ID[:min(8, len(e.ID))],
		}
		for i, cell := range cells {
			columns[i].cells = append(columns[i].cells, cell)
		}
	}
	g := fit(columns, width)
	var out strings.Builder
	for i := -1; i < len(experiments); i++ {
		out.WriteString(g.textLine(i) + "\n")
	}
	fmt.Fprintf(&out, "\n%s. batch is samples on each device in one forward step.\n", plural(len(experiments), "experiment"))
	_, err := io.WriteString(w, out.String())
	return err
}

// settingText is a setting's value for the eye, or a dash where the trainer's own default stands.
func settingText(e experiment.Experiment, name string) string {
	s, ok := e.Setting(name)
	if !ok {
		return "-"
	}
	return strings.Join(s.Values, " ")
}

func plannedMethod(e experiment.Experiment) string {
	if e.Framework != nil {
		return e.Framework.Name
	}
	if method := settingText(e, "peft_method"); method != "-" {
		return method
	}
	return "full"
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
