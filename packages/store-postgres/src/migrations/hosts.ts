/**
 * Records, audits, changes, and hosts with their calls. The key of a record may be longer than an index takes, so its
 * digest is the key of the table.
 */
export const HOSTS = `CREATE TABLE @.entry (
   collection text NOT NULL,
   id bytea NOT NULL,
   key text COLLATE "C" NOT NULL,
   value text NOT NULL,
   revision bigint NOT NULL,
   PRIMARY KEY (collection, id)
 );
 CREATE INDEX entry_key ON @.entry (collection, (left(key, 200)) COLLATE "C");
 CREATE TABLE @.audit_chain (
   id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
   name text NOT NULL UNIQUE,
   since timestamptz NOT NULL DEFAULT now(),
   first_position bigint NOT NULL DEFAULT 1,
   before_link text NOT NULL DEFAULT repeat('0', 64),
   last_position bigint NOT NULL DEFAULT 0,
   last_link text NOT NULL DEFAULT repeat('0', 64)
 );
 CREATE TABLE @.audit (
   chain integer NOT NULL REFERENCES @.audit_chain,
   position bigint NOT NULL,
   record text NOT NULL,
   link text NOT NULL,
   token bigint NOT NULL,
   PRIMARY KEY (chain, position)
 );
 CREATE TABLE @.change (
   id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
   at bigint NOT NULL,
   workspace text NOT NULL,
   session text NOT NULL,
   record text NOT NULL,
   token bigint NOT NULL
 );
 CREATE INDEX change_session ON @.change (session, id);
 CREATE INDEX change_workspace ON @.change (workspace, id);
 CREATE TABLE @.content (
   digest text PRIMARY KEY,
   size bigint NOT NULL,
   used bigint NOT NULL,
   at bigint NOT NULL,
   bytes bytea NOT NULL
 );
 CREATE INDEX content_used ON @.content (used, digest);
 CREATE TABLE @.gate (
   one boolean PRIMARY KEY DEFAULT true CHECK (one),
   revision bigint NOT NULL DEFAULT 0,
   number bigint NOT NULL DEFAULT 0,
   epoch bigint NOT NULL DEFAULT 0,
   frozen text
 );
 INSERT INTO @.gate DEFAULT VALUES;
 CREATE FUNCTION @.approval_changed() RETURNS trigger LANGUAGE plpgsql AS $$
 BEGIN
   UPDATE @.gate SET revision = revision + 1;
   PERFORM pg_notify('@#', 'revision');
   RETURN NULL;
 END $$;
 CREATE TRIGGER approval_written AFTER INSERT OR UPDATE ON @.entry FOR EACH ROW
   WHEN (new.collection = 'approval') EXECUTE FUNCTION @.approval_changed();
 CREATE TRIGGER approval_removed AFTER DELETE ON @.entry FOR EACH ROW
   WHEN (old.collection = 'approval') EXECUTE FUNCTION @.approval_changed();
 CREATE TABLE @.seat (
   id text PRIMARY KEY,
   info text NOT NULL,
   since timestamptz NOT NULL DEFAULT clock_timestamp(),
   ended timestamptz,
   taken_by text
 );
 CREATE TABLE @.heartbeat (
   seat text PRIMARY KEY REFERENCES @.seat ON DELETE CASCADE,
   at timestamptz NOT NULL DEFAULT clock_timestamp()
 );
 CREATE TABLE @.open_call (
   seat text NOT NULL,
   number bigint NOT NULL,
   call text NOT NULL,
   begun text NOT NULL,
   PRIMARY KEY (seat, number)
 );
 CREATE TABLE @.shown (
   seat text NOT NULL REFERENCES @.seat ON DELETE CASCADE,
   kind text NOT NULL,
   id text NOT NULL,
   value text NOT NULL,
   PRIMARY KEY (seat, kind, id)
 );`
