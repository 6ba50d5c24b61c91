package pspsim_test

import (
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/payonce/payonce/internal/pspsim"
)

// BenchmarkCharge posts charges over loopback with 64 connections, client and
// provider in one process.
func BenchmarkCharge(b *testing.B) {
	for name, file := range map[string]string{"memory": "", "fsync": filepath.Join(b.TempDir(), "charges")} {
		b.Run(name, func(b *testing.B) {
			_, address, _ := serve(b, pspsim.Options{DataFile: file})
			transport := &http.Transport{MaxIdleConnsPerHost: 64}
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport}
			var next atomic.Int64
			b.ReportAllocs()
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					reference := strconv.FormatInt(next.Add(1), 10)
					body := strings.NewReader(`{"reference":"` + reference + `","amountMinor":1000,"currency":"TRY","paymentMethod":"tok"}`)
					req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, address+"/v1/charges", body)
					if err != nil {
						b.Error(err)
						return
					}
					req.Header.Set("Idempotency-Key", reference)
					resp, err := client.Do(req)
					if err != nil {
						b.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "charges/s")
		})
	}
}
