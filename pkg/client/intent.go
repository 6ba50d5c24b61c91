package client

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/google/uuid"
)

// Intent is one wish of a person or a program: to pay this invoice, to give that
// money back. It is made once, where the wish arises (the click, not the request),
// and kept over all repeats, also over a crash: store its text before the first
// Submit, in the transaction that stores the order, and go on with ParseIntent.
//
// Its key is time-ordered (UUIDv7). payonce keeps keys for a limited time, so an
// intent is good for a day; after that look for the invoice before making another.
//
// An Intent must not be copied, and is not for two different requests: payonce
// refuses the second one.
type Intent struct {
	key uuid.UUID
	// asked says that a request under this key was sent whose outcome is not known
	// to be "nothing": a refusal of a later one proves nothing about it.
	asked atomic.Bool
}

// NewIntent returns an intent that nobody has.
func NewIntent() *Intent {
	return &Intent{key: uuid.Must(uuid.NewV7())} // fails only without randomness, which Go itself does not survive
}

// ParseIntent returns the intent that String made text of. It may have been sent
// before, so what Submit says of it is careful from the start.
func ParseIntent(text string) (*Intent, error) {
	var i Intent
	if err := i.UnmarshalText([]byte(text)); err != nil {
		return nil, err
	}
	return &i, nil
}

// errNoIntent keeps all forgotten intents from sharing one key.
var errNoIntent = errors.New("the intent was not made by NewIntent or ParseIntent")

func (i *Intent) check() error {
	if i == nil || i.key == uuid.Nil {
		return errNoIntent
	}
	return nil
}

// String returns the intent's key, which is no secret.
func (i *Intent) String() string { return i.key.String() }

// MarshalText implements [encoding.TextMarshaler] with what String returns.
func (i *Intent) MarshalText() ([]byte, error) { return i.key.MarshalText() }

// UnmarshalText implements [encoding.TextUnmarshaler] as ParseIntent does.
func (i *Intent) UnmarshalText(text []byte) error {
	key, err := uuid.ParseBytes(text)
	if err != nil || key.Version() != 7 || key.String() != string(text) {
		return fmt.Errorf("%q is not the text of an intent", text)
	}
	i.key = key
	i.asked.Store(true)
	return nil
}
