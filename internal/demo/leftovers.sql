-- What the audit needs to know beside payments: events that are not published,
-- takeovers.
SELECT (SELECT count(*) FROM outbox) + (SELECT count(*) FROM outbox_parked),
       (SELECT count(*) FROM payment_history WHERE reason = 'lease-ran-out')
