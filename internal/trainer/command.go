package trainer

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tunebench/internal/experiment"
)

// The trainers that are known by name; any other text is a command.
const (
	FMS     = "fms"     // tuning.sft_trainer of the fine-tuning library
	HF      = "hf"      // the script that tunebench brings for the Hugging Face Trainer
	Builtin = "builtin" // tunebench itself, for trying things out
	Any     = "any"     // any command at all, as measure runs it: judged by its exit alone
)

// BuiltinCommand is the hidden command of tunebench that is the trainer Builtin.
const BuiltinCommand = "builtin-trainer"

// The launchers.
const (
	Accelerate = "accelerate"
	Torchrun   = "torchrun"
	Direct     = "none" // started directly, also on several GPUs
)

// Start is what the command of an experiment is made of.
type Start struct {
	Trainer          string // FMS, HF, Builtin, or a command as one would type it
	Launcher         string // Accelerate, Torchrun or Direct; empty: accelerate for a Python trainer on several GPUs
	Python           string // the interpreter of FMS and HF
	NumGPUs          int    // 0: on the CPU
	Port             int    // for the processes of a launcher to meet
	AccelerateConfig string // accelerate's configuration file; empty: none
	Self             string // this program, for Builtin
	Script           string // the script of HF
	Args             []experiment.Setting
}

// Command returns the command line of an experiment, and the index in it of the
// port, which is 0 where there is none. No shell is involved.
func Command(s Start) (argv []string, portArg int, err error) {
	launcher, err := s.ResolveLauncher()
	if err != nil {
		return nil, 0, err
	}
	program, err := s.program()
	if err != nil {
		return nil, 0, err
	}
	argv = program
	if launcher != "" {
		if argv, portArg, err = s.launch(launcher, program[0]); err != nil {
			return nil, 0, err
		}
		target := program[1:]
		if launcher == Torchrun {
			target = behindDashes(target)
		}
		argv = append(argv, target...)
	}
	argv, err = withFlags(argv, s.Args)
	if err != nil {
		return nil, 0, err
	}
	return argv, portArg, nil
}

// behindDashes puts what torchrun starts behind a double dash. Without it torchrun looks for
// abbreviations of its own options among the trainer's: --r could be --role.
func behindDashes(target []string) []string {
	if target[0] == "-m" {
		return slices.Insert(slices.Clone(target), 1, "--")
	}
	return slices.Insert(slices.Clone(target), 0, "--")
}

// ResolveLauncher returns the launcher that is really used: Accelerate, Torchrun, or
// nothing where the trainer is started directly. A launcher that was asked for and
// cannot be used is an error, not a run of another kind.
func (s Start) ResolveLauncher() (string, error) {
	switch s.Launcher {
	case Direct:
		return "", nil
	case "":
		if s.NumGPUs > 1 && s.launchable() == nil {
			return Accelerate, nil
		}
		return "", nil
	case Accelerate, Torchrun:
		return s.Launcher, s.launchable()
	}
	return "", fmt.Errorf("unknown launcher %q: it is %s, %s or %s", s.Launcher, Accelerate, Torchrun, Direct)
}

// launchable says why no launcher can start the trainer, or nil.
func (s Start) launchable() error {
	switch s.Trainer {
	case FMS, HF:
		return nil
	case Builtin:
		return fmt.Errorf("the builtin trainer is one process and takes no launcher")
	}
	words, err := Words(s.Trainer)
	if err != nil {
		return err
	}
	if !isPython(words[0]) {
		return fmt.Errorf("no launcher can start %q: only a Python script or module can be handed to one", words[0])
	}
	if len(words) < 2 || strings.HasPrefix(words[1], "-") && words[1] != "-m" {
		return fmt.Errorf("no launcher can start %q: a script or -m with a module must follow %s", s.Trainer, words[0])
	}
	return nil
}

func isPython(word string) bool {
	return pythonName.MatchString(path.Base(word))
}

var pythonName = regexp.MustCompile(`^python([23](\.[0-9]+)?t?)?$`)

// program returns the command without its settings. For a Python program the
// interpreter comes first, so that a launcher can take its place.
func (s Start) program() ([]string, error) {
	switch s.Trainer {
	case FMS:
		return []string{s.Python, "-m", "tuning.sft_trainer"}, nil
	case HF:
		return []string{s.Python, s.Script}, nil
	case Builtin:
		return []string{s.Self, BuiltinCommand}, nil
	}
	return Words(s.Trainer)
}

// launch returns the launcher's own part of the command.
func (s Start) launch(launcher, python string) (argv []string, portArg int, err error) {
	processes, port := strconv.Itoa(max(s.NumGPUs, 1)), strconv.Itoa(s.Port)
	argv = []string{beside(python, launcher)}
	if launcher == Torchrun {
		argv = append(argv, "--nproc_per_node", processes, "--master_port", port)
		return argv, len(argv) - 1, nil
	}
	argv = append(argv, "launch")
	switch {
	case s.AccelerateConfig != "":
		argv = append(argv, "--config_file", s.AccelerateConfig)
	case s.Trainer == FMS:
		return nil, 0, fmt.Errorf("accelerate needs a configuration file to start the trainer %s on %d GPUs"+
			" (give --accelerate-config FILE, or --launcher %s)", FMS, s.NumGPUs, Torchrun)
	}
	argv = append(argv, "--num_processes", processes, "--main_process_port", port)
	return argv, len(argv) - 1, nil
}

// beside returns the launcher of the interpreter's own environment: another one on
// PATH would run another Python.
func beside(python, launcher string) string {
	if !filepath.IsAbs(python) {
		return launcher
	}
	return filepath.Join(filepath.Dir(python), launcher)
}

// withFlags appends the settings, spelled as arguments.
func withFlags(argv []string, settings []experiment.Setting) ([]string, error) {
	words := 0
	for _, s := range settings {
		words += 1 + len(s.Values)
	}
	out := slices.Grow(argv, words)
	for _, s := range settings {
		flag := "--" + s.Name
		switch {
		case len(s.Values) == 1 && strings.HasPrefix(s.Values[0], "-"):
			out = append(out, flag+"="+s.Values[0])
		case len(s.Values) > 1 && slices.ContainsFunc(s.Values, looksLikeFlag):
			return nil, fmt.Errorf("%s: a list with a value that begins with a dash cannot be handed on (%q)", s.Name, s.Values)
		default:
			out = append(append(out, flag), s.Values...)
		}
	}
	return out, nil
}

// looksLikeFlag reports what Python's argparse takes for a flag and not for a value:
// everything with a dash in front but negative numbers. After --name= it takes
// anything, but only one value.
func looksLikeFlag(value string) bool {
	return strings.HasPrefix(value, "-") && !negativeNumber.MatchString(value)
}

var negativeNumber = regexp.MustCompile(`^-\d+$|^-\d*\.\d+$`)
