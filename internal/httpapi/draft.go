package httpapi

import "net/http"

// draft is an answer that is kept until its request is at work no more. Writing it out
// takes as long as its client likes: were a place among the requests at work held
// meanwhile, as many clients that read nothing could hold them all, and whoever has no
// API key can be such a client. What is kept for strangers is a problem document of less
// than 1 KB; what is kept for a merchant counts in its share.
type draft struct {
	http.ResponseWriter     // its header is the draft's
	status              int // 0 as long as nothing was said
	body                []byte
}

// WriteHeader implements http.ResponseWriter.
func (d *draft) WriteHeader(status int) {
	if d.status == 0 {
		d.status = status
	}
}

// Write implements http.ResponseWriter.
func (d *draft) Write(some []byte) (int, error) {
	d.WriteHeader(http.StatusOK)
	d.body = append(d.body, some...)
	return len(some), nil
}

// Unwrap lets http.ResponseController find the connection.
func (d *draft) Unwrap() http.ResponseWriter { return d.ResponseWriter }

// send writes the answer out. A client that is going to wait was told nothing yet.
func (d *draft) send() {
	if d.status == 0 {
		return
	}
	d.ResponseWriter.WriteHeader(d.status)
	_, _ = d.ResponseWriter.Write(d.body) // a client that went away asks again
}
