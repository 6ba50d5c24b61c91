package outbox

// Cursor is where reads of the lane begin.
func (r *Reader) Cursor(lane int16) int64 { return r.horizon.mark().cursors[lane] }
