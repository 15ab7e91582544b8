import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ERRORS, VALIDATION_STAGES, type LoadReport } from '@bulkhead/contract'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LONG, thoroughly } from '../../../../scripts/thoroughly.ts'
import { createLoader } from '../../src/load/loader.ts'
import { HomeFixture, manifestOf, toolOf } from '../home-fixture.ts'
import { mutate, mutation, replaceMember, replacement } from '../mutations.ts'

const manifest = manifestOf({
  configSchema: {
    type: 'object', additionalProperties: false, properties: { unit: { type: 'string', pattern: '^[cf]$' } },
  },
  stateSlot: { slotVersion: '1', schema: { type: 'object' } }, env: ['TOKEN'], dependsOn: [],
  tools: [
    toolOf(
      {
        requires: {
          fs: { read: ['src/**'] }, net: { hosts: ['a.example'] },
          shell: [{ cmd: 'git', args: ['log', { prefix: '-' }] }],
        },
        approvalKey: '{city}',
      },
    ),
  ],
})
const text = JSON.stringify(manifest)
const config = JSON.stringify(
  {
    mode: 'allowlist', allowlist: ['x'], rules: [{ permission: 'x', action: 'deny' }], tools: { t: { a: 1 } },
    policy: { integrity: { global: 'warn' } },
  },
)

function expectSound(report: LoadReport): void {
  expect(report.extensions.length + report.diagnostics.filter(({ severity }) => severity === 'error').length)
    .toBeGreaterThan(0)
  for (const { stage, code, message, cure, location, path } of report.diagnostics) {
    expect(VALIDATION_STAGES).toContain(stage)
    expect(ERRORS).toHaveProperty(code)
    for (const words of [message, cure, location]) expect(words).not.toBe('')
    expect(path === '' || path.startsWith('/')).toBe(true)
  }
}

async function survives(file: 'manifest' | 'config', contents: fc.Arbitrary<string | Uint8Array>, numRuns: number) {
  using home = new HomeFixture()
  const location = home.extension(home.globalRoot, 'weather', text)
  const loader = createLoader(home.options())
  const path = file === 'manifest' ? join(location, 'bulkhead.json') : join(home.globalRoot, 'config.json')
  let loadedWhole = 0
  await fc.assert(fc.asyncProperty(contents, async (content) => {
    writeFileSync(path, content)
    const report = await loader.load({ workspace: home.workspace, trust: 'trusted', projectDigest: 'any' })
    expectSound(report)
    loadedWhole += report.extensions.length
  }), { numRuns })
  return loadedWhole
}

test('returns a descriptor or a diagnostic for a manifest with mutated bytes', async () => {
  await survives(
    'manifest', fc.array(mutation, { minLength: 1, maxLength: 4 }).map((mutations) => mutate(text, mutations)),
    thoroughly(60, 250),
  )
})

test('returns a descriptor or a diagnostic for any value anywhere in a manifest', async () => {
  const loaded = await survives(
    'manifest', replacement.map(([pick, by]) => JSON.stringify(replaceMember(manifest, pick, by))),
    thoroughly(60, 600),
  )
  expect(loaded).toBeGreaterThan(0)
})

test('returns a diagnostic for arbitrary bytes', async () => {
  expect(await survives('manifest', fc.oneof(fc.uint8Array({ maxLength: 200 }), fc.json()), thoroughly(50, 200)))
    .toBe(0)
})

test('keeps all extensions with a mutated configuration, unless it disables them', LONG, async () => {
  await survives(
    'config', fc.array(mutation, { minLength: 1, maxLength: 3 }).map((mutations) => mutate(config, mutations)),
    thoroughly(60, 250),
  )
  await survives(
    'config', replacement.map(([pick, by]) => JSON.stringify(replaceMember(JSON.parse(config), pick, by))),
    thoroughly(60, 250),
  )
})
