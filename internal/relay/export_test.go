package relay

// Flying is how many records the client has and has neither delivered nor given
// back.
func (r *Relay) Flying() int64 { return r.flying.Load() }
