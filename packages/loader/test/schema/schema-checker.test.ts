import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test, vi } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { LOADER_LIMITS } from '../../src/model/limits.ts'
import { schemaPool, WorkerSchemaChecker } from '../../src/schema/schema-checker.ts'
import { HomeFixture, manifestOf, toolOf } from '../home-fixture.ts'

const large = {
  type: 'object' as const,
  properties: Object.fromEntries(Array.from({ length: 100 }, (_, index) => [
    `p${index}`, { type: 'string', minLength: 1, pattern: `^a{${index}}$` },
  ])),
}
const hurried = { ...LOADER_LIMITS, schemaMs: 1 }
/** Long enough for a busy machine. */
const unhurried = { ...LOADER_LIMITS, schemaMs: 60_000 }
const inspect = (schema: object, limits = LOADER_LIMITS) => new WorkerSchemaChecker(limits).inspect(schema as never)

test('refuses a schema that takes too long, and checks those behind it', async () => {
  const verdicts = await Promise.all([
    inspect({ type: 'object' }), inspect(large, hurried), inspect({ type: 'string' }), inspect({ type: 'text' }),
  ])
  expect(verdicts.map(({ ok }) => ok)).toEqual([true, false, true, false])
  expect(verdicts[1]).toMatchObject({
    faults: [{ message: expect.stringMatching(/more than 1 ms of CPU time|within 12 ms/) }],
  })
})

test('takes schemas that wait together, and each has its own verdict', async () => {
  const asked = vi.spyOn(schemaPool, 'run')
  const verdicts = await Promise.all(Array.from({ length: 200 }, (_, index) =>
    inspect(index === 99 ? { type: 'text' } : { type: 'object', title: `together ${index}` })))
  expect(verdicts.flatMap(({ ok }, index) => ok ? [] : [index])).toEqual([99])
  expect(asked.mock.calls.map(([requests]) => requests.length)).toEqual([64, 64, 64, 8])
  asked.mockRestore()
})

test('refuses more than may wait', LONG, async () => {
  const gate = Promise.withResolvers<void>()
  const held = vi.spyOn(schemaPool, 'run').mockImplementation(async (requests) => {
    await gate.promise
    return requests.map(() => ({ verdict: { ok: true, subschemas: 0 } }))
  })
  const checker = new WorkerSchemaChecker(LOADER_LIMITS)
  const checks = Array.from({ length: 100_001 }, () => checker.check({}, {}))
  expect(await checks.at(-1)).toMatchObject({ noThread: true, message: expect.stringContaining('100000 others wait') })
  gate.resolve()
  expect((await Promise.all(checks)).filter((fault) => fault !== undefined)).toHaveLength(1)
  held.mockRestore()
})

test('checks values too', async () => {
  const schema = { type: 'object', properties: { a: { type: 'integer' } } } as const
  const checker = new WorkerSchemaChecker(LOADER_LIMITS)
  expect(await Promise.all([checker.check(schema, { a: 1 }), checker.check(schema, { a: 'x' })])).toMatchObject([
    undefined, { path: '/a' },
  ])
})

test('does not block the host while it checks a large schema', async () => {
  await inspect({})
  let turns = 0
  const counting = setInterval(() => turns++, 1)
  expect((await inspect(large, unhurried)).ok).toBe(true)
  clearInterval(counting)
  expect(turns).toBeGreaterThan(0)
})

test('leaves out only the extension whose schema takes too long', LONG, async () => {
  using home = new HomeFixture()
  home.extension(home.globalRoot, 'slow', manifestOf({
    id: 'slow', tools: [toolOf({ name: 'slow', inputSchema: large })],
  }))
  const { extensions, diagnostics } = await home.load({ limits: { schemaMs: 1 } })
  expect(extensions).toEqual([])
  expect(diagnostics).toMatchObject([{ stage: 'configSchema', code: 'ConfigSchemaInvalid', extensionId: 'slow' }])
  expect((await home.load({ limits: { schemaMs: 60_000 } })).extensions).toHaveLength(1)
})

test.each([['code', true], ['co*de', false]])('shares a compile cache in %s: %s', LONG, async (name, keeps) => {
  const folder = mkdtempSync(join(tmpdir(), 'bulkhead-schema-'))
  const env = { ...process.env, NODE_COMPILE_CACHE: join(folder, name), NODE_DISABLE_COMPILE_CACHE: undefined }
  const child = fileURLToPath(new URL('schema-child.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [child], { env })
  const { ok, added } = JSON.parse(stdout) as { readonly ok: boolean; readonly added: number }
  expect(ok).toBe(true)
  // The modules of the thread.
  expect(added > 10).toBe(keeps)
  rmSync(folder, { recursive: true })
})
