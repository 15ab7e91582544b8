export {
  migratePostgres, openPostgresStore, postgresStatus, type PostgresRetention, type PostgresStatus, type PostgresStoreOptions,
} from './open-postgres-store.ts'
export { readStoreUrl } from './connection/store-url.ts'
