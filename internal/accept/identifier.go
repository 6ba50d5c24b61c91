package accept

// CheckIdentifier notes what is wrong with an invoice's id or an external reference by
// which payments are looked for: one that is never accepted can be on no payment.
func (e *InvalidError) CheckIdentifier(field, text string) {
	e.checkText(field, text, max(InvoiceIDCharsMax, ExternalReferenceCharsMax))
}
