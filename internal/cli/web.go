package cli

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"tunebench/internal/memory"
	"tunebench/internal/page"
	"tunebench/internal/table"
	"tunebench/internal/view"
	"tunebench/internal/web"
)

func newWeb(s System) *cobra.Command {
	var port uint16
	var stages, unit string
	cmd := &cobra.Command{
		Use:   "web DIR...",
		Short: "Serve the report as a live page on 127.0.0.1",
		Long: "Serve the report of one or many results folders as a page that follows them\n" +
			"while a matrix runs. Only this machine can reach it. From another one: ssh -L\n" +
			"8080:127.0.0.1:PORT HOST. Ctrl-C ends it.",
		Example: "  tunebench web results\n  tunebench web monday tuesday --port 8080 --unit GB",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(errors.New("web wants one or more results folders; see tunebench web --help"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			rule, err := memory.ParseStages(stages)
			if err != nil {
				return usage(fmt.Errorf("--stages: %w", err))
			}
			u, err := view.ParseUnit(unit)
			if err != nil {
				return usage(fmt.Errorf("--unit: %w", err))
			}
			for _, dir := range args {
				if _, err := os.ReadDir(dir); err != nil {
					return usage(err)
				}
			}
			listener, err := web.Listen(int(port))
			if err != nil {
				return usage(fmt.Errorf("%w (choose another one with --port; 0 takes a free one)", err))
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			_, _ = fmt.Fprintf(s.Stdout, "%s\nCtrl-C ends it\n", web.URL(listener))
			err = web.Serve(ctx, listener, web.Options{Dirs: args, Table: table.Options{Stages: rule}, Page: page.Options{Unit: u}})
			if err != nil {
				return usage(err)
			}
			return nil
		},
	}
	cmd.Flags().Uint16Var(&port, "port", 0, "port on 127.0.0.1 (0: a free one)")
	cmd.Flags().StringVar(&stages, "stages", "seed", "which of the Trainer's stages enter the torch maximum: seed, train, all")
	cmd.Flags().StringVar(&unit, "unit", "GiB", "of memory, at first: GiB, GB, MiB or B")
	return cmd
}
