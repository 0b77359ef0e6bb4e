package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/spf13/cobra"

	"tunebench/internal/device"
	"tunebench/internal/device/nvml"
	"tunebench/internal/experiment"
	"tunebench/internal/report"
)

func newDevices(s System) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "devices",
		Short:   "Say what this machine has and what can be measured here",
		Example: "  tunebench devices\n  tunebench devices --json",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			survey := surveyDevices(cmd.Context(), s)
			if asJSON {
				enc := json.NewEncoder(s.Stdout)
				enc.SetIndent("", "  ")
				if err := enc.Encode(survey); err != nil {
					return fmt.Errorf("print the devices: %w", err)
				}
				return nil
			}
			if err := report.Devices(s.Stdout, survey, terminalWidth(s.Stdout)); err != nil {
				return fmt.Errorf("print the devices: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print data")
	return cmd
}

// surveyDevices asks every source, all at once, since one may hang; one that cannot
// answer says why.
func surveyDevices(ctx context.Context, s System) report.DeviceSurvey {
	machines := make([]device.Machine, 2)
	var asked sync.WaitGroup
	asked.Go(func() { machines[0] = surveyNVML(ctx, s) })
	asked.Go(func() { machines[1] = surveySMI(ctx, s) })
	asked.Wait()
	text, set := s.LookupEnv("CUDA_VISIBLE_DEVICES")
	inherited := device.ParseVisible(text, set)
	survey := report.DeviceSurvey{Machines: machines, Visible: text, VisibleSet: set, Notes: inherited.Problems}
	for _, machine := range machines {
		if len(machine.Devices) > 0 {
			survey.Seen, survey.Notes = machine.Seen(inherited)
			break
		}
	}
	// Who reads the data goes through lists: an empty one is no null.
	survey.Seen = append([]device.Device{}, survey.Seen...)
	for i := range machines {
		machines[i].Devices = append([]device.Surveyed{}, machines[i].Devices...)
	}
	return survey
}

func surveyNVML(ctx context.Context, s System) device.Machine {
	config := nvmlConfig(s)
	if config == nil {
		return device.Machine{Source: experiment.SourceNVML, Notes: []string{"tunebench does not find its own program, which asks NVML"}}
	}
	machine, err := nvml.List(ctx, *config)
	if err != nil {
		return device.Machine{Source: experiment.SourceNVML, Notes: []string{err.Error()}}
	}
	return machine
}

func surveySMI(ctx context.Context, s System) device.Machine {
	found, err := findSMI(s)
	if err == nil && found == nil {
		err = errors.New("nvidia-smi is not on PATH")
	}
	if err != nil {
		return device.Machine{Source: experiment.SourceSMI, Notes: []string{err.Error()}}
	}
	machine, err := found.Survey(ctx)
	if err != nil {
		machine.Notes = append(machine.Notes, err.Error())
	}
	return machine
}
