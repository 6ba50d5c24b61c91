package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// DatabaseURL leads to PostgreSQL and holds a password, which it does not show:
// convert it to string to use it.
type DatabaseURL string

var errDatabaseURL = errors.New("it cannot be parsed: it must have the form postgres://USER:PASSWORD@HOST:PORT/DATABASE, " +
	"with special characters of the password percent-encoded")

// UnmarshalText checks the form. It does not connect.
func (d *DatabaseURL) UnmarshalText(text []byte) error {
	parsed, err := url.Parse(string(text))
	if err != nil || (parsed.Scheme != "postgres" && parsed.Scheme != "postgresql") || parsed.Path == "" || parsed.Path == "/" {
		return errDatabaseURL // the parser's error would quote the password
	}
	*d = DatabaseURL(text)
	return nil
}

// String hides the URL.
func (DatabaseURL) String() string { return "(hidden)" }

// Addr is HOST:PORT to listen on. An empty host is every interface, port 0 any
// free one.
type Addr string

// UnmarshalText checks the form.
func (a *Addr) UnmarshalText(text []byte) error {
	if _, port, err := net.SplitHostPort(string(text)); err != nil || !isPort(port) {
		return fmt.Errorf("%q is not of the form HOST:PORT", text)
	}
	*a = Addr(text)
	return nil
}

func (a Addr) anyPort() bool { return strings.HasSuffix(string(a), ":0") }

func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}

// Brokers are addresses HOST:PORT to start from.
type Brokers []string

// UnmarshalText reads a list that is separated by commas.
func (b *Brokers) UnmarshalText(text []byte) error {
	brokers := split(string(text))
	for _, broker := range brokers {
		host, port, err := net.SplitHostPort(broker)
		if err != nil || host == "" || !isPort(port) {
			return fmt.Errorf("%q is not of the form HOST:PORT", broker)
		}
	}
	*b = brokers
	return nil
}

// Account is a provider account and the connector that speaks to it.
type Account struct{ Name, Connector string }

// AccountList has different names.
type AccountList []Account

// accountName is the form of a provider account in the database.
var accountName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// UnmarshalText reads ACCOUNT=CONNECTOR,…. It does not know the connectors.
func (l *AccountList) UnmarshalText(text []byte) error {
	var list AccountList
	for _, item := range split(string(text)) {
		name, connector, ok := strings.Cut(item, "=")
		if !ok || connector == "" || !accountName.MatchString(name) {
			return fmt.Errorf("%q is not of the form ACCOUNT=CONNECTOR, with an account of 1 to 63 characters of a-z, 0-9 and -", item)
		}
		if slices.ContainsFunc(list, func(a Account) bool { return a.Name == name }) {
			return fmt.Errorf("it lists the account %s twice", name)
		}
		list = append(list, Account{Name: name, Connector: connector})
	}
	*l = list
	return nil
}

// URLList may hold credentials, which it does not show.
type URLList []string

// UnmarshalText reads http and https URLs, separated by commas. An item may be empty.
func (l *URLList) UnmarshalText(text []byte) error {
	urls := split(string(text))
	for i, item := range urls {
		if item == "" {
			continue
		}
		parsed, err := url.Parse(item)
		if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
			return fmt.Errorf("number %d of its URLs is not of the form https://HOST:PORT", i+1)
		}
	}
	*l = urls
	return nil
}

// String hides the URLs.
func (URLList) String() string { return "(hidden)" }

// KeyList holds API keys, which it does not show.
type KeyList []string

// UnmarshalText reads keys, separated by commas. An item may be empty. No message
// holds one.
func (l *KeyList) UnmarshalText(text []byte) error {
	keys := split(string(text))
	for i, key := range keys {
		if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return fmt.Errorf("number %d of its keys holds a character that no key has", i+1)
		}
	}
	*l = keys
	return nil
}

// String hides the keys.
func (KeyList) String() string { return "(hidden)" }

// SecretsList holds the secrets of accounts, any number for each, which it does not
// show.
type SecretsList [][]string

// UnmarshalText reads lists of secrets, separated by commas; the secrets of one
// account are separated by |. An item may be empty. No message holds a secret.
func (l *SecretsList) UnmarshalText(text []byte) error {
	items := split(string(text))
	lists := make(SecretsList, len(items))
	for i, item := range items {
		if item == "" {
			continue
		}
		for secret := range strings.SplitSeq(item, "|") {
			if secret == "" || strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }) {
				return fmt.Errorf("the secrets of number %d hold an empty one, or a character that no secret has", i+1)
			}
			lists[i] = append(lists[i], secret)
		}
	}
	*l = lists
	return nil
}

// String hides the secrets.
func (SecretsList) String() string { return "(hidden)" }

// IDList holds providers' own names of accounts.
type IDList []string

// providerID is what a provider may call an account. It becomes part of a recipe, in
// which an @ has a meaning.
var providerID = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._:-]{0,127}$`)

// UnmarshalText reads names, separated by commas. An item may be empty.
func (l *IDList) UnmarshalText(text []byte) error {
	ids := split(string(text))
	for _, id := range ids {
		if id != "" && !providerID.MatchString(id) {
			return fmt.Errorf("%q is not 1 to 128 characters of a-z, A-Z, 0-9, '.', '_', ':' and '-'", id)
		}
	}
	*l = ids
	return nil
}

// Cell names a cell. It becomes part of a URI.
type Cell string

// UnmarshalText checks the form.
func (c *Cell) UnmarshalText(text []byte) error {
	if !accountName.Match(text) {
		return fmt.Errorf("%q is not a name of 1 to 63 characters of a-z, 0-9 and -", text)
	}
	*c = Cell(text)
	return nil
}

// TopicPrefix begins the names of topics.
type TopicPrefix string

// 200 characters leave room for what follows within Kafka's 249.
var topicPrefix = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,199}$`)

// UnmarshalText checks that Kafka takes such names.
func (p *TopicPrefix) UnmarshalText(text []byte) error {
	if !topicPrefix.Match(text) {
		return fmt.Errorf("%q is not 1 to 200 characters of a-z, A-Z, 0-9, '.', '_' and '-'", text)
	}
	*p = TopicPrefix(text)
	return nil
}

// LogLevel is the least level that is logged.
type LogLevel string

// UnmarshalText knows four levels.
func (l *LogLevel) UnmarshalText(text []byte) error {
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, string(text)) {
		return fmt.Errorf("%q is not debug, info, warn or error", text)
	}
	*l = LogLevel(text)
	return nil
}

// WorkerName names one worker.
type WorkerName string

var workerName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,127}$`)

// UnmarshalText checks the form.
func (n *WorkerName) UnmarshalText(text []byte) error {
	if !workerName.Match(text) {
		return fmt.Errorf("%q is not 1 to 128 characters of a-z, A-Z, 0-9, '.', '_' and '-'", text)
	}
	*n = WorkerName(text)
	return nil
}

// split takes a list apart. An empty item stays one, so that it is refused.
func split(list string) []string {
	items := strings.Split(list, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items
}
