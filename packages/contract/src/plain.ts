/**
 * What needs no validator, for whoever must be there at once: a thread that is started for one question, a command that prints a
 * line. The same things as in the whole contract, which takes ten times as long to load.
 */
export { BulkheadError, messageOf } from './bulkhead-error.ts'
export { ERRORS, type ErrorCode } from './errors.ts'
export { canonicalJson, isJsonObject, parseJson, pointerStep, type Json, type JsonObject } from './json.ts'
export { visibleJson, visibleText } from './visible-text.ts'
