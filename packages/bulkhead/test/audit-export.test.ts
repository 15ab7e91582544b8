import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Store } from '@bulkhead/contract'
import { JSON_LIMITS } from '@bulkhead/kit/json'
import { createMemoryStore, openSqliteStore, verifyAudit } from '@bulkhead/store'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import { exportLines, openExport } from '../src/cli/policy/audit-export.ts'

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-export-')) })
afterEach(() => rmSync(folder, { recursive: true }))

async function exported(count: number): Promise<string[]> {
  const store = createMemoryStore()
  for (let n = 1; n <= count; n++) await store.append({ n })
  const lines: string[] = []
  for await (const line of exportLines(store, await store.auditSpan())) lines.push(line)
  return lines
}

async function prove(lines: readonly string[]): Promise<unknown> {
  const file = join(folder, 'audit.jsonl')
  writeFileSync(file, lines.map((line) => `${line}\n`).join(''))
  return verifyAudit(await openExport(file))
}

it.each([0, 1, 3])('verifies an export of %d records', async (count) => {
  expect(await prove(await exported(count))).toMatchObject({ ok: true, records: count })
})

it.each([
  [3, 'the last line again', (lines: readonly string[]) => lines.at(-1)!],
  [3, 'one of before', (lines: readonly string[]) => lines[1]!],
  [3, 'one that was never written', () => '{"position":2,"record":{"n":9},"link":null}'],
  [0, 'one in an empty one', () => '{"position":0,"record":{"n":9},"link":null}'],
])('rejects an extra line in an export of %d records: %s', async (count, _, extra) => {
  const lines = await exported(count)
  await expect(prove([...lines, extra(lines)])).rejects.toMatchObject({
    code: 'StoreUnavailable',
    message: expect.stringContaining(`line ${count + 2} is not a record of an exported audit`),
  })
})

it('verifies records that were written in one batch, however long the batch is', LONG, async () => {
  await using store = await openStore()
  const text = JSON.stringify('x'.repeat(1_000_000))
  await store.appendAll!({
    forms: [{ same: {}, own: ['text'] }], rows: Array.from({ length: 17 }, () => `0,${text}`), texts: [],
  })
  const lines: string[] = []
  for await (const line of exportLines(store, await store.auditSpan())) lines.push(line)
  expect(lines.at(-1)!.length).toBeGreaterThan(JSON_LIMITS.maxChars)
  expect(await prove(lines)).toMatchObject({ ok: true, records: 17 })
})

async function openStore(): Promise<Store & AsyncDisposable> {
  const store = await openSqliteStore({ file: join(folder, 'host.db') })
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() })
}

it('verifies an export longer than one read, and can verify it again', async () => {
  expect(await prove(await exported(2_500))).toMatchObject({ ok: true, records: 2_500 })
  using audit = await openExport(join(folder, 'audit.jsonl'))
  const positions = async (from: number, limit: number) =>
    (await audit.records(from, limit)).map(({ position }) => position)
  expect(await positions(2_499, 5)).toEqual([2_499, 2_500])
  expect(await positions(2, 3)).toEqual([2, 3, 4])
  expect(await positions(5, 1)).toEqual([5])
})
