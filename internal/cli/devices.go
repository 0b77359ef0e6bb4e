package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"tunebench/internal/device"
	"tunebench/internal/device/nvml"
	"tunebench/internal/report"
)

func newDevices(s System) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "devices",
		Short:   "Say what devices this machine has, who is on them, and what can be measured",
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

// surveyDevices asks every source; one that cannot answer says why.
func surveyDevices(ctx context.Context, s System) report.DeviceSurvey {
	var survey report.DeviceSurvey
	if config := nvmlConfig(s); config != nil {
		machine, err := nvml.List(ctx, *config)
		if err != nil {
			machine = device.Machine{Source: "nvml", Notes: []string{err.Error()}}
		}
		survey.Machines = append(survey.Machines, machine)
	}
	survey.Machines = append(survey.Machines, surveySMI(ctx, s))
	text, set := s.LookupEnv("CUDA_VISIBLE_DEVICES")
	inherited := device.ParseVisible(text, set)
	survey.Visible, survey.VisibleSet = text, set
	survey.Notes = inherited.Problems
	for _, machine := range survey.Machines {
		if len(machine.Devices) > 0 {
			seen, problems := inherited.Devices(machine.Identities())
			survey.Seen, survey.Notes = seen, slices.Concat(survey.Notes, problems)
			break
		}
	}
	return survey
}

func surveySMI(ctx context.Context, s System) device.Machine {
	machine := device.Machine{Source: "nvidia-smi"}
	found, err := findSMI(s)
	if err != nil || found == nil {
		machine.Notes = append(machine.Notes, "nvidia-smi is not on PATH")
		return machine
	}
	machine.Library = found.Path
	all, err := found.List(ctx)
	if err != nil {
		machine.Notes = append(machine.Notes, err.Error())
	}
	levels, err := found.Read(ctx, all)
	if err != nil {
		machine.Notes = append(machine.Notes, err.Error())
	}
	for _, d := range all {
		one := device.Surveyed{Device: d, ProcessesGap: "not asked of nvidia-smi"}
		for _, level := range levels {
			if level.Index == d.Index {
				one.Used = level.Used
			}
		}
		machine.Devices = append(machine.Devices, one)
	}
	return machine
}
