package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// rawDoor is a door that a test talks to byte by byte.
type rawDoor struct {
	*door
	address string
}

func newRawDoor(t *testing.T, change func(*http.Server)) rawDoor {
	t.Helper()
	d := newDoor(t)
	return rawDoor{d, d.serve(t, change).Listener.Addr().String()}
}

// dial connects, for as long as no answer should ever take.
func (d rawDoor) dial(t *testing.T) *net.TCPConn {
	t.Helper()
	connection, err := net.Dial("tcp", d.address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	require.NoError(t, connection.SetDeadline(time.Now().Add(time.Minute)))
	return connection.(*net.TCPConn)
}

// head is a request's head for a good request, with more header lines.
func (d rawDoor) head(key string, more ...string) string {
	lines := append([]string{
		"POST /v1/payments HTTP/1.1", "Host: x", "Authorization: Bearer " + d.key, "Content-Type: application/json", "Idempotency-Key: " + key,
	}, more...)
	return strings.Join(lines, "\r\n") + "\r\n\r\n"
}

func (d rawDoor) whole(key, body string) string {
	return d.head(key, fmt.Sprintf("Content-Length: %d", len(body))) + body
}

// told reads one answer.
func told(t *testing.T, from *bufio.Reader) answer {
	t.Helper()
	response, err := http.ReadResponse(from, nil)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	if response.Close {
		response.Header.Set("Connection", "close") // which net/http takes out
	}
	return answer{response.StatusCode, response.Header, body}
}

func TestI13_AnEndlessChunkedBodyIsCutOff(t *testing.T) {
	t.Parallel()
	d := newRawDoor(t, func(*http.Server) {})
	connection := d.dial(t)
	fmt.Fprint(connection, d.head("k-1", "Transfer-Encoding: chunked"))
	written := make(chan int)
	go func() { // writes until nobody reads
		chunk, total := "1000\r\n"+strings.Repeat(" ", 0x1000)+"\r\n", 0
		for {
			n, err := io.WriteString(connection, chunk)
			if total += n; err != nil {
				written <- total
				return
			}
		}
	}()
	a := told(t, bufio.NewReader(connection))
	require.Equal(t, http.StatusRequestEntityTooLarge, a.status)
	require.Equal(t, "urn:payonce:problem:body-too-large", a.problem(t).Type)
	require.Equal(t, "close", a.header.Get("Connection"), "what follows is not a new request")
	_ = connection.CloseRead()
	<-written
	require.Equal(t, payments(0), d.stored(t))
}

func TestI13_ALengthThatIsNotTheBodysIsNotBelieved(t *testing.T) {
	t.Parallel()
	d := newRawDoor(t, func(*http.Server) {})
	body := order("INV-1", "10")
	for name, c := range map[string]struct {
		request string
		status  int
		problem string // empty where net/http answers by itself, in plain text
		ends    bool   // the client says that nothing more comes
	}{
		"longer than the body":  {d.head("k", fmt.Sprintf("Content-Length: %d", len(body)+1)) + body, 400, "malformed-body", true},
		"shorter than the body": {d.head("k", fmt.Sprintf("Content-Length: %d", len(body)-1)) + body, 400, "malformed-body", false},
		"beyond the limit":      {d.head("k", "Content-Length: 99999999999"), 413, "body-too-large", false},
		"two lengths":           {d.head("k", "Content-Length: 10", fmt.Sprintf("Content-Length: %d", len(body))) + body, 400, "", false},
		"negative":              {d.head("k", "Content-Length: -1") + body, 400, "", false},
		"no number":             {d.head("k", "Content-Length: ten") + body, 400, "", false},
		"a chunk without end":   {d.head("k", "Transfer-Encoding: chunked") + "ff\r\n" + body, 400, "malformed-body", true},
		"a chunk without size":  {d.head("k", "Transfer-Encoding: chunked") + "xyz\r\n" + body, 400, "malformed-body", false},
		"another coding":        {d.head("k", "Transfer-Encoding: gzip, chunked") + body, 501, "", false},
		"neither":               {d.head("k") + body, 400, "malformed-body", false},
	} {
		connection := d.dial(t)
		_, _ = io.WriteString(connection, c.request)
		if c.ends { // else it would be a client that goes away while it is being answered
			_ = connection.CloseWrite()
		}
		a := told(t, bufio.NewReader(connection))
		require.Equal(t, c.status, a.status, "%s: %s", name, a.body)
		if c.problem != "" {
			require.Equal(t, "urn:payonce:problem:"+c.problem, a.problem(t).Type, name)
		}
	}
	require.Equal(t, payments(0), d.stored(t))
}

func TestI13_AHeaderThatIsTooLargeIsRefusedBeforeItIsKept(t *testing.T) {
	t.Parallel()
	d := newRawDoor(t, func(*http.Server) {})
	for name, more := range map[string][]string{
		"one long line": {"X-Long: " + strings.Repeat("x", 2*MaxHeaderBytes)},
		"many lines":    strings.Split(strings.Repeat("X: y\n", MaxHeaderBytes/2)+"X: y", "\n"),
	} {
		connection := d.dial(t)
		go func() { _, _ = io.WriteString(connection, d.head("k", more...)) }()
		require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, told(t, bufio.NewReader(connection)).status, name)
	}
	require.Equal(t, payments(0), d.stored(t))
}

func TestI13_AHeaderThatDoesNotEndIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	d := newRawDoor(t, func(s *http.Server) { s.ReadHeaderTimeout = 100 * time.Millisecond })
	connection := d.dial(t)
	fmt.Fprint(connection, "POST /v1/payments HTTP/1.1\r\nHost: x\r\nX-Slow: ")
	said, err := io.ReadAll(connection)
	require.NoError(t, err)
	require.NotContains(t, string(said), " 200 ", "closed, in whatever words")
	require.Equal(t, payments(0), d.stored(t))
}

func TestI13_TwoRequestsInOnePacketAreAnsweredInTheirOrder(t *testing.T) {
	t.Parallel()
	d := newRawDoor(t, func(*http.Server) {})
	connection := d.dial(t)
	fmt.Fprint(connection, d.whole("k-1", order("INV-1", "1"))+d.whole("k-2", order("INV-2", "2")))
	answers := bufio.NewReader(connection)
	for _, invoice := range []string{"INV-1", "INV-2"} {
		a := told(t, answers)
		require.Equal(t, http.StatusAccepted, a.status, "%s", a.body)
		require.Equal(t, invoice, a.view(t).InvoiceID)
	}
	require.Equal(t, payments(2), d.stored(t))
}

func TestI13_AnOldClientIsServedAndHTTP2IsNotOffered(t *testing.T) {
	t.Parallel()
	d := newRawDoor(t, func(*http.Server) {})
	old := d.dial(t)
	fmt.Fprint(old, strings.Replace(d.whole("k-1", order("INV-1", "1")), "HTTP/1.1", "HTTP/1.0", 1))
	require.Equal(t, http.StatusAccepted, told(t, bufio.NewReader(old)).status)

	for name, opening := range map[string]string{
		"prior knowledge": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"upgrade":         "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n",
		"no HTTP":         "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
		"another version": "GET / HTTP/3.0\r\n\r\n",
		"no host":         "GET / HTTP/1.1\r\n\r\n",
	} {
		connection := d.dial(t)
		fmt.Fprint(connection, opening)
		a := told(t, bufio.NewReader(connection))
		require.GreaterOrEqual(t, a.status, 400, name)
		require.Less(t, a.status, 600, name)
	}
	require.Equal(t, payments(1), d.stored(t))
}

func TestI13_ABodyIsNotAskedForBeforeItIsKnownWhose(t *testing.T) {
	t.Parallel()
	d := newRawDoor(t, func(*http.Server) {})
	connection := d.dial(t)
	fmt.Fprint(connection, strings.Replace(d.head("k", "Content-Length: 100", "Expect: 100-continue"), d.key, "po_x", 1))
	require.Equal(t, http.StatusUnauthorized, told(t, bufio.NewReader(connection)).status, "and no 100 Continue before it")
}
