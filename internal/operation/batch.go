package operation

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

func allTouched(touched int64, wanted int) error {
	if touched != int64(wanted) {
		return fmt.Errorf("%d of %d rows touched: %w", touched, wanted, ErrMoved)
	}
	return nil
}

// expectTouched ends a batch when a statement did not touch every row that it
// was asked to: an update that misses silently is how payments get lost.
func expectTouched(doing string, wanted int) func(pgconn.CommandTag) error {
	return func(tag pgconn.CommandTag) error {
		if err := allTouched(tag.RowsAffected(), wanted); err != nil {
			return fmt.Errorf("%s: %w", doing, err)
		}
		return nil
	}
}
