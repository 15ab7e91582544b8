/**
 * Workers, the calls placed on them, and packages for them. `@JOBS.` are the tables of pg-boss, which the first worker
 * makes: no job is written before there is one.
 */
export const WORKERS = `CREATE TABLE @.worker (
    id text PRIMARY KEY,
    info text NOT NULL,
    labels text[] NOT NULL,
    workspaces text[] NOT NULL,
    major integer NOT NULL,
    capacity integer NOT NULL CHECK (capacity > 0),
    channel text NOT NULL CHECK (channel ~ '^[a-z0-9_]{1,60}$'),
    lease interval NOT NULL,
    term bigint NOT NULL DEFAULT 1,
    since timestamptz NOT NULL DEFAULT clock_timestamp(),
    lease_until timestamptz NOT NULL,
    draining boolean NOT NULL DEFAULT false
  );
  CREATE TABLE @.placed (
    id text PRIMARY KEY,
    tenant text NOT NULL DEFAULT session_user,
    epoch integer NOT NULL DEFAULT 1,
    queue text NOT NULL CHECK (queue ~ '^calls-[0-9a-f]{32}$'),
    labels text[] NOT NULL,
    workspace text,
    major integer NOT NULL,
    session text NOT NULL,
    call text NOT NULL,
    caller text NOT NULL CHECK (caller ~ '^[a-z0-9_]{1,60}$'),
    ticket text NOT NULL,
    body bytea NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    deadline timestamptz NOT NULL,
    worker text,
    term bigint,
    begun text,
    begun_before text[] NOT NULL DEFAULT '{}',
    cancelled boolean NOT NULL DEFAULT false,
    closed timestamptz,
    ended text CHECK (ended IN ('settled', 'lost', 'untaken', 'closed')),
    result bytea CHECK (octet_length(result) <= 1048576),
    chunks integer NOT NULL DEFAULT 0 CHECK (chunks BETWEEN 0 AND 64)
  );
  ALTER TABLE @.placed ALTER COLUMN body SET STORAGE EXTERNAL, ALTER COLUMN result SET STORAGE EXTERNAL;
  CREATE INDEX placed_call ON @.placed (session, call);
  CREATE INDEX placed_waiting ON @.placed (queue) WHERE worker IS NULL AND ended IS NULL;
  CREATE INDEX placed_held ON @.placed (worker) WHERE worker IS NOT NULL AND ended IS NULL;
  CREATE TABLE @.placed_message (
    placed text NOT NULL REFERENCES @.placed ON DELETE CASCADE,
    epoch integer NOT NULL,
    to_worker boolean NOT NULL,
    number integer NOT NULL,
    message text NOT NULL CHECK (octet_length(message) <= 1048576),
    PRIMARY KEY (placed, epoch, to_worker, number)
  );
  CREATE TABLE @.placed_chunk (
    placed text NOT NULL REFERENCES @.placed ON DELETE CASCADE,
    epoch integer NOT NULL,
    number integer NOT NULL CHECK (number BETWEEN 0 AND 63),
    bytes bytea NOT NULL CHECK (octet_length(bytes) <= 1048576),
    PRIMARY KEY (placed, epoch, number)
  );
  ALTER TABLE @.placed_chunk ALTER COLUMN bytes SET STORAGE EXTERNAL;
  CREATE TABLE @.package (
    digest text PRIMARY KEY,
    chunks integer,
    used date NOT NULL DEFAULT current_date
  );
  CREATE TABLE @.package_chunk (
    digest text NOT NULL REFERENCES @.package ON DELETE CASCADE,
    number integer NOT NULL,
    bytes bytea NOT NULL CHECK (octet_length(bytes) <= 1048576),
    PRIMARY KEY (digest, number)
  );
  ALTER TABLE @.package_chunk ALTER COLUMN bytes SET STORAGE EXTERNAL;
  -- The job is named after the call and its epoch, and outlives both: a statement that arrives after the call was removed
  -- finds it, and writes nothing. A ticket expires before its job is removed.
  CREATE FUNCTION @.write_job() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp AS $$
  BEGIN
    IF NOT EXISTS (SELECT FROM @JOBS.queue AS known WHERE known.name = new.queue) THEN
      PERFORM @JOBS.create_queue(new.queue, '{"policy": "standard", "retryLimit": 0, "expireInSeconds": 86400,
        "retentionSeconds": 86400, "deleteAfterSeconds": 7200}');
    END IF;
    INSERT INTO @JOBS.job_common (id, name, data, start_after, created_on, group_id, expire_seconds, deletion_seconds,
      keep_until, retry_limit, retry_delay, retry_backoff, policy)
    SELECT md5(new.id || ' ' || new.epoch)::uuid, known.name, jsonb_build_object('id', new.id, 'epoch', new.epoch), now(), now(), session_user,
      known.expire_seconds, known.deletion_seconds, now() + known.retention_seconds * interval '1s',
      known.retry_limit, known.retry_delay, known.retry_backoff, known.policy
    FROM @JOBS.queue AS known WHERE known.name = new.queue;
    RETURN NULL;
  END $$;
  CREATE TRIGGER call_placed AFTER INSERT OR UPDATE OF epoch ON @.placed FOR EACH ROW EXECUTE FUNCTION @.write_job();`
