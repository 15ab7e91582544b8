export { createMemoryStore } from './memory-store.ts'
export { openSqliteStore, type SqliteStoreOptions } from './sqlite/open-sqlite-store.ts'
export { verifyAudit, type Anchor, type AuditSource, type AuditVerdict } from './verify-audit.ts'
export type { StoreFaultReason } from './store-fault.ts'
