package demo

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/pkg/event"
)

const (
	// givenTimeout is the services' default, which the project does not change.
	givenTimeout = 5 * time.Second
	// givenPrefix is the default, too.
	givenPrefix = "payonce"
)

// published are the ports, inside the containers, by which the host reaches services.
var published = map[string]string{
	"postgres": "5432", "kafka": "9092", "intake": "8080", "pspsim": "8090", "pspsim-nokeys": "8090",
}

// given are the parts of a compose project that runs. Its services are found by
// the ports that it publishes, and its databases by what it tells its services.
type given struct {
	*stage
	project project
}

func (g *given) prepare(ctx context.Context) error {
	found := map[string]string{}
	for service, port := range published {
		address, err := g.project.address(ctx, service, port)
		if err != nil {
			return err
		}
		found[service] = address
	}
	g.prefix, g.topics = givenPrefix, event.TopicsWithPrefix(givenPrefix)
	g.brokers, g.brokerName = []string{found["kafka"]}, "Kafka at "+found["kafka"]+", in containers"
	g.urls[withKeys], g.urls[withoutKeys] = "http://"+found["pspsim"], "http://"+found["pspsim-nokeys"]
	g.httpAddr, g.providerTimeout = found["intake"], givenTimeout
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) error { return g.openDatabases(ctx, found["postgres"]) }, g.refuseUsed, g.keepFaults,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (g *given) openDatabases(ctx context.Context, address string) error {
	told, err := g.project.environment(ctx)
	if err != nil {
		return err
	}
	if g.databaseURL, err = at(address, told["intake"]["PAYONCE_DATABASE_URL"]); err != nil {
		return err
	}
	if g.pool, err = postgres.Open(ctx, g.databaseURL, postgres.PoolOptions{ConnsMax: 4, ApplicationName: "payonce demo"}); err != nil {
		return err
	}
	g.later(g.pool.Close)
	billing, err := at(address, told["billing"]["BILLING_DATABASE_URL"])
	if err != nil {
		return err
	}
	if g.billed, err = pgxpool.New(ctx, billing); err != nil {
		return err
	}
	g.later(g.billed.Close)
	return nil
}

//go:embed untouched.sql
var untouchedSQL string

// refuseUsed refuses a project that has taken payments: each payment is counted,
// and what others use is no place for faults and kills.
func (g *given) refuseUsed(ctx context.Context) error {
	var untouched bool
	if err := g.pool.QueryRow(ctx, untouchedSQL).Scan(&untouched); err != nil {
		return fmt.Errorf("looking for payments: %w", err)
	}
	if !untouched {
		return errors.New("the project has taken payments already, and the demo counts every one: give it one of its own, " +
			"or remove this one's data with `docker compose down -v` and start it again")
	}
	return nil
}

// at is a URL that leads to where the host sees what the URL leads to in there.
func at(address, inside string) (string, error) {
	parsed, err := url.Parse(inside)
	if err != nil || inside == "" { // the parser's error would quote the password
		return "", errors.New("the project's services are not told a database's URL")
	}
	parsed.Host = address
	return parsed.String(), nil
}

// keepFaults has the providers' faults put back in the end.
func (g *given) keepFaults(ctx context.Context) error {
	for _, provider := range g.urls {
		before, err := askFaults(ctx, provider)
		if err != nil {
			return err
		}
		g.later(func() {
			if err := setFaults(context.WithoutCancel(ctx), provider, before); err != nil {
				g.progress.say(fmt.Sprintf("the provider at %s keeps its faults: %v", provider, err))
			}
		})
	}
	return nil
}

// run has nothing to start.
func (g *given) run(context.Context) error { return nil }

// killOne kills the first of the two containers of a service. Docker takes that
// for the user's wish and does not start it again by itself.
func (g *given) killOne(ctx context.Context, service string) error {
	_, err := g.project.compose(ctx, "kill", service+"-1")
	return err
}

func (g *given) startOne(ctx context.Context, service string) error {
	_, err := g.project.compose(ctx, "start", service+"-1")
	return err
}

func (g *given) intact(ctx context.Context) error { return g.project.intact(ctx) }
