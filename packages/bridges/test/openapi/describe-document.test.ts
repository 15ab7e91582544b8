import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MANIFEST_LIMITS } from '@bulkhead/contract'
import { expect, it, onTestFinished } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { describeDocument } from '../../src/openapi/describe-document.ts'
import { document } from './reading/read.ts'

const { tools: MOST, manifestBytes, subschemasPerExtension } = MANIFEST_LIMITS
const bodyOf = (schema: object) => ({ requestBody: { content: { 'application/json': { schema } } } })
const properties = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`p${index}`, {}]))

it.each([
  ['tools', {}, MOST], ['bytes of manifest', { description: 'x'.repeat(4_000) }, Math.floor(manifestBytes / 4_000)],
  ['subschemas', bodyOf({ type: 'object', properties }), Math.floor(subschemasPerExtension / 40)],
])('an extension that is made of a document has a number of %s', LONG, async (_, operation, most) => {
  const folder = mkdtempSync(join(tmpdir(), 'bulkhead-describe-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const paths = Object.fromEntries(Array.from({ length: MOST + 1 }, (__, index) =>
    [`/p${index}`, { post: { operationId: `op${index}`, ...operation } }]))
  const path = join(folder, 'a.json')
  writeFileSync(path, JSON.stringify(document(paths, { servers: [{ url: 'https://shop.example' }] })))
  const { extension, notes } = await describeDocument(path, { id: 'shop' })
  expect(extension.tools.length).toBeLessThanOrEqual(most)
  const leftOut = `${MOST + 1 - extension.tools.length} of ${MOST + 1} operations are left out`
  expect(notes).toContainEqual(expect.stringContaining(leftOut))
})
