export {
  migratePostgres, openPostgresStore, postgresStatus, type PostgresRetention, type PostgresStatus, type PostgresStoreOptions,
  type PostgresTenant,
} from './open-postgres-store.ts'
export { readStoreUrl, tenantUrl } from './connection/store-url.ts'
export { addTenant, listTenants, removeTenant, type ListedTenant, type PostgresTenantLogin } from './tenants/tenants.ts'
