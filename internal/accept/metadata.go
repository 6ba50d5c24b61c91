package accept

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// The limits of metadata, which is for the merchant's own notes: it is stored and
// compared, and nothing of it is ever read.
const (
	MetadataBytesMax = 8 << 10
	MetadataDepthMax = 8 // nested objects and arrays, the outermost included
)

// Errors of canonicalMetadata are for clients, as they are.
var (
	errMetadataObject = errors.New("must be a JSON object")
	errMetadataSize   = fmt.Errorf("has more than %d bytes", MetadataBytesMax)
	errMetadataDepth  = fmt.Errorf("is nested more than %d deep", MetadataDepthMax)
	errMetadataNumber = errors.New("has a number beyond what a double can hold; send it as a string")
	errMetadataNul    = errors.New("has a NUL character")
)

func (e *InvalidError) parseMetadata(text []byte) []byte {
	if text == nil {
		return nil
	}
	canonical, err := canonicalMetadata(text)
	if err != nil {
		e.add(FieldMetadata, err.Error())
	}
	return canonical
}

// canonicalMetadata returns the metadata in the form of RFC 8785 (JCS), except
// that whole numbers keep all their digits: JCS would make 9007199254740993 and
// 9007199254740992 the same number, and so two different requests the same one.
func canonicalMetadata(text []byte) ([]byte, error) {
	if len(text) > MetadataBytesMax {
		return nil, errMetadataSize
	}
	if err := checkMetadata(text); err != nil {
		return nil, err
	}
	canonical := jsontext.Value(text).Clone()
	if err := canonical.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil {
		return nil, errMetadataObject
	}
	if len(canonical) > MetadataBytesMax {
		return nil, errMetadataSize
	}
	return canonical, nil
}

// checkMetadata refuses what PostgreSQL's jsonb cannot keep, and what nobody should.
func checkMetadata(text []byte) error {
	decoder := jsontext.NewDecoder(bytes.NewReader(text))
	if decoder.PeekKind() != '{' {
		return errMetadataObject
	}
	for {
		token, err := decoder.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return errMetadataObject
		}
		if decoder.StackDepth() > MetadataDepthMax {
			return errMetadataDepth
		}
		switch token.Kind() {
		case '"':
			if strings.ContainsRune(token.String(), 0) {
				return errMetadataNul
			}
		case '0':
			if _, err := strconv.ParseFloat(token.String(), 64); err != nil {
				return errMetadataNumber
			}
		}
	}
}

// metadataHasCard looks at all names, texts and numbers, as far as they can be read.
func metadataHasCard(text []byte) bool {
	decoder := jsontext.NewDecoder(bytes.NewReader(text))
	for {
		token, err := decoder.ReadToken()
		if err != nil {
			return false // the end, or metadata that is refused for what it is
		}
		if token.Kind() == '"' && HasCardNumber(token.String()) || token.Kind() == '0' && isCardInNumber(token.String()) {
			return true
		}
	}
}

// isCardInNumber looks for a card number in the whole digits as they were sent, and as
// they are without an exponent. The many digits of a fraction are none.
func isCardInNumber(text string) bool {
	forms := []string{text}
	if value, err := strconv.ParseFloat(text, 64); err == nil {
		forms = append(forms, strconv.FormatFloat(value, 'f', -1, 64))
	}
	return slices.ContainsFunc(forms, func(form string) bool {
		whole, _, _ := strings.Cut(form, ".")
		return HasCardNumber(whole)
	})
}
