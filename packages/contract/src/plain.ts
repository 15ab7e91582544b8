/**
 * What needs no validator, for whoever must be there at once: a thread that is started for one question, a command that prints a
 * line, the store of either. The same things as in the whole contract, which takes ten times as long to load.
 */
export { BulkheadError, messageOf } from './bulkhead-error.ts'
export { closeNames, meantNames } from './close-names.ts'
export { ERRORS, givesAdvice, type ErrorCode } from './errors.ts'
export { atPointer, canonicalJson, findJsonFault, isJsonObject, JSON_LIMITS, parseJson, pointerStep, type Json, type JsonObject } from './json.ts'
export { makeFolder } from './make-folder.ts'
export { HEADER_NAME_PATTERN } from './names.ts'
export { forms, requireOptions, type OptionForms } from './options.ts'
export { auditRecord } from './ports/audit-group.ts'
export { STORE_COLLECTIONS } from './ports/store.ts'
export { isThisMachine } from './this-machine.ts'
export { visibleJson, visibleText } from './visible-text.ts'
