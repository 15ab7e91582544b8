import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExtensionDescriptor, Sandbox } from '@bulkhead/contract'
import { createLoader } from '@bulkhead/loader'
import { createSandbox } from '@bulkhead/sandbox'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { conform, REQUIREMENTS } from '../src/index.ts'

let folder: string
let sandbox: Sandbox
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-conform-')))
  sandbox = createSandbox({ workspace: folder })
})
afterAll(async () => {
  await sandbox.close()
  rmSync(folder, { recursive: true })
})

let count = 0
async function extension(code: string): Promise<ExtensionDescriptor> {
  const home = join(folder, `home-${++count}`)
  const place = join(home, 'tools/sample')
  mkdirSync(place, { recursive: true })
  writeFileSync(join(place, 'index.js'), code)
  writeFileSync(join(place, 'bulkhead.json'), JSON.stringify({
    kind: 'Tool', contractVersion: '1.0.0', requiredCoreVersion: '^1.0.0', id: 'sample', version: '1.0.0',
    tools: [{ name: 'sample', description: 'A sample.', inputSchema: { type: 'object' } }],
  }))
  const loader = createLoader({
    coreVersion: '1.0.0', roots: { global: home, projectFolder: '.bulkhead' }, bundled: [],
  })
  const overrides = { policy: { lock: { global: 'off' as const } } }
  const { extensions, diagnostics } = await loader.load({
    workspace: folder, trust: 'declined', projectDigest: 'any', overrides,
  })
  expect(diagnostics).toEqual([])
  return extensions[0]!
}

const failing = async (code: string) =>
  (await conform({ extension: await extension(code), sandbox })).filter(({ ok }) => !ok)
    .map(({ requirement, detail }) => [requirement, detail])

describe.concurrent('the conformance suite', () => {
  it('passes every requirement for a good extension', async () => {
    const results = await conform({
      extension: await extension(`export default { tools: { sample: { execute: (args) => Object.keys(args) } } }`),
      sandbox,
    })
    expect(results).toEqual(Object.keys(REQUIREMENTS).map((requirement) => ({ requirement, ok: true })))
  })

  it('accepts a tool that fails', async () => {
    expect(await failing(`export default { tools: { sample: { execute() { throw new Error('no') } } } }`)).toEqual([])
  })

  it.each([
    [
      'other tools than declared', `export default { tools: { other: { execute: () => 1 } } }`, 'exports',
      /ExportsMismatch/,
    ],
    [
      'a phase that throws',
      `export default { activate() { throw new Error('not ready') }, tools: { sample: { execute: () => 1 } } }`,
      'lifecycle-order', /LifecycleFailure.*not ready/,
    ],
    ['a dispose that fails the second time', `let done = false
      export default { dispose() { if (done) throw new Error('twice'); done = true }, tools: { sample: { execute: () => 1 } } }`, 'dispose-idempotent', /twice/],
    ['a tool that crashes on unusual arguments', `export default { tools: { sample: { execute: (args) => new Promise((resolve) => {
        if (args.number) queueMicrotask(() => { throw new Error('too much') }); else resolve(1)
      }) } } }`, 'worst-arguments', /CompartmentCrashed/],
    [
      'a tool that cannot be cancelled',
      `export default { tools: { sample: { execute(args) { if (Object.keys(args).length === 0) for (;;); } } } }`,
      'abort', /.+/,
    ],
  ])('finds %s', async (_, code, requirement, detail) => {
    expect(await failing(code)).toContainEqual([requirement, expect.stringMatching(detail)])
  })
})
