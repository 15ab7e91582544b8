import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '@bulkhead/kit/json'
import { packFolder } from '@bulkhead/loader'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { conform, reportOf, type Report } from '../src/index.ts'
import { validatorOf } from '../src/validators.ts'
import { GOOD } from './examples/good.ts'
import { writeExample } from './examples/package-of.ts'

let folder: string
beforeAll(() => { folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-report-'))) })
afterAll(() => rmSync(folder, { recursive: true }))

it('a real report satisfies the JSON Schema that ships, and other objects do not', async () => {
  const schema = new URL(import.meta.resolve('@bulkhead/contract/schema/conformance-report.schema.json'))
  const faultIn = validatorOf(JSON.parse(readFileSync(schema, 'utf8')) as JsonObject)
  // Checks pass, fail and cannot run.
  const { extension, warnings } = await packFolder(writeExample(folder, GOOD['a pure function']!), {
    loader: { coreVersion: '1.0.0', roots: { global: null }, bundled: [] },
  })
  const sandbox = { open: () => Promise.reject(new Error('not here')), close: async () => undefined }
  const results = await conform(
    { extension, warnings, sandbox, workspace: folder }, { only: ['manifest', 'exports', 'abort'] },
  )
  const report = reportOf({ extension, hostVersion: '1.0.0', seed: 1, results })
  expect(new Set(report.checks.map(({ ok }) => ok))).toEqual(new Set([true, false, null]))
  const written = (change: object): JsonObject => JSON.parse(JSON.stringify({ ...report, ...change })) as JsonObject
  expect(faultIn(written({}))).toBeUndefined()
  const wrong: readonly Partial<Record<keyof Report, unknown>>[] = [
    { digest: 'abc' }, { host: undefined }, { summary: { conforms: true } }, { checks: [{ id: 'abort' }] },
    { checks: report.checks.map((check) => ({ ...check, ok: 'yes' })) },
  ]
  for (const change of wrong) expect(faultIn(written(change))).toBeDefined()
})
