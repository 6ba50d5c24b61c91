package pspsim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// pageMax bounds one page of a list, in movements.
const pageMax = 1000

// Charges is the body of GET /v1/charges.
type Charges struct {
	// Charges holds charges, refunds and voids, in order of time. An empty list
	// is the answer "not found".
	Charges []Movement `json:"charges"`
	// Next is what to pass as after for the next page, empty on the last one.
	Next string `json:"next,omitempty"`
}

// Door is the body of POST /v1/charges/void?reference=….
type Door struct {
	Reference string `json:"reference"`
	Closed    bool   `json:"closed"`
	// Charges is what the reference holds now. One that is still captured could
	// not be voided.
	Charges []Movement `json:"charges"`
}

// AccountDefault is the account of a provider that was given no other.
const AccountDefault = "sim_1"

// Account is the body of GET /v1/account: whose movements these are.
type Account struct {
	ID string `json:"id"`
}

func (s *Server) getAccount(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, Account{ID: s.account})
}

// postDoor voids by reference, seen or not. It keeps its promise even when asked
// again.
func (s *Server) postDoor(w http.ResponseWriter, r *http.Request) {
	reference := r.URL.Query().Get("reference")
	if reference == "" || len(reference) > referenceBytesMax {
		refuse(w, http.StatusBadRequest, codeInvalid, fmt.Sprintf("reference needs 1 to %d bytes", referenceBytesMax))
		return
	}
	held, mark := s.book.closeDoor(reference)
	s.writeDurable(w, mark, Door{Reference: reference, Closed: true, Charges: held})
}

// getCharges finds by reference, or lists by time.
func (s *Server) getCharges(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	switch {
	case query.Get("reference") != "":
		s.inquire(w, query.Get("reference"))
	case query.Get("since") != "":
		s.list(w, query.Get("since"), query.Get("after"), query.Get("limit"))
	default:
		refuse(w, http.StatusBadRequest, codeInvalid, "reference or since is needed")
	}
}

func (s *Server) inquire(w http.ResponseWriter, reference string) {
	f, before := s.planner.Load().faults, time.Time{}
	switch f.Inquiry {
	case InquiryOff:
		// A 404 that says nothing about the reference: reading it as "not found"
		// would be a guess.
		refuse(w, http.StatusNotFound, codeNotOffered, "this provider has no inquiry")
		return
	case InquiryLagging:
		before = s.now().Add(-time.Duration(f.InquiryLag))
	}
	found, mark := s.book.find(reference, before)
	s.writeDurable(w, mark, Charges{Charges: found})
}

func (s *Server) list(w http.ResponseWriter, since, after, limit string) {
	from, err := time.Parse(time.RFC3339, since)
	if err != nil {
		refuse(w, http.StatusBadRequest, codeInvalid, "since needs a time as in RFC 3339")
		return
	}
	number, err := parseAfter(after)
	if err != nil {
		refuse(w, http.StatusBadRequest, codeInvalid, err.Error())
		return
	}
	most, err := parseLimit(limit)
	if err != nil {
		refuse(w, http.StatusBadRequest, codeInvalid, err.Error())
		return
	}
	found, mark := s.book.since(from, number, most)
	told := Charges{Charges: found}
	if len(found) == most {
		told.Next = found[most-1].ID
	}
	s.writeDurable(w, mark, told)
}

// parseAfter reads any movement's id.
func parseAfter(id string) (uint64, error) {
	if id == "" {
		return 0, nil
	}
	_, digits, _ := strings.Cut(id, "_")
	number, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("after: %q is no id", id)
	}
	return number, nil
}

func parseLimit(text string) (int, error) {
	if text == "" {
		return pageMax, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 1 || limit > pageMax {
		return 0, fmt.Errorf("limit: %q is not between 1 and %d", text, pageMax)
	}
	return limit, nil
}

// writeDurable answers once everything that the answer may rest on is on disk.
func (s *Server) writeDurable(w http.ResponseWriter, mark uint64, body any) {
	if err := s.journal.wait(mark); err != nil {
		refuse(w, http.StatusInternalServerError, codeBroken, err.Error())
		return
	}
	write(w, http.StatusOK, body)
}

func (s *Server) getOracle(w http.ResponseWriter, r *http.Request) {
	write(w, http.StatusOK, s.book.oracle(r.URL.Query().Get("reference")))
}

func (s *Server) getWebhooks(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, s.tells.get().withoutSecret())
}

func (s *Server) putWebhooks(w http.ResponseWriter, r *http.Request) {
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, bodyBytesMax))
	decoder.DisallowUnknownFields() // a misspelt fault would never be seen to fail
	var wanted Webhooks
	err := decoder.Decode(&wanted)
	if err == nil {
		err = s.SetWebhooks(wanted)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, codeInvalid, err.Error())
		return
	}
	write(w, http.StatusOK, wanted.withoutSecret())
}

func (s *Server) getFaults(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, s.planner.Load().faults)
}

// faultsBytesMax holds scriptsMax scripts.
const faultsBytesMax = 16 << 20

func (s *Server) putFaults(w http.ResponseWriter, r *http.Request) {
	f, err := ReadFaults(http.MaxBytesReader(w, r.Body, faultsBytesMax))
	if err == nil {
		err = s.SetFaults(f)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, codeInvalid, err.Error())
		return
	}
	write(w, http.StatusOK, f)
}
