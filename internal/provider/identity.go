package provider

import (
	"strings"
	"sync/atomic"
)

// identityMark separates the account from the rest of a recipe, modeMark its name
// from its mode.
const (
	identityMark = "@"
	modeMark     = "/"
)

// InMode names one of the books that a provider keeps under one account, such as the
// test mode beside the live one: neither knows what was sent to the other.
func InMode(account, mode string) string { return account + modeMark + mode }

// Identity is which account at its provider a connector's credentials open, in the
// provider's own words. It is part of the recipe that every attempt stores: an
// address or a key that leads somewhere else since then is seen, and what was sent
// to one account is never asked for at another, where "not found" would be true
// and mean nothing.
type Identity struct{ account atomic.Pointer[string] }

// Learn keeps what the provider said. It does not change after the first time:
// credentials are read once, at start.
func (i *Identity) Learn(account string) { i.account.CompareAndSwap(nil, &account) }

// Known reports whether the provider has said it.
func (i *Identity) Known() bool { return i.account.Load() != nil }

// Recipe completes a recipe with the account, and is empty as long as that is not
// known: nothing is sent by a recipe without a name.
func (i *Identity) Recipe(recipe string) string {
	account := i.account.Load()
	if account == nil {
		return ""
	}
	return recipe + identityMark + *account
}

// AccountOf returns the account that a recipe names, empty where it names none.
func AccountOf(recipe string) string {
	_, account, _ := strings.Cut(recipe, identityMark)
	return account
}

// NamesAccountOnly reports whether a recipe tells the account and nothing of how a
// request is made, as that of an attempt does that was lost.
func NamesAccountOnly(recipe string) bool {
	return strings.HasPrefix(recipe, identityMark) && recipe != identityMark
}

// SameAccount reports whether two recipes are of one account at the provider. A
// recipe that names none does not know, and is no reason to stop.
func SameAccount(a, b string) bool {
	_, first, told := strings.Cut(a, identityMark)
	_, second, toldToo := strings.Cut(b, identityMark)
	return !told || !toldToo || first == second
}
