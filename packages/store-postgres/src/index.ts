export {
  migratePostgres, openPostgresStore, postgresStatus, type PostgresRetention, type PostgresStatus, type PostgresStoreOptions,
  type PostgresTenant,
} from './open-postgres-store.ts'
export { readStoreUrl, tenantUrl } from './connection/store-url.ts'
export { addPool, listPools, maintainPostgres, removePool, type ListedPool, type PostgresPool } from './tenants/pools.ts'
export { addTenant, listTenants, removeTenant, type ListedTenant, type PostgresTenantLogin } from './tenants/tenants.ts'
