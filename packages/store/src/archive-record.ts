import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { writeRecord } from './record-text.ts'

/** The last of the records that were taken out. */
interface Last {
  readonly position: number
  readonly link: string
}

const TYPE = 'AuditArchived'

/** The text of the record that says of others that they were taken out, and by whom. */
export const archiveRecord = (first: number, { position: last, link }: Last, by: string): string =>
  writeRecord({ type: TYPE, at: new Date().toISOString(), first, last, link, by })

/** Whether it says so of all up to this one. */
export const tellsOfArchive = (record: Json, { position, link }: Last): boolean =>
  isJsonObject(record) && record['type'] === TYPE && record['last'] === position && record['link'] === link
