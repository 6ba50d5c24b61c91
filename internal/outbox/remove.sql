DELETE FROM outbox
WHERE lane = $1::smallint AND seq = ANY ($2::bigint[])
