import { describe, expect, it } from 'vitest'
import { BulkheadError } from '@bulkhead/contract'
import { codeOf, newSandbox, REMOTE, requestOf } from './fixture.ts'

const migrating = (body: string): string =>
  `export default { tools: { run: { execute: () => 1 } }, async migrateState(stored) { ${body} } }`
const OLD = { slotVersion: '1', data: { n: 7 } }

describe.each(REMOTE)('migrateState in a %s', (placement) => {
  const open = (source: string, limits = {}) => newSandbox().open(requestOf({ placement, source, limits }))

  it('has its compartment killed when it does not stop after it was cancelled', async () => {
    const session = await open(migrating('for (;;);'), { graceMs: 20 })
    const late = new AbortController()
    const answer = codeOf(session.migrateState(OLD, late.signal))
    late.abort(new BulkheadError('SlotMigrationFailed', 'migrateState took too long.'))
    expect(await answer).toBe('SlotMigrationFailed')
    expect(await session.ended).toMatchObject({ kind: 'failed', error: {
      code: 'CompartmentKilled',
      message: expect.stringMatching(/was ended because it did not stop\. migrateState took too long\.$/),
    } })
  })

  it('must be a function', async () => {
    const source = 'export default { tools: { run: { execute: () => 1 } }, migrateState: 7 }'
    expect(await codeOf(open(source))).toBe('ExportsMismatch')
  })
})
