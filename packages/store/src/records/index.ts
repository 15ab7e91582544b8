// What every durable store needs: the text of records, and the chain of the audit. Loads no database.
export { CHAIN_START, finishedText, linkOf, type AuditDraft, type ChainPosition } from './audit-chain.ts'
export { adoptedEnd, archiveRecord, draftGroup, entriesOf } from './audit-group.ts'
export {
  auditPage, byKey, checkAddress, nameOf, readRecord, seatLost, storeClosed, storedRecord, storeError, writeRecord,
  type StoreFaultReason,
} from './stored-record.ts'
