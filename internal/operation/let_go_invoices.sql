-- What this very transaction held for a request that it now refuses.
DELETE FROM invoice_identity WHERE payment_id = ANY ($1::uuid[])
