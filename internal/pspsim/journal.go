package pspsim

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// record is one line of the data file.
type record struct {
	Type      string    `json:"t"` // move, refuse or door
	At        time.Time `json:"at"`
	Seq       uint64    `json:"seq,omitempty"`
	Kind      kind      `json:"kind,omitempty"`
	Reference string    `json:"ref,omitempty"`
	Charge    uint64    `json:"charge,omitempty"`
	Amount    int64     `json:"amount,omitempty"`
	Currency  string    `json:"currency,omitempty"`
	Status    Status    `json:"status,omitempty"`
	Code      string    `json:"code,omitempty"`
	ResolveAt time.Time `json:"resolveAt,omitzero"`
	ResolveTo Status    `json:"resolveTo,omitempty"`
	Key       string    `json:"key,omitempty"`
	Print     string    `json:"print,omitempty"`
}

const (
	recordMove   = "move"
	recordRefuse = "refuse"
	recordDoor   = "door"
)

func movementRecord(m *movement, key string, request fingerprint) record {
	r := record{
		Type: recordMove, At: m.at, Seq: m.seq, Kind: m.kind, Reference: m.account.reference, Amount: m.amount,
		Currency: m.currency, Status: m.first, Code: m.firstCode, ResolveAt: m.resolveAt, ResolveTo: m.resolveTo,
		Key: key, Print: hex.EncodeToString(request[:]),
	}
	if m.charge != nil {
		r.Charge = m.charge.seq
	}
	return r
}

func refusalRecord(o order, code string, at time.Time) record {
	return record{Type: recordRefuse, At: at, Reference: o.reference, Code: code, Key: o.key, Print: hex.EncodeToString(o.print[:])}
}

func doorRecord(reference string, at time.Time) record {
	return record{Type: recordDoor, At: at, Reference: reference}
}

// journal is the data file: JSON lines, on disk before anyone hears of what they
// say. Many requests share one fsync. A nil journal keeps nothing.
type journal struct {
	file *os.File

	mu       sync.Mutex
	synced   sync.Cond
	lines    bytes.Buffer
	appended uint64 // lines so far
	durable  uint64 // of them on disk
	flushing bool
	err      error // the first failure; nothing is acknowledged after it
}

// openJournal opens or creates the file, hands every whole line to each, and cuts
// off a last line that a kill left unfinished: it was never acknowledged.
func openJournal(path string, each func(record) error) (*journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	end, err := readRecords(file, each)
	if err == nil {
		err = file.Truncate(end)
	}
	if err == nil {
		_, err = file.Seek(end, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reading the data file %s: %w", path, err), file.Close())
	}
	j := &journal{file: file}
	j.synced.L = &j.mu
	return j, nil
}

// readRecords returns the offset behind the last whole line.
func readRecords(file io.Reader, each func(record) error) (end int64, err error) {
	reader := bufio.NewReader(file)
	for number := 1; ; number++ {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return end, nil
		}
		if err != nil {
			return end, err
		}
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			return end, fmt.Errorf("line %d: %w", number, err)
		}
		if err := each(r); err != nil {
			return end, fmt.Errorf("line %d: %w", number, err)
		}
		end += int64(len(line))
	}
}

// append adds a line and returns its position for wait. The caller holds the
// book's lock.
func (j *journal) append(r record) uint64 {
	if j == nil {
		return 0
	}
	line, err := json.Marshal(r)
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil {
		j.err = errors.Join(j.err, err)
	}
	j.lines.Write(line)
	j.lines.WriteByte('\n')
	j.appended++
	return j.appended
}

// position returns the position of the last line. What a reader was told may rest
// on any line up to it.
func (j *journal) position() uint64 {
	if j == nil {
		return 0
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.appended
}

// wait returns once everything up to mark is on disk. The first to wait writes
// for all who have appended meanwhile.
func (j *journal) wait(mark uint64) error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.durable < mark && j.err == nil {
		if j.flushing {
			j.synced.Wait()
			continue
		}
		j.flush()
	}
	return j.err
}

// flush writes and syncs what is there, without the lock while the disk works.
func (j *journal) flush() {
	j.flushing = true
	lines, upTo := bytes.Clone(j.lines.Bytes()), j.appended
	j.lines.Reset()
	j.mu.Unlock()
	_, err := j.file.Write(lines)
	if err == nil {
		err = j.file.Sync()
	}
	j.mu.Lock()
	j.flushing = false
	if err != nil {
		j.err = errors.Join(j.err, err)
	} else {
		j.durable = upTo
	}
	j.synced.Broadcast()
}

func (j *journal) close() error {
	if j == nil {
		return nil
	}
	return errors.Join(j.wait(j.position()), j.file.Close())
}
