package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/payonce/payonce/internal/pspsim"
)

const (
	// doorPatience bounds one question at a provider's back door.
	doorPatience = 10 * time.Second
	// oracleBytesMax holds the oracle of a million payments.
	oracleBytesMax = 256 << 20
)

// The back door of a simulated provider, through which the demo sets its faults
// and hears what was really charged. It is not what payonce talks to.

func setFaults(ctx context.Context, url string, faults pspsim.Faults) error {
	_, err := ask[pspsim.Faults](ctx, http.MethodPut, url+"/faults", faults)
	return err
}

func askFaults(ctx context.Context, url string) (pspsim.Faults, error) {
	return ask[pspsim.Faults](ctx, http.MethodGet, url+"/faults", nil)
}

func askOracle(ctx context.Context, url string) (pspsim.Oracle, error) {
	return ask[pspsim.Oracle](ctx, http.MethodGet, url+"/oracle", nil)
}

func ask[T any](ctx context.Context, method, url string, body any) (answer T, err error) {
	ctx, cancel := context.WithTimeout(ctx, doorPatience)
	defer cancel()
	var text []byte
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return answer, fmt.Errorf("asking a provider: %w", err)
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(text))
	if err != nil {
		return answer, fmt.Errorf("asking a provider: %w", err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return answer, fmt.Errorf("asking a provider: %w", err)
	}
	defer response.Body.Close()
	text, err = io.ReadAll(io.LimitReader(response.Body, oracleBytesMax))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, text)
	}
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	if err != nil {
		return answer, fmt.Errorf("asking a provider: %s %s: %w", method, url, err)
	}
	return answer, nil
}
