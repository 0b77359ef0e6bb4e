/* A library with the functions and layouts of NVML that the tests need, and no GPU.
 *
 * What it does is chosen by environment variables that are read in nvmlInit:
 *   FAKE_DEVICES=n        GPUs (1)
 *   FAKE_DELAY_US=n       each call takes that long on a processor (0)
 *   FAKE_INIT=code        answer of nvmlInit (0)
 *   FAKE_HANG_INIT=1      nvmlInit never returns
 *   FAKE_MEMORY=code      answer of the memory calls of a GPU (0)
 *   FAKE_ALL=code         answer of every call of a device but handle, name and UUID (0)
 *   FAKE_V2=code          answer of nvmlDeviceGetMemoryInfo_v2 (0)
 *   FAKE_SENTINEL=1       used memory is all ones, and so is that of the second process
 *   FAKE_WSL=1            no process's memory is known
 *   FAKE_TOTAL0=1         a device has no memory at all, and nothing in use
 *   FAKE_HANG_AT=n        the n-th memory call never returns
 *   FAKE_ABORT_AT=n       the n-th memory call aborts the process
 *   FAKE_ONCE=path        hang and abort only where this file is not there; it is made then
 *   FAKE_LOST_AT=n        from its n-th memory call on, device 1 is lost
 *   FAKE_SPIKE_AT=n       the n-th memory call of each device says 31503 MiB more
 *   FAKE_PAUSE_AT=n       the n-th memory call takes 300 ms
 *   FAKE_PROCESSES=n      processes on each device (0); pids 1000, 1001, ...
 *   FAKE_STRIDE=n         bytes between entries of a list of processes (24)
 *   FAKE_MIG=1            GPU 0 is cut into two slices
 * With -DOLD it lacks what drivers before R450 lack.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

typedef struct { int gpu, slice, calls; } dev; /* slice: 0 none, 1.. */
static dev gpus[16], slices[2];
static int devices, delay, all, memory, v2, sentinel, hang, crash, lost, spike, pause_at, processes, stride, mig, wsl, none, total;
static long look; /* ns */

#define MIB 1048576ULL
#define RESERVED 644939776ULL

static int env(const char *name, int otherwise) {
  const char *v = getenv(name);
  return v && *v ? atoi(v) : otherwise;
}

static long since(struct timespec a, struct timespec b) {
  return (b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec;
}

/* calibrate measures what looking at the clock costs. */
static void calibrate(void) {
  struct timespec a, b;
  clock_gettime(CLOCK_MONOTONIC, &a);
  for (int i = 0; i < 1000; i++) clock_gettime(CLOCK_MONOTONIC, &b);
  look = since(a, b) / 1000;
}

/* spin takes the delay as a whole: the first and the last look at the clock, of which each
 * lies halfway outside of what they measure, are part of it. */
static void spin(void) {
  if (!delay) return;
  struct timespec a, b;
  clock_gettime(CLOCK_MONOTONIC, &a);
  do clock_gettime(CLOCK_MONOTONIC, &b);
  while (since(a, b) + look < delay * 1000L);
}

static void forever(void) { for (;;) sleep(1000); }

int nvmlInit_v2(void) {
  devices = env("FAKE_DEVICES", 1); delay = env("FAKE_DELAY_US", 0); all = env("FAKE_ALL", 0);
  memory = env("FAKE_MEMORY", 0); v2 = env("FAKE_V2", 0); sentinel = env("FAKE_SENTINEL", 0);
  hang = env("FAKE_HANG_AT", 0); crash = env("FAKE_ABORT_AT", 0); lost = env("FAKE_LOST_AT", 0);
  spike = env("FAKE_SPIKE_AT", 0); pause_at = env("FAKE_PAUSE_AT", 0);
  processes = env("FAKE_PROCESSES", 0); stride = env("FAKE_STRIDE", 24); mig = env("FAKE_MIG", 0);
  wsl = env("FAKE_WSL", 0); none = env("FAKE_TOTAL0", 0);
  calibrate();
  for (int i = 0; i < 16; i++) gpus[i].gpu = i;
  for (int i = 0; i < 2; i++) slices[i].slice = i + 1;
  if (env("FAKE_HANG_INIT", 0)) forever();
  return env("FAKE_INIT", 0);
}
int nvmlShutdown(void) { return 0; }
int nvmlSystemGetDriverVersion(char *s, unsigned n) { snprintf(s, n, "580.65.06"); return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = devices; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, dev **d) {
  if ((int)i >= devices) return 2;
  *d = &gpus[i];
  return 0;
}
int nvmlDeviceGetUUID(dev *d, char *s, unsigned n) {
  if (d->slice) snprintf(s, n, "MIG-1f2e3d4c-0000-5111-9222-00000000000%d", d->slice);
  else snprintf(s, n, "GPU-8f1e2d3c-0000-4111-8222-%012d", d->gpu);
  return 0;
}
int nvmlDeviceGetHandleByUUID(const char *uuid, dev **d) {
  char own[96];
  for (int i = 0; i < devices + 2 * mig; i++) {
    dev *x = i < devices ? &gpus[i] : &slices[i - devices];
    nvmlDeviceGetUUID(x, own, sizeof own);
    if (!strcmp(own, uuid)) { *d = x; return 0; }
  }
  return 6;
}
int nvmlDeviceGetIndex(dev *d, unsigned *i) { *i = d->gpu; return d->slice ? 3 : 0; }
int nvmlDeviceGetName(dev *d, char *s, unsigned n) {
  snprintf(s, n, d->slice ? "NVIDIA H200 MIG 1g.18gb" : "NVIDIA H200");
  return 0;
}
int nvmlDeviceGetPciInfo_v3(dev *d, char *info) {
  memset(info, 0, 68);
  snprintf(info, 16, "0000:%02x:00.0", d->gpu);
  snprintf(info + 36, 32, "00000000:%02X:00.0", d->gpu + 0x41);
  return 0;
}

/* meant tells whether the fault is to happen: with FAKE_ONCE in one process only. */
static int meant(void) {
  const char *once = getenv("FAKE_ONCE");
  return !once || !*once || open(once, O_CREAT | O_EXCL, 0600) >= 0;
}

/* level gives the bytes in use without the reserve. */
static int level(dev *d, uint64_t *used) {
  spin();
  d->calls++;
  total++;
  if (total == hang && meant()) forever();
  if (total == crash && meant()) abort();
  if (total == pause_at) usleep(300000);
  if (all) return all;
  if (memory && !d->slice) return memory;
  if (lost && d->gpu == 1 && d->calls >= lost) return 15;
  *used = (100ULL * (d->gpu + 1) + 7 * d->slice) * MIB + 12345;
  if (spike && d->calls == spike) *used += 31503 * MIB;
  if (sentinel) *used = ~0ULL;
  return 0;
}
int nvmlDeviceGetMemoryInfo(dev *d, uint64_t *m) {
  uint64_t used = 0;
  int c = level(d, &used);
  if (c) return c;
  m[0] = 143771 * MIB;
  m[2] = sentinel ? used : used + RESERVED;
  if (none) m[0] = m[2] = 0;
  m[1] = m[0] - m[2];
  return 0;
}

static int list(dev *d, unsigned *n, unsigned char *out, int have) {
  spin();
  if (all) return all;
  if (*n < (unsigned)have) { *n = have; return 7; }
  *n = have;
  for (int i = 0; i < have; i++) {
    unsigned char *e = out + i * stride;
    uint32_t pid = 1000 + i, no_slice = 0xffffffff;
    uint64_t used = wsl || (sentinel && i == 1) ? ~0ULL : (50ULL + 10 * i) * MIB, zero = 0;
    memcpy(e, &pid, 4);
    memcpy(e + 8, &used, 8);
    if (stride >= 24) { memcpy(e + 16, &no_slice, 4); memcpy(e + 20, &no_slice, 4); }
    if (stride >= 32) memcpy(e + 24, &zero, 8);
  }
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses(dev *d, unsigned *n, void *p) { return list(d, n, p, processes); }
int nvmlDeviceGetGraphicsRunningProcesses(dev *d, unsigned *n, void *p) { return list(d, n, p, processes ? 1 : 0); }
int nvmlDeviceGetUtilizationRates(dev *d, unsigned *u) { u[0] = 97; u[1] = 41; return d->slice ? 3 : all; }
int nvmlDeviceGetPowerUsage(dev *d, unsigned *p) { *p = 692500; return all; }
int nvmlDeviceGetClockInfo(dev *d, unsigned t, unsigned *c) { *c = t == 1 ? 1980 : t == 2 ? 3201 : 1; return all; }
int nvmlDeviceGetCurrentClocksThrottleReasons(dev *d, uint64_t *r) { *r = 0x4; return all; }
int nvmlDeviceGetComputeMode(dev *d, unsigned *m) { *m = 3; return all; }

#ifndef OLD
int nvmlDeviceGetMemoryInfo_v2(dev *d, uint64_t *m) {
  uint64_t used = 0;
  if (*(uint32_t *)m != (40 | 2 << 24)) return 25;
  if (v2) return v2;
  int c = level(d, &used);
  if (c) return c;
  m[1] = 143771 * MIB; m[2] = RESERVED; m[4] = used;
  if (none) m[1] = m[2] = m[4] = 0;
  m[3] = m[1] - m[2] - m[4];
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(dev *d, unsigned *n, void *p) { return list(d, n, p, processes); }
int nvmlDeviceGetGraphicsRunningProcesses_v3(dev *d, unsigned *n, void *p) { return list(d, n, p, processes ? 1 : 0); }
int nvmlDeviceGetCurrentClocksEventReasons(dev *d, uint64_t *r) { *r = 0x24 | 1ULL << 40; return all; }
int nvmlDeviceGetTotalEnergyConsumption(dev *d, unsigned long long *e) {
  static unsigned long long counter = 5000000;
  *e = counter += 1250;
  return d->slice ? 3 : all;
}
int nvmlDeviceGetMigMode(dev *d, unsigned *now, unsigned *pending) {
  *now = *pending = mig && d->gpu == 0;
  return all;
}
int nvmlDeviceGetMaxMigDeviceCount(dev *d, unsigned *n) { *n = 7; return all; }
int nvmlDeviceGetMigDeviceHandleByIndex(dev *d, unsigned i, dev **s) {
  if (!mig || d->gpu || i > 3 || i % 2) return 6; /* places 0 and 2 are taken */
  *s = &slices[i / 2];
  return 0;
}
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(dev *d, dev **g) {
  if (!d->slice) return 2;
  *g = &gpus[0];
  return 0;
}
#endif

/* fake_floor returns the nanoseconds of processor time that a loop takes which only sleeps
 * for the interval and makes the calls for memory: what no sampler can do with less. */
long fake_floor(int n, int delay_us, int interval_us, int samples) {
  uint64_t m[5];
  struct timespec due, before, after;
  devices = n; delay = delay_us;
  calibrate();
  prctl(PR_SET_TIMERSLACK, 1);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
  clock_gettime(CLOCK_MONOTONIC, &due);
  for (int i = 0; i < samples; i++) {
    for (int k = 0; k < n; k++) nvmlDeviceGetMemoryInfo(&gpus[k], m);
    due.tv_nsec += interval_us * 1000L;
    due.tv_sec += due.tv_nsec / 1000000000L;
    due.tv_nsec %= 1000000000L;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, 0);
  }
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
  return since(before, after);
}
