-- Databases of payonce's owner that neither a demo nor a test made.
SELECT string_agg(d.datname, ', ')
FROM pg_database d
         JOIN pg_roles r ON r.oid = d.datdba
WHERE r.rolname = 'payonce_owner'
  AND d.datname !~ '^(payonce_demo|billing_demo|payonce_template|test)_'
