package outcome

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/unit"
)

func exit(code int) Ending { return Ending{ExitCode: &code} }

func size(b unit.Bytes) *unit.Bytes { return &b }

func number(n int) *int { return &n }

// trace is a traceback that ends in the exception.
func trace(exception string) string {
	return "Traceback (most recent call last):\n  File \"/opt/job/fit.py\", line 7, in <module>\n    main()\n" + exception + "\n"
}

// behind puts a prefix before each line.
func behind(prefix, text string) string {
	return prefix + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+prefix) + "\n"
}

const (
	full = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 39.50 GiB of which 121.25 MiB is free."

	advice = "RuntimeError: CUDA error: out of memory\n" +
		"Kernel errors may be reported later, at another call.\nTry CUDA_LAUNCH_BLOCKING=1.\n\n"

	elastic = "E0321 10:00:00.000000 4242 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -9) local_rank: 1 (pid: 4300) of binary: /opt/py/bin/python\n" +
		"Traceback (most recent call last):\n  File \"/opt/py/bin/accelerate\", line 8, in <module>\n    sys.exit(main())\n" +
		"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n" +
		"============================================================\nfit FAILED\n" +
		"------------------------------------------------------------\nFailures:\n  <NO_OTHER_FAILURES>\n" +
		"------------------------------------------------------------\nRoot Cause (first observed failure):\n[0]:\n" +
		"  time      : 2025-03-21_10:00:00\n  rank      : 1 (local_rank: 1)\n  exitcode  : -9 (pid: 4300)\n" +
		"  error_file: <N/A>\n  traceback : Signal 9 (SIGKILL) received by PID 4300\n" +
		"============================================================\n"

	watchdog = "[rank2]:[E321 10:20:30.123456789 ProcessGroupNCCL.cpp:684] [Rank 2] Some NCCL operations have failed or timed out.\n" +
		"terminate called after throwing an instance of 'c10::DistBackendError'\n" +
		"  what():  [PG ID 0 PG GUID 0(default_pg) Rank 2] Process group watchdog thread terminated with exception: [Rank 2] Watchdog caught collective operation timeout: " +
		"WorkNCCL(SeqNum=9, OpType=BROADCAST, NumelIn=64, NumelOut=64, Timeout(ms)=1800000) ran for 1800042 milliseconds before timing out.\n"

	direct = "\nThe above exception was the direct cause of the following exception:\n\n"
	during = "\nDuring handling of the above exception, another exception occurred:\n\n"

	shards = "Loading checkpoint shards:  43%|####3     | 3/7 [00:31<00:41, 10.20s/it]"
	newBar = "  0%|          | 0/10 [00:00<?, ?it/s]"
	goneOn = "\r 10%|#         | 1/10 [00:01<00:09,  1.0s/it]\r 20%|##        | 2/10 [00:02<00:08,  1.0s/it]\r 30%|###       | 3/10 [00:03<00:07,  1.0s/it]\n"
)

func TestWhatALogSaysOfAFailure(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		log    string
		ending Ending
		want   Status
		reason string // a part of it
		ranks  []int
	}{
		{"out of memory, in the words of torch today", trace(full), exit(1), OOM, "Tried to allocate 512.00 MiB", nil},
		{"out of memory, in the words of torch 2.0", trace("torch.cuda.OutOfMemoryError: CUDA out of memory."), exit(1), OOM, "torch.cuda.OutOfMemoryError", nil},
		{"out of memory, without a module", trace("OutOfMemoryError: CUDA out of memory."), exit(1), OOM, "OutOfMemoryError", nil},
		{"out of memory, in TorchScript", trace("RuntimeError: The following operation failed.\nCUDA out of memory. Tried to allocate 2.00 GiB"), exit(1), OOM, "2.00 GiB", nil},
		{"an error of the runtime with advice", trace(advice), exit(1), OOM, "CUDA error: out of memory", nil},
		{"the newer class of that error", trace("torch.AcceleratorError: CUDA error: out of memory"), exit(1), OOM, "AcceleratorError", nil},
		{"a library's status", trace("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), exit(1), OOM, "CUBLAS", nil},
		{"an AMD device", trace("torch.OutOfMemoryError: HIP out of memory. Tried to allocate 1.00 GiB."), exit(1), OOM, "HIP", nil},
		{"an Apple device", trace("RuntimeError: MPS backend out of memory (MPS allocated: 17.50 GB, other allocations: 1.00 KB, max allowed: 18.00 GB). Tried to allocate 1.00 GB on private pool."), exit(1), OOM, "MPS", nil},
		{"XLA on a device", trace("jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1073741824 bytes."), exit(1), OOM, "RESOURCE_EXHAUSTED", nil},
		{"NCCL that finds no memory", trace("torch.distributed.DistBackendError: NCCL error\nLast error:\nCuda failure 2 'out of memory'"), exit(1), OOM, "Cuda failure 2", nil},
		{"an exception without its traceback", "some text\n" + full + "\n", exit(1), OOM, "CUDA out of memory", nil},
		{"colours around it", "\x1b[31m" + trace(full) + "\x1b[0m", exit(1), OOM, "CUDA out of memory", nil},
		{"a bar glued to it", newBar + trace(full) + "\n" + newBar + "\n", exit(1), OOM, "CUDA out of memory", nil},
		{"lines that end as on Windows", strings.ReplaceAll(trace(full), "\n", "\r\n"), exit(1), OOM, "CUDA out of memory", nil},
		{"two ranks with marks", behind("[rank0]: ", trace(full)) + behind("[rank1]: ", trace(strings.Replace(full, "512", "640", 1))), exit(1), OOM, "512.00", []int{0, 1}},
		{"marks behind task numbers", behind("0: [rank3]: ", trace(full)), exit(1), OOM, "512.00", []int{3}},
		{"marks without a blank, behind a host", behind("node-2: [rank11]:", trace(full)), exit(1), OOM, "512.00", []int{11}},
		{"torchrun's own mark", behind("[default1]:", trace(full)), exit(1), OOM, "512.00", []int{1}},
		{"mpirun's mark", behind("[1,0]<stderr>: ", trace(full)), exit(1), OOM, "512.00", nil},
		{"a host's name before each line", behind("worker: ", trace(full)), exit(1), OOM, "512.00", nil},
		{"lines of two ranks mixed", "[rank0]: Traceback (most recent call last):\n[rank1]: Traceback (most recent call last):\n[rank0]:   File \"a\"\n[rank1]:   File \"a\"\n[rank1]: ValueError: no\n[rank0]: " + full + "\n", exit(1), OOM, "512.00", []int{0}},
		{"torch elastic tells what its child left", strings.Replace(strings.ReplaceAll(elastic, "-9", "1"), "Signal 9 (SIGKILL) received by PID 4300", strings.ReplaceAll(trace(full), "\n", "\n  "), 1), exit(1), OOM, "512.00", []int{1}},
		{"one rank out of memory, another timed out", behind("[rank0]: ", trace(full)) + watchdog, Ending{Signal: "SIGABRT"}, OOM, "512.00", []int{0}},
		{"out of memory and then killed by its launcher", behind("[rank0]: ", trace(full)) + elastic, exit(1), OOM, "512.00", []int{0}},
		{"a wrapper is the last error, directly caused", trace("torch.OutOfMemoryError: CUDA out of memory.") + direct + trace("RuntimeError: run_func_ failed in container runner"), exit(1), OOM, "torch.OutOfMemoryError", nil},
		{"a wrapper is the last error, while handling", trace("torch.OutOfMemoryError: CUDA out of memory.") + during + trace("RuntimeError: run_func_ failed in container runner"), exit(1), OOM, "torch.OutOfMemoryError", nil},
		{"the device runs out while something else is handled", trace("ValueError: no") + during + trace(full), exit(1), OOM, "512.00", nil},

		{"got over, then another failure", trace(full) + goneOn + trace("ValueError: bad shape"), exit(1), Error, "exit 1: ValueError: bad shape", nil},
		{"got over, then a crash", trace(full) + goneOn, Ending{Signal: "SIGSEGV"}, Signal, "SIGSEGV", nil},
		{"a sentence about memory is no failure", "If CUDA runs out of memory, use a smaller batch (see CUDA out of memory).\n" + trace("ValueError: no"), exit(1), Error, "ValueError: no", nil},

		{"Python's own MemoryError", trace("MemoryError"), exit(1), HostMemory, "MemoryError", nil},
		{"numpy's", trace("numpy._core._exceptions._ArrayMemoryError: Unable to allocate 7.45 GiB for an array"), exit(1), HostMemory, "7.45 GiB", nil},
		{"torch's allocator on the host", trace("RuntimeError: [enforce fail at alloc_cpu.cpp:114] . DefaultCPUAllocator: can't allocate memory: you tried to allocate 17179869184 bytes. Error code 12 (Cannot allocate memory)"), exit(1), HostMemory, "DefaultCPUAllocator", nil},
		{"the system's", trace("OSError: [Errno 12] Cannot allocate memory"), exit(1), HostMemory, "Errno 12", nil},
		{"C++'s", "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n", Ending{Signal: "SIGABRT"}, HostMemory, "bad_alloc", nil},
		{"Go's", "fatal error: runtime: out of memory: cannot allocate 8192-byte block\n", exit(2), HostMemory, "8192-byte", nil},
		{"XLA's on the host", trace("XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 800000000000 bytes."), exit(1), HostMemory, "RESOURCE", nil},
		{"Slurm's", "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed.\n", Ending{Signal: "SIGKILL"}, HostMemory, "oom_kill", nil},
		{"a loader's thread-local storage is none", trace("ImportError: libx.so: cannot allocate memory in static TLS block"), exit(1), Error, "TLS", nil},

		{"a child killed under a launcher", shards + elastic, exit(1), Killed, "rank 1 was ended by SIGKILL (signal 9), possibly host memory", []int{1}},
		{"a child killed under accelerate on one device", trace("subprocess.CalledProcessError: Command '['python', 'fit.py']' died with <Signals.SIGKILL: 9>."), exit(1), Killed, "a child was ended by SIGKILL (signal 9), possibly host memory", nil},
		{"a child killed under DeepSpeed", "[2025-03-21 10:00:00,000] [ERROR] [launch.py:325:sigkill_handler] ['python', 'fit.py'] exits with return code = -9\n", exit(247), Killed, "possibly host memory", nil},
		{"a worker of a data loader killed", trace("RuntimeError: DataLoader worker (pid 4301) is killed by signal: Killed. "), exit(1), Killed, "possibly host memory", nil},
		{"the ranks that are left time out after a kill", watchdog + elastic, exit(1), Killed, "rank 1", []int{1}},
		{"killed itself", "", Ending{Signal: "SIGKILL"}, Killed, "possibly host memory", nil},
		{"killed below a shell", "", exit(137), Killed, "exit 137: SIGKILL (signal 9), possibly host memory", nil},
		{"killed by the kernel, as its cgroup says", "", Ending{Signal: "SIGKILL", OOMKills: 1}, HostMemory, "want of host memory", nil},
		{"a child killed by the kernel, as the cgroup says", elastic, Ending{ExitCode: number(1), OOMKills: 2}, HostMemory, "killed 2", []int{1}},

		{"the watchdog ends it", watchdog, Ending{Signal: "SIGABRT"}, NCCLTimeout, "Watchdog caught collective operation timeout", []int{2}},
		{"the watchdog ends it, behind a code of Python's", watchdog, exit(-6), NCCLTimeout, "BROADCAST", []int{2}},
		{"Gloo's timeout", trace("RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms for recv operation to complete"), exit(1), NCCLTimeout, "recv", nil},
		{"another rank's own exception came before", behind("[rank0]: ", trace("ValueError: no")) + watchdog, Ending{Signal: "SIGABRT"}, Error, "ValueError: no", []int{0}},
		{"another rank's lost connection is no cause", behind("[rank0]: ", trace("RuntimeError: Connection closed by peer")) + watchdog, Ending{Signal: "SIGABRT"}, NCCLTimeout, "BROADCAST", []int{2}},

		{"arguments refused", "usage: fit.py [-h] [--r R]\nfit.py: error: unrecognized arguments: --lora_alhpa 16\n", exit(2), Usage, "fit.py: error: unrecognized arguments: --lora_alhpa 16", nil},
		{"arguments refused in a child", "usage: fit.py [-h]\n           [--r R]\nfit.py: error: argument --r: invalid int value: 'x'\n" + strings.ReplaceAll(elastic, "-9", "2"), exit(1), Usage, "invalid int", []int{1}},
		{"arguments refused by the Trainer's parser", trace("ValueError: Some specified arguments are not used by the HfArgumentParser: ['--lora_alhpa', '16']"), exit(1), Usage, "lora_alhpa", nil},
		{"arguments refused by click", "Usage: fit [OPTIONS]\nTry 'fit --help' for help.\n\nError: No such option: --nope\n", exit(2), Usage, "No such option", nil},

		{"a port in use, as torch says", trace("torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 29500, code: -98, name: EADDRINUSE, message: address already in use"), exit(1), Port, "29500", nil},
		{"a port in use, as Python says", trace("OSError: [Errno 98] Address already in use"), exit(1), Port, "Errno 98", nil},
		{"a port in use, as accelerate says", trace("ConnectionError: Tried to launch distributed communication on port `29500`, but another process is utilizing it. Please specify a different port"), exit(1), Port, "29500", nil},
		{"a port in use, without an exception", "[E socket.cpp:957] [c10d] The server socket has failed to listen on any local network address.\n", exit(1), Port, "server socket", nil},
		{"a port that was tried first is no cause", "[W socket.cpp:436] [c10d] The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).\n" + trace("KeyError: 'x'"), exit(1), Error, "KeyError", nil},

		{"a crash", "", Ending{Signal: "SIGSEGV"}, Signal, "SIGSEGV", nil},
		{"a crash below a shell", "Fatal Python error: Segmentation fault\n", exit(139), Signal, "SIGSEGV: Fatal Python error", nil},
		{"a crash of a child", strings.ReplaceAll(elastic, "-9", "-11"), exit(1), Signal, "rank 1 was ended by SIGSEGV", []int{1}},
		{"a child that its launcher ended tells less than an exception", behind("[rank0]: ", trace("ValueError: no")) + strings.ReplaceAll(elastic, "-9", "-15"), exit(1), Error, "ValueError: no", []int{0}},

		{"an exception of no kind", trace("KeyError: 'x'"), exit(1), Error, "exit 1: KeyError: 'x'", nil},
		{"of several exceptions the last", trace("ImportError: optional") + "\nwent on\n" + trace("KeyError: 'x'"), exit(1), Error, "KeyError", nil},
		{"of several ranks the first", behind("[rank1]: ", trace("KeyError: 'x'")) + behind("[rank0]: ", trace("RuntimeError: Broken pipe")), exit(1), Error, "KeyError", []int{0, 1}},
		{"a launcher that says only which rank it was", strings.ReplaceAll(elastic, "-9", "1"), exit(1), Error, "exit 1: rank 1 ended with exit 1", []int{1}},
		{"an exit code of its own", "", exit(255), Error, "exit 255", nil},
		{"a launcher that is not there, behind a shell", "bash: line 1: no-such-launcher: command not found\n", exit(127), Error, "exit 127: bash: line 1: no-such-launcher: command not found", nil},
		{"nobody knows how it ended", "", Ending{}, Error, "not known", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := Judge(Evidence{Ending: test.ending, Logs: ScanLogs(strings.NewReader(test.log))})
			if got.Status != test.want || !strings.Contains(got.Reason, test.reason) {
				t.Errorf("%s, %q; want %s, %q", got.Status, got.Reason, test.want, test.reason)
			}
			if diff := cmp.Diff(test.ranks, got.Ranks); diff != "" {
				t.Errorf("ranks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheExitHasTheFirstWord(t *testing.T) {
	t.Parallel()
	recovered := []string{"out-of-memory text in the log; the batch size may differ from what was asked"}
	tests := []struct {
		name    string
		log     string
		ending  Ending
		metrics bool
		want    Outcome
	}{
		{"exit 0 and metrics", "", exit(0), true, Outcome{Status: OK}},
		{"exit 0 and metrics, after an exception", trace("ConnectionError: no hub"), exit(0), true, Outcome{Status: OK}},
		{"exit 0 and metrics, after an out-of-memory error", trace(full) + goneOn, exit(0), true, Outcome{Status: OK, Notes: recovered}},
		{"exit 0 and metrics, the kernel killed some worker", "", Ending{ExitCode: number(0), OOMKills: 1}, true,
			Outcome{Status: OK, Notes: []string{"the kernel killed 1 process(es) of its cgroup for want of host memory"}}},
		{"exit 0 without metrics", "", exit(0), false, Outcome{Status: NoMetrics, Reason: "exit 0 without final metrics"}},
		{"exit 0 without metrics, and some text", "done\n", exit(0), false,
			Outcome{Status: NoMetrics, Reason: "exit 0 without final metrics: done", ErrorMessages: "done"}},
		{"an error after the metrics", "ERROR: Could not consume arg: c_proj\n", exit(2), true,
			Outcome{Status: Error, Reason: "exit 2 after final metrics: ERROR: Could not consume arg: c_proj", ErrorMessages: "ERROR: Could not consume arg: c_proj"}},
		{"out of memory after the metrics", full + "\n", exit(1), true,
			Outcome{Status: Error, Reason: "exit 1 after final metrics: " + full, ErrorMessages: full, Notes: recovered}},
		{"a double free after the metrics", "double free or corruption (!prev)\n", Ending{Signal: "SIGABRT"}, true,
			Outcome{Status: Signal, Reason: "SIGABRT after final metrics: double free or corruption (!prev)", ErrorMessages: "double free or corruption (!prev)"}},
		{"a kill after the metrics", "", exit(137), true,
			Outcome{Status: Killed, Reason: "exit 137: SIGKILL (signal 9) after final metrics, possibly host memory"}},
		{"it could not be started", full, Ending{StartError: `exec: "no-such-launcher": executable file not found in $PATH`}, false,
			Outcome{Status: Error, Reason: `command not found: exec: "no-such-launcher": executable file not found in $PATH`,
				ErrorMessages: `exec: "no-such-launcher": executable file not found in $PATH`}},
		{"it could not be started for another reason", "", Ending{StartError: "permission denied"}, false,
			Outcome{Status: Error, Reason: "permission denied", ErrorMessages: "permission denied"}},
		{"ended at its time limit, whatever the log says", trace("MemoryError"), Ending{Signal: "SIGTERM", Stopped: StoppedTimeout, StopDetail: "2h0m0s"}, false,
			Outcome{Status: Timeout, Reason: "ended at its time limit: 2h0m0s", ErrorMessages: strings.TrimSpace(trace("MemoryError")), Notes: []string{"the log says: MemoryError"}}},
		{"ended while nothing moved", "", Ending{Signal: "SIGKILL", Stopped: StoppedStall}, false,
			Outcome{Status: Timeout, Reason: "ended, since nothing moved any more"}},
		{"interrupted, and it went with exit 0", "", Ending{ExitCode: number(0), Stopped: StoppedInterrupted}, true,
			Outcome{Status: Interrupted, Reason: "interrupted by the user"}},
		{"ended at its limit of host memory", "", Ending{Signal: "SIGKILL", Stopped: StoppedHostMemory, StopDetail: "90.0 GiB of 80.0 GiB"}, false,
			Outcome{Status: HostMemory, Reason: "ended at its limit of host memory: 90.0 GiB of 80.0 GiB"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := Judge(Evidence{Ending: test.ending, MetricsFound: test.metrics, Logs: ScanLogs(nil, strings.NewReader(test.log))})
			test.want.Ending = test.ending
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheTextIsKeptWhole(t *testing.T) {
	t.Parallel()
	cause := trace("torch.OutOfMemoryError: CUDA out of memory.")
	wrapper := trace("RuntimeError: run_func_ failed in container runner")
	tests := []struct {
		name, log, want string
		chain           []string
	}{
		{"a message of several lines", trace(advice) + "later text\n", strings.TrimSpace(trace(advice)), nil},
		{"without the marks of a rank", behind("0: [rank1]: ", trace(advice)), strings.TrimSpace(trace(advice)), nil},
		{"a chain in its order", "x\n" + cause + direct + wrapper, strings.TrimSpace(cause + direct + wrapper),
			[]string{"torch.OutOfMemoryError: CUDA out of memory.", "RuntimeError: run_func_ failed in container runner"}},
		{"a chain with marks", behind("[rank0]: ", cause+during+wrapper), strings.TrimSpace(cause + during + wrapper),
			[]string{"torch.OutOfMemoryError: CUDA out of memory.", "RuntimeError: run_func_ failed in container runner"}},
		{"without the bar before it", newBar + trace(full), strings.TrimSpace(trace(full)), nil},
		{"two ranks that say the same", behind("[rank0]: ", trace(full)) + behind("[rank1]: ", trace(full)), strings.TrimSpace(trace(full)), nil},
		{"bytes that are no text", trace("torch.OutOfMemoryError: CUDA out of memory. caf\xe9") + "\n\xe2\x96",
			strings.TrimSpace(trace("torch.OutOfMemoryError: CUDA out of memory. caf\uFFFD")), nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := Judge(Evidence{Ending: exit(1), Logs: ScanLogs(strings.NewReader(test.log))})
			if diff := cmp.Diff(test.want, got.ErrorMessages); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.chain, got.Chain); diff != "" {
				t.Errorf("chain (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAVeryLongTextIsCutWithASentence(t *testing.T) {
	t.Parallel()
	frames := strings.Repeat("  File \"/opt/job/fit.py\", line 7, in again\n", 20000)
	log := strings.Replace(trace(full), "    main()\n", frames, 1)
	got := Judge(Evidence{Ending: exit(1), Logs: ScanLogs(strings.NewReader(log))})
	if got.Status != OOM || len(got.ErrorMessages) > maxText {
		t.Errorf("%s, %d bytes", got.Status, len(got.ErrorMessages))
	}
	if !strings.HasPrefix(got.ErrorMessages, "Traceback") || !strings.HasSuffix(got.ErrorMessages, full) {
		t.Error("head or tail is gone")
	}
	if !strings.Contains(got.ErrorMessages, "[tunebench cut ") {
		t.Error("nothing says that it was cut")
	}
}

func TestTheFiguresOfAnAllocator(t *testing.T) {
	t.Parallel()
	mib := func(n float64) *unit.Bytes { return size(unit.Bytes(n * float64(unit.MiB))) }
	tests := []struct {
		name, message string
		want          *OutOfMemory
	}{
		{"torch today", full, &OutOfMemory{Requested: mib(512), Device: number(0), Total: mib(39.5 * 1024), Free: mib(121.25)}},
		{"torch with all it knows", full + " Including non-PyTorch memory, this process has 39.25 GiB memory in use. Of the allocated memory 36.00 GiB is allocated by PyTorch, with 44.00 MiB allocated in private pools (e.g., CUDA Graphs), and 1.50 GiB is reserved by PyTorch but unallocated.",
			&OutOfMemory{Requested: mib(512), Device: number(0), Total: mib(39.5 * 1024), Free: mib(121.25), InUse: mib(39.25 * 1024), Allocated: mib(36 * 1024), Reserved: mib(1536)}},
		{"torch of old", "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 3; 10.00 GiB total capacity; 8.00 GiB already allocated; 16.00 MiB free; 9.00 GiB reserved in total by PyTorch)",
			&OutOfMemory{Requested: mib(20), Device: number(3), Total: mib(10240), Free: mib(16), Allocated: mib(8192), Reserved: mib(1024)}},
		{"an Apple device", "RuntimeError: MPS backend out of memory (MPS allocated: 17.50 GB, other allocations: 1.00 KB, max allowed: 18.00 GB). Tried to allocate 1.00 GB on private pool.",
			&OutOfMemory{Requested: mib(1024), Allocated: mib(17920)}},
		{"bytes", "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1048576 bytes.", &OutOfMemory{Requested: mib(1)}},
		{"none", "RuntimeError: CUDA error: out of memory", nil},
		{"an amount that is none", "CUDA out of memory. Tried to allocate 1.2.3 GiB", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, figures(test.message)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheCollectiveThatTimedOut(t *testing.T) {
	t.Parallel()
	got := Judge(Evidence{Ending: exit(-6), Logs: ScanLogs(strings.NewReader(watchdog))})
	if diff := cmp.Diff(&Collective{Operation: "BROADCAST", TimeoutMS: 1800000}, got.Collective); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheRecordings(t *testing.T) {
	t.Parallel()
	const root = "../../../shared/recorded/h200"
	if _, err := os.Stat(root); err != nil {
		t.Skipf("the recorded runs are not here: %v", err)
	}
	read := func(name string, code int) Outcome {
		log, err := os.Open(filepath.Join(root, name, "stderr"))
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		return Judge(Evidence{Ending: exit(code), MetricsFound: code == 0, Logs: ScanLogs(log)})
	}
	gib := func(n float64) *unit.Bytes { return size(unit.Bytes(math.Round(n * float64(unit.GiB)))) }
	oom := read("exp_2", 1)
	want := &OutOfMemory{Requested: gib(31.25), Device: number(0), Total: gib(139.80), Free: gib(24.77), InUse: gib(115.02), Allocated: gib(99.23), Reserved: gib(15.12)}
	if diff := cmp.Diff(want, oom.OutOfMemory); diff != "" || oom.Status != OOM {
		t.Errorf("exp_2 is %s (-want +got):\n%s", oom.Status, diff)
	}
	if usage := read("exp_5", 2); usage.Status != Usage || usage.Reason != "train.py: error: unrecognized arguments: --nope" {
		t.Errorf("exp_5 is %s: %s", usage.Status, usage.Reason)
	}
	for _, name := range []string{"exp_0", "exp_1", "exp_3", "exp_4"} {
		if got := read(name, 0); got.Status != OK || got.ErrorMessages != "" || got.Notes != nil {
			t.Errorf("%s is %+v", name, got)
		}
	}
}
