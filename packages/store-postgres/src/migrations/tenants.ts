// How the tables came to have tenants: in two migrations, because a host of the version before names the old keys.

const RECORDS = [
  'entry', 'audit_chain', 'audit', 'change', 'content', 'gate', 'seat', 'heartbeat', 'open_call', 'shown',
] as const
/** Workers of the main role serve the calls of all. */
const SERVED = ['placed', 'placed_message', 'placed_chunk', 'package', 'package_chunk'] as const
/** Every table with records. All of them have a tenant. */
export const TENANT_TABLES = [...RECORDS, ...SERVED] as const
/** The main role sees the rows of all: it holds gates, and serves calls. */
const ALSO_MAIN: ReadonlySet<string> = new Set(['gate', ...SERVED])

/** Except those whose values are no secret of a tenant. A condition may follow. */
const COLUMNS = `pg_attribute JOIN pg_class ON pg_class.oid = attrelid
  WHERE relnamespace = '"@SCHEMA"'::regnamespace AND relkind = 'r' AND relname <> 'store_version' AND attnum > 0
    AND NOT attisdropped AND attname NOT IN ('tenant', 'collection', 'epoch')`

const each = (tables: readonly string[], text: string): string =>
  tables.map((table) => text.replaceAll('@TABLE', table)).join('\n')

/**
 * Adds the tenant, and the keys that hosts of this version use. Those of the version before use the old ones, which stay.
 * `@WHO` is the tenant of the role that runs a statement.
 */
export const ADD_TENANTS = `
  ALTER TABLE @.placed DROP COLUMN tenant;
  ${each(TENANT_TABLES, `
    ALTER TABLE @.@TABLE ADD COLUMN tenant text COLLATE "C" NOT NULL DEFAULT '';
    ALTER TABLE @.@TABLE ALTER COLUMN tenant SET DEFAULT @WHO, ENABLE ROW LEVEL SECURITY;`)}
  ${TENANT_TABLES.map((table) =>
    `CREATE POLICY tenant ON @.${table} USING (tenant = @WHO${ALSO_MAIN.has(table) ? " OR @WHO = ''" : ''});`).join('\n')}
  CREATE UNIQUE INDEX entry_tenant ON @.entry (tenant, collection, id);
  CREATE UNIQUE INDEX content_tenant ON @.content (tenant, digest);
  CREATE UNIQUE INDEX open_call_tenant ON @.open_call (tenant, seat, number);
  CREATE UNIQUE INDEX shown_tenant ON @.shown (tenant, seat, kind, id);
  CREATE UNIQUE INDEX audit_chain_tenant ON @.audit_chain (tenant, name);
  ALTER TABLE @.gate ADD COLUMN held text;
  ALTER TABLE @.seat ADD COLUMN knows int NOT NULL DEFAULT 0;
  CREATE OR REPLACE FUNCTION @.approval_changed() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
  BEGIN
    UPDATE @.gate SET revision = revision + 1 WHERE tenant = CASE WHEN TG_OP = 'DELETE' THEN old.tenant ELSE new.tenant END;
    PERFORM pg_notify('@#', '');
    RETURN NULL;
  END $$;
  REVOKE EXECUTE ON FUNCTION @.approval_changed(), @.write_job() FROM PUBLIC;
  -- A worker names a call by its id alone, so that is unique over all tenants. It is random.
  DROP INDEX @.placed_call;
  CREATE INDEX placed_call ON @.placed (tenant, session, call);
  ALTER TABLE @.placed ADD UNIQUE (tenant, id);
  ALTER TABLE @.placed_message DROP CONSTRAINT placed_message_placed_fkey, DROP CONSTRAINT placed_message_pkey,
    ADD PRIMARY KEY (placed, epoch, to_worker, number, tenant),
    ADD FOREIGN KEY (tenant, placed) REFERENCES @.placed (tenant, id) ON DELETE CASCADE;
  ALTER TABLE @.placed_chunk DROP CONSTRAINT placed_chunk_placed_fkey, DROP CONSTRAINT placed_chunk_pkey,
    ADD PRIMARY KEY (placed, epoch, number, tenant),
    ADD FOREIGN KEY (tenant, placed) REFERENCES @.placed (tenant, id) ON DELETE CASCADE;
  ALTER TABLE @.package_chunk DROP CONSTRAINT package_chunk_digest_fkey;
  ALTER TABLE @.package DROP CONSTRAINT package_pkey, ADD PRIMARY KEY (tenant, digest);
  ALTER TABLE @.package_chunk DROP CONSTRAINT package_chunk_pkey, ADD PRIMARY KEY (tenant, digest, number),
    ADD FOREIGN KEY (tenant, digest) REFERENCES @.package ON DELETE CASCADE;`

/**
 * Puts the tenant into every key. Numbers of chains are random: a sequence would tell how many there are, and one tenant
 * could use it up. The server keeps no samples of what tenants write: EXPLAIN shows guesses that rest on them.
 */
export const ONLY_TENANT_KEYS = `
  ALTER TABLE @.shown DROP CONSTRAINT shown_seat_fkey;
  ALTER TABLE @.heartbeat DROP CONSTRAINT heartbeat_seat_fkey, DROP CONSTRAINT heartbeat_pkey;
  ALTER TABLE @.audit DROP CONSTRAINT audit_chain_fkey, DROP CONSTRAINT audit_pkey;
  ALTER TABLE @.entry DROP CONSTRAINT entry_pkey, ADD CONSTRAINT entry_pkey PRIMARY KEY USING INDEX entry_tenant;
  ALTER TABLE @.content DROP CONSTRAINT content_pkey, ADD CONSTRAINT content_pkey PRIMARY KEY USING INDEX content_tenant;
  ALTER TABLE @.open_call DROP CONSTRAINT open_call_pkey, ADD CONSTRAINT open_call_pkey PRIMARY KEY USING INDEX open_call_tenant;
  ALTER TABLE @.shown DROP CONSTRAINT shown_pkey, ADD CONSTRAINT shown_pkey PRIMARY KEY USING INDEX shown_tenant;
  ALTER TABLE @.seat DROP CONSTRAINT seat_pkey, ADD PRIMARY KEY (tenant, id);
  ALTER TABLE @.gate DROP CONSTRAINT gate_pkey, DROP COLUMN one, ADD PRIMARY KEY (tenant);
  ALTER TABLE @.change DROP CONSTRAINT change_pkey, ADD PRIMARY KEY (tenant, id);
  ALTER TABLE @.audit_chain ALTER COLUMN id DROP IDENTITY,
    DROP CONSTRAINT audit_chain_name_key, DROP CONSTRAINT audit_chain_pkey,
    ADD PRIMARY KEY (tenant, id), ADD CONSTRAINT audit_chain_name_key UNIQUE USING INDEX audit_chain_tenant;
  ALTER TABLE @.audit_chain ALTER COLUMN id SET DEFAULT floor(random() * 2147483647)::int;
  ALTER TABLE @.heartbeat ADD PRIMARY KEY (tenant, seat),
    ADD FOREIGN KEY (tenant, seat) REFERENCES @.seat ON DELETE CASCADE;
  ALTER TABLE @.shown ADD FOREIGN KEY (tenant, seat) REFERENCES @.seat ON DELETE CASCADE;
  ALTER TABLE @.audit ADD PRIMARY KEY (tenant, chain, position),
    ADD FOREIGN KEY (tenant, chain) REFERENCES @.audit_chain;
  DROP INDEX @.entry_key, @.change_session, @.change_workspace, @.content_used;
  CREATE INDEX entry_key ON @.entry (tenant, collection, (left(key, 200)) COLLATE "C");
  CREATE INDEX change_session ON @.change (tenant, session, id);
  CREATE INDEX change_workspace ON @.change (tenant, workspace, id);
  CREATE INDEX content_used ON @.content (tenant, used, digest);
  DO $$
  DECLARE one record;
  BEGIN
    FOR one IN SELECT attrelid::regclass AS place, string_agg(format('ALTER COLUMN %I SET STATISTICS 0', attname), ', ') AS columns
      FROM ${COLUMNS} GROUP BY 1
    LOOP
      EXECUTE format('ALTER TABLE %s %s', one.place, one.columns);
    END LOOP;
    -- Samples that there are go when the type is set again.
    FOR one IN SELECT attrelid::regclass AS place, attname AS name, format_type(atttypid, atttypmod) AS form,
        CASE WHEN attcollation = 'pg_catalog."C"'::regcollation THEN ' COLLATE "C"' ELSE '' END AS collation_of
      FROM ${COLUMNS} AND (relname, attname) IN (SELECT tablename, pg_stats.attname FROM pg_stats WHERE schemaname = '@SCHEMA')
    LOOP
      EXECUTE format('ALTER TABLE %s ALTER COLUMN %I TYPE %s%s', one.place, one.name, one.form, one.collation_of);
    END LOOP;
  END $$;
  ALTER INDEX @.entry_key ALTER COLUMN 3 SET STATISTICS 0;`

/**
 * What the role of a tenant may do, by table. No sequence, no function and no other table. Where nothing is deleted, the
 * rights to change are those of columns: with one on the whole table, a tenant could lock it against all others.
 */
export const RIGHTS: ReadonlyMap<string, string> = new Map([
  ['store_version', 'SELECT'],
  ['entry', 'SELECT, INSERT, UPDATE, DELETE'],
  ['audit_chain', 'SELECT, INSERT, UPDATE (first_position, before_link, last_position, last_link)'],
  ['audit', 'SELECT, INSERT, DELETE'],
  ['change', 'SELECT, INSERT, DELETE'],
  ['content', 'SELECT, INSERT, UPDATE, DELETE'],
  ['gate', 'SELECT, UPDATE (revision, number, epoch, frozen)'],
  ['seat', 'SELECT, INSERT, UPDATE, DELETE'],
  ['heartbeat', 'SELECT, INSERT, UPDATE (at)'],
  ['open_call', 'SELECT, INSERT, UPDATE, DELETE'],
  ['shown', 'SELECT, INSERT, UPDATE, DELETE'],
  ['worker', 'SELECT'],
  ['placed', 'SELECT, INSERT, UPDATE, DELETE'],
  ['placed_message', 'SELECT, INSERT, DELETE'],
  ['placed_chunk', 'SELECT, DELETE'],
  ['package', 'SELECT, INSERT, UPDATE (chunks, used)'],
  ['package_chunk', 'SELECT, INSERT, UPDATE (bytes)'],
])
