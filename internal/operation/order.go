package operation

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Stand names an operation as it stood at a certain fence. Whoever moved it
// since has raised the fence, and what was decided for the old one falls.
type Stand struct {
	OperationID uuid.UUID
	Fence       int64
}

//go:embed order_resend.sql
var orderResendSQL string

//go:embed look_again.sql
var lookAgainSQL string

//go:embed hand_to_person.sql
var handToPersonSQL string

// OrderPatience is how long a resend order waits for a worker. Then it is taken
// back, and the provider is asked again before another one.
const OrderPatience = time.Minute

// PersonInterval is how often an operation that waits for a person shows up again:
// the machine may have nothing to do for it, but does not forget it.
const PersonInterval = time.Hour

// OrderResend lets a worker make a new attempt within unknown. It reports
// whether the order stands; false means that the operation moved meanwhile, or
// that its door is being closed.
func OrderResend(ctx context.Context, q Querier, s Stand) (bool, error) {
	return s.update(ctx, q, "ordering a resend of", orderResendSQL, OrderPatience)
}

// LookAgain sets the next look at an open operation, and who is waited for.
func LookAgain(ctx context.Context, q Querier, s Stand, after time.Duration, owner Owner) (bool, error) {
	return s.update(ctx, q, "scheduling the next look at", lookAgainSQL, after, owner)
}

// HandToPerson marks an operation that no rule may settle. One that is final
// needs nobody any more and is left alone.
func HandToPerson(ctx context.Context, q Querier, s Stand, reason string) (bool, error) {
	return s.update(ctx, q, "handing over", handToPersonSQL, reason, PersonInterval)
}

func (s Stand) update(ctx context.Context, q Querier, doing, sql string, args ...any) (bool, error) {
	tag, err := q.Exec(ctx, sql, append([]any{s.OperationID, s.Fence}, args...)...)
	if err != nil {
		return false, fmt.Errorf("%s operation %s: %w", doing, s.OperationID, err)
	}
	return tag.RowsAffected() == 1, nil
}
