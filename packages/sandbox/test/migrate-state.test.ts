import { describe, expect, it } from 'vitest'
import { BulkheadError } from '@bulkhead/contract'
import { codeOf, newSandbox, refusal, REMOTE, requestOf } from './fixture.ts'

const migrating = (body: string): string =>
  `export default { tools: { run: { execute: () => 1 } }, async migrateState(stored) { ${body} } }`
const OLD = { slotVersion: '1', data: { n: 7 } }
const { signal } = new AbortController()

describe.each(REMOTE)('migrateState in a %s', (placement) => {
  const open = (source: string, limits = {}) => newSandbox().open(requestOf({ placement, source, limits }))

  it('gets the stored state and returns JSON', async () => {
    const session = await open(
      migrating('return { slotVersion: "2", data: { was: stored, frozen: Object.isFrozen(stored) } }'),
    )
    expect(await session.migrateState(OLD, signal)).toEqual({ slotVersion: '2', data: { was: OLD, frozen: true } })
    expect(session.inFlight).toBe(0)
  })

  it('fails with SlotMigrationFailed when it throws, claims another code, returns no JSON, or is missing', async () => {
    const session = await open(migrating('throw Object.assign(new Error("no"), { code: "SessionCancelled" })'))
    expect(await refusal(session.migrateState(OLD, signal)))
      .toMatchObject({ code: 'SlotMigrationFailed', message: 'no' })
    expect(await codeOf((await open(migrating('return 1n'))).migrateState(OLD, signal))).toBe('SlotMigrationFailed')
    const without = await open('export default { tools: { run: { execute: () => 1 } } }')
    expect(await codeOf(without.migrateState(OLD, signal))).toBe('SlotMigrationFailed')
  })

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
