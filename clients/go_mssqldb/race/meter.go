package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// report is the line that a contestant prints.
type report struct {
	Rows       int     `json:"rows"`
	Seconds    float64 `json:"seconds"`
	CPUSeconds float64 `json:"cpu_seconds"`
	PeakBytes  uint64  `json:"peak_bytes"`
	StartBytes uint64  `json:"start_bytes"`
	Client     string  `json:"client"`
	Source     string  `json:"source,omitempty"`
	Checksum   string  `json:"checksum,omitempty"`
}

// meter is started right before the first call of the transfer.
type meter struct {
	started    time.Time
	cpu        time.Duration
	startBytes uint64
}

func startMeter() (*meter, error) {
	startBytes, err := peakBytes()
	if err != nil {
		return nil, err
	}
	cpu, err := cpuTime()
	if err != nil {
		return nil, err
	}
	return &meter{time.Now(), cpu, startBytes}, nil
}

func (meter *meter) stop(rows int) (*report, error) {
	seconds := time.Since(meter.started).Seconds()
	cpu, err := cpuTime()
	if err != nil {
		return nil, err
	}
	peak, err := peakBytes()
	if err != nil {
		return nil, err
	}
	return &report{
		Rows:       rows,
		Seconds:    seconds,
		CPUSeconds: (cpu - meter.cpu).Seconds(),
		PeakBytes:  peak,
		StartBytes: meter.startBytes,
		Client:     client(),
	}, nil
}

// cpuTime is the user and system time of all threads.
func cpuTime() (time.Duration, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, err
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}

// peakBytes is the largest resident set so far.
func peakBytes() (uint64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if value, found := strings.CutPrefix(line, "VmHWM:"); found {
			kibibytes, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return kibibytes * 1024, err
		}
	}
	return 0, fmt.Errorf("no VmHWM in /proc/self/status")
}
