package pspsim

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
)

// problem is the provider's own format for everything that is not a movement.
type problem struct {
	Error problemBody `json:"error"`
}

type problemBody struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// answer says what the request came to, or fails to, as the step wants it.
func answer(w http.ResponseWriter, step Step, done result) {
	switch step.fault {
	case faultCutBefore, faultCutAfter:
		cut(w, "")
	case faultCutInside:
		cut(w, "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 160\r\n\r\n{\"id\":\"")
	case fault5xxBefore, fault5xxAfter:
		page(w, step.page)
	case faultTooMany:
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusTooManyRequests, codeTooMany, "too many requests; nothing was taken")
	default:
		if done.refusal != "" {
			refuse(w, http.StatusUnprocessableEntity, done.refusal, "the request was refused; nothing was taken")
			return
		}
		write(w, http.StatusCreated, done.movement.firstAnswer())
	}
}

// page answers as a gateway in front of the provider does: not in its format.
func page(w http.ResponseWriter, status int) {
	if status == 0 {
		status = http.StatusBadGateway
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<html><body><h1>%d %s</h1></body></html>\n", status, http.StatusText(status))
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	write(w, status, problem{problemBody{Code: code, Message: message}})
}

// write sends one JSON body with its length, so that a client can tell a whole
// answer from a cut one.
func write(w http.ResponseWriter, status int, body any) {
	encoded, err := json.Marshal(body)
	if err != nil {
		panic(http.ErrAbortHandler) // our own types always encode
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(encoded)))
	w.WriteHeader(status)
	_, _ = w.Write(encoded)
}

// cut closes the connection, after the given part of an answer or with none.
// Without a part it resets, as a killed host's connections do.
func cut(w http.ResponseWriter, part string) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		panic(http.ErrAbortHandler) // closes the connection as well
	}
	conn, _, err := hijacker.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = conn.Close() }()
	if part != "" {
		_, _ = conn.Write([]byte(part))
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}
