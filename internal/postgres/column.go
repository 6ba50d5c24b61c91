package postgres

import "github.com/payonce/payonce/pkg/money"

// Column turns one field of all rows into the array that unnest takes, so that
// a group of any size is one statement. Value must be a type that pgx knows
// without asking the server, as behind a transaction pooler: string, not a type
// made of it.
func Column[Row, Value any](rows []Row, field func(Row) Value) []Value {
	values := make([]Value, len(rows))
	for i, r := range rows {
		values[i] = field(r)
	}
	return values
}

// Given turns a value that was not told, the zero value, into NULL.
func Given[Value comparable](v Value) *Value {
	var absent Value
	if v == absent {
		return nil
	}
	return &v
}

// Minor is an amount as a column that may be NULL holds it: where no money was named
// the amount is zero, and nothing stands there. Its currency goes through Given.
func Minor(a money.Amount) *int64 {
	if a.IsZero() {
		return nil
	}
	return new(a.Minor())
}

// Amount reads such columns: zero where no money was named.
func Amount(minor *int64, currency *money.Currency) (money.Amount, error) {
	if minor == nil || currency == nil {
		return money.Amount{}, nil
	}
	return money.New(*minor, *currency)
}
