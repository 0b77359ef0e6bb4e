package host

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFreeDiskOfAFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if free, err := FreeDisk(dir); free <= 0 || err != nil {
		t.Errorf("%d, %v", free, err)
	}
	if _, err := FreeDisk(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not there has free space")
	}
}

func TestDeviceFilesCountsOnlyGPUs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"nvidia0", "nvidia12", "nvidiactl", "nvidia-uvm", "nvidia0x", "null", "nvidia"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := deviceFiles(dir); n != 2 || err != nil {
		t.Errorf("%d, %v; want 2", n, err)
	}
	if _, err := deviceFiles(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not there was counted")
	}
}
