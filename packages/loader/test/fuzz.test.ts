import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ERRORS, VALIDATION_STAGES, type LoadReport } from '@bulkhead/contract'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createLoader } from '../src/index.ts'
import { HomeFixture, manifestOf, toolOf } from './home-fixture.ts'

const manifest = manifestOf({
  configSchema: { type: 'object', additionalProperties: false, properties: { unit: { type: 'string', pattern: '^[cf]$' } } },
  stateSlot: { slotVersion: '1', schema: { type: 'object' } }, env: ['TOKEN'], dependsOn: [],
  tools: [
    toolOf(
      {
        requires: {
          fs: { read: ['src/**'] }, net: { hosts: ['a.example'] }, shell: [{ cmd: 'git', args: ['log', { prefix: '-' }] }],
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

type Mutation = { readonly at: number; readonly remove: number; readonly insert: Uint8Array }
const mutation: fc.Arbitrary<Mutation> = fc.record({
  at: fc.nat(10_000), remove: fc.oneof(fc.constant(0), fc.constant(1), fc.nat(60)),
  insert: fc.oneof(
    fc.uint8Array({ maxLength: 6 }),
    fc.constantFrom(
      ...'{}[]":,0-'.split(''), 'null', 'true', '1e999', '"__proto__":{},', '"\\ud800"', '\\u0000', '\u{feff}', '{"$ref":"#"}',
      '"$async":true,', '"pattern":"(a+)+$",', '[[[[[[',
    )
      .map((part) => new TextEncoder().encode(part)),
  ),
})

function mutate(source: string, mutations: readonly Mutation[]): Uint8Array {
  return mutations.reduce<Uint8Array>((bytes, { at, remove, insert }) => {
    const start = at % (bytes.length + 1)
    return Buffer.concat([bytes.subarray(0, start), insert, bytes.subarray(start + remove)])
  }, new TextEncoder().encode(source))
}

/** Any JSON value in the place of any member. */
const replacement = fc.tuple(fc.nat(), fc.jsonValue({ maxDepth: 4 }))
function replaceMember(value: unknown, pick: number, by: unknown): unknown {
  const places: [Record<string, unknown>, string][] = []
  const copy = structuredClone(value)
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    for (const key of Object.keys(node)) {
      places.push([node as Record<string, unknown>, key])
      walk((node as Record<string, unknown>)[key])
    }
  }
  walk(copy)
  const [holder, key] = places[pick % places.length]!
  holder[key] = by
  return copy
}

function expectSound(report: LoadReport): void {
  expect(report.extensions.length + report.diagnostics.filter(({ severity }) => severity === 'error').length).toBeGreaterThan(0)
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
    const report = await loader.load({ workspace: home.workspace, trust: 'trusted' })
    expectSound(report)
    loadedWhole += report.extensions.length
  }), { numRuns })
  return loadedWhole
}

test('mutated bytes of a manifest give a descriptor or a diagnostic', async () => {
  await survives('manifest', fc.array(mutation, { minLength: 1, maxLength: 4 }).map((mutations) => mutate(text, mutations)), 250)
})

test('any value anywhere in a manifest gives a descriptor or a diagnostic', async () => {
  const loaded = await survives(
    'manifest', replacement.map(([pick, by]) => JSON.stringify(replaceMember(manifest, pick, by))), 600,
  )
  expect(loaded).toBeGreaterThan(0)
})

test('bytes that were never a manifest', async () => {
  expect(await survives('manifest', fc.oneof(fc.uint8Array({ maxLength: 200 }), fc.json()), 200)).toBe(0)
})

test('mutated bytes of a configuration take no extension away, unless they say so', async () => {
  await survives('config', fc.array(mutation, { minLength: 1, maxLength: 3 }).map((mutations) => mutate(config, mutations)), 250)
  await survives('config', replacement.map(([pick, by]) => JSON.stringify(replaceMember(JSON.parse(config), pick, by))), 250)
})
