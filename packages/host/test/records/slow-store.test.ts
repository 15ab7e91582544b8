import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AuditGroup, BulkheadEvent } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { expect, test } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { AuditTrail } from '../../src/records/audit-trail.ts'
import { createRedaction } from '../../src/records/redaction.ts'
import { MemoryStore } from '../twin/store.ts'

/** Accepts groups, and answers when the test says so. */
class SlowStore extends MemoryStore {
  readonly #released = Promise.withResolvers<void>()
  readonly kept: JsonObject[] = []
  groups = 0

  async appendAll({ forms, rows }: AuditGroup): Promise<number> {
    this.groups++
    await this.#released.promise
    for (const [form, lostBefore] of rows.map((row) => JSON.parse(`[${row}]`) as [number, number?]))
      this.kept.push({ ...forms[form]!.same, ...(lostBefore === undefined ? {} : { lostBefore }) })
    return this.kept.length
  }

  release(): void {
    this.#released.resolve()
  }
}

test('a slow store loses records beyond a limit, which are counted, and memory stays bounded', LONG, async () => {
  const store = new SlowStore()
  const redaction = createRedaction([])
  const failures: unknown[] = []
  const trail = new AuditTrail({
    store, redaction: () => redaction, keepArguments: false, failed: (error) => failures.push(error),
  })
  let sent = 0
  const send = () =>
    trail.hear({ type: 'SuppressedError', source: 'test', message: String(++sent), at: '' } satisfies BulkheadEvent)

  // Every record counts for more than 1,000 characters.
  for (let turn = 0; turn < 200 && failures.length === 0; turn++) {
    for (let n = 0; n < 1_000; n++) send()
    await nextTurn()
  }
  for (let n = 0; n < 1_000; n++) send()
  await nextTurn()
  expect(store.groups).toBeLessThanOrEqual(8)
  expect(failures).toMatchObject([{ code: 'StoreUnavailable', message: expect.stringContaining('wait for the store') }])

  const flushed = trail.flush()
  store.release()
  await expect(flushed).rejects.toMatchObject({ code: 'StoreUnavailable' })
  const { length } = store.kept
  send()
  await trail.flush()
  expect(
    store.kept
      .slice(0, length)
      .every((record, index) => record['message'] === String(index + 1) && !('lostBefore' in record)),
  ).toBe(true)
  expect(store.kept.slice(length)).toEqual([
    { type: 'SuppressedError', source: 'test', message: String(sent), at: '', lostBefore: sent - 1 - length },
  ])
  expect(sent - 1 - length).toBeGreaterThanOrEqual(1_000)
})

test('4,096 records are written at once, and others together', () => {
  const store = new SlowStore()
  const redaction = createRedaction([])
  const trail = new AuditTrail({ store, redaction: () => redaction, keepArguments: false, failed: () => undefined })
  const send = (count: number) => {
    const event = { type: 'SuppressedError', source: 'test', message: '', at: '' } as const
    for (let sent = 0; sent < count; sent++) trail.hear({ ...event })
    return store.groups
  }
  expect([send(4_095), send(1), send(1)]).toEqual([0, 1, 1])
  store.release()
})
