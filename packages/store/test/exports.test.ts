import { expect, it } from 'vitest'
import * as store from '../src/index.ts'
import * as records from '../src/records/index.ts'

it('the package exports the documented names', () => {
  expect(Object.keys(store).toSorted())
    .toEqual(['AuditCheck', 'auditThread', 'createMemoryStore', 'openSqliteStore', 'tryStore', 'verifyAudit'])
  expect(Object.keys(records).toSorted()).toEqual([
    'CHAIN_START', 'adoptedEnd', 'archiveRecord', 'auditPage', 'byKey', 'checkAddress', 'draftGroup', 'entriesOf',
    'finishedText', 'linkOf', 'nameOf', 'readRecord', 'seatLost', 'storeClosed', 'storeError', 'storedRecord',
    'writeRecord',
  ])
})
