import { DatabaseSync } from 'node:sqlite'
import { CHAIN_START } from '../../audit-chain.ts'
import { storeFault } from '../../store-fault.ts'
import { BLOCKING_WAIT_MS } from '../patience.ts'
import { refuseStrangers } from '../schema.ts'
import { AuditEnd } from './audit-end.ts'
import { markFile, readMark, type ChainEnd } from './audit-mark.ts'

/**
 * Throws for a store that has not got what it acknowledged. Contract: changes nothing. Over a connection that cannot write, since one
 * that can writes the log back when it is closed, as far as it can be read, and removes it.
 */
export function refuseLostEnd(file: string): void {
  // Before the store is looked at: whoever writes to it notes what is there already.
  const mark = readMark(file)
  if (mark === undefined) return
  const end = endOf(file)
  if (end.position > mark.position || (end.position === mark.position && end.link === mark.link)) return
  const why = 'Its log was damaged or removed, or an older copy was put in its place'
  const cure = `It was left as it is: restore a copy with the files beside it, or remove ${markFile(file)} to go on with what is there`
  throw storeFault(
    'corrupt', `The store ${file} is not whole: its audit had come to record ${mark.position}, and ends at ${end.position}. ${why}. ${cure}.`,
    { data: { file, acknowledged: mark.position, last: end.position } },
  )
}

function endOf(file: string): ChainEnd {
  using database = new DatabaseSync(file, { readOnly: true, timeout: BLOCKING_WAIT_MS, allowExtension: false, defensive: true })
  refuseStrangers(database, file)
  const isBlank = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'audit_end'").get() === undefined
  return isBlank ? { position: 0, link: CHAIN_START } : new AuditEnd(database).read()
}
