package outcome

import (
	"time"

	"github.com/google/uuid"

	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/provider"
)

// Learned describes a provider's answer about an operation as evidence that
// covers nothing yet: what it covers is for the caller to say, who knows which
// attempt was answered, or what the provider declares about its inquiries.
func Learned(operation uuid.UUID, source evidence.Source, a provider.Answer, askedAt time.Time) evidence.Evidence {
	return evidence.Evidence{
		OperationID: operation, Source: source, Verdict: a.Verdict, Amount: a.Amount, ProviderObjectID: a.ObjectID,
		Status: a.Status, Reason: a.Reason, AskedAt: askedAt, Hash: a.Digest(),
	}
}
