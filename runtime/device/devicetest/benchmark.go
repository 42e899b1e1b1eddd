package devicetest

import (
	"testing"

	"tlruntime/runtime/device"
)

// Benchmark times taking and returning 4096 bytes, in the order of a stream too
// where the device has that, and copies of 1 MiB.
func Benchmark(b *testing.B, d device.Device) {
	b.Run("4096B", func(b *testing.B) {
		for b.Loop() {
			block, err := d.Allocate(4096)
			if err != nil {
				b.Fatal(err)
			}
			if err := d.Deallocate(block, 4096); err != nil {
				b.Fatal(err)
			}
		}
	})
	if s, ok := d.(device.Streams); ok && d.Info().StreamOrdered {
		b.Run("4096B/stream", func(b *testing.B) { benchmarkStream(b, s) })
	}
	b.Run("FromHost1MiB", func(b *testing.B) { benchmarkCopy(b, d) })
}

func benchmarkStream(b *testing.B, s device.Streams) {
	stream, err := s.NewStream()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		block, err := s.AllocateAsync(4096, stream)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.DeallocateAsync(block, 4096, stream); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.CloseStream(stream); err != nil {
		b.Fatal(err)
	}
}

func benchmarkCopy(b *testing.B, d device.Device) {
	const n = 1 << 20
	source := Host(b, pattern(n, 0))
	block, err := d.Allocate(n)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(n)
	for b.Loop() {
		if err := d.FromHost(block, source, n); err != nil {
			b.Fatal(err)
		}
	}
	if err := d.Deallocate(block, n); err != nil {
		b.Fatal(err)
	}
}
