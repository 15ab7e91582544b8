/**
 * What needs no validator, for whoever must be there at once: a thread that is started for one question, a command that prints a
 * line, the store of either. The same things as in the whole contract, which takes ten times as long to load.
 */
export { BulkheadError, requireOptions } from './model/bulkhead-error.ts'
export { ERRORS, givesAdvice, type ErrorCode } from './model/errors.ts'
export { HEADER_NAME_PATTERN } from './model/names.ts'
export { auditRecord } from './ports/audit-group.ts'
export { STORE_COLLECTIONS } from './ports/store.ts'
