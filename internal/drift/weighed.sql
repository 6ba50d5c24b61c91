WITH gone AS (
    DELETE FROM drift_seen WHERE scan_id = $1 AND object_id = ANY ($2::text[])),
     failed AS (
         UPDATE drift_seen SET tries = tries + 1 WHERE scan_id = $1 AND object_id = ANY ($3::text[]))
INSERT INTO drift_question (scan_id, operation_id)
SELECT $1, id
FROM unnest($4::uuid[]) AS asked (id)
ORDER BY id
ON CONFLICT DO NOTHING
