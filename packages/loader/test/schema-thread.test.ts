import { expect, test } from 'vitest'
import { LOADER_LIMITS } from '../src/limits.ts'
import { SchemaThread } from '../src/schema/schema-thread.ts'
import { HomeFixture, manifestOf, toolOf } from './home-fixture.ts'

const large = {
  type: 'object' as const,
  properties: Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`p${index}`, { type: 'string', minLength: 1, pattern: `^a{${index}}$` }])),
}
const hurried = { ...LOADER_LIMITS, schemaMs: 1 }
/** Also where the machine has better things to do. */
const patient = { ...LOADER_LIMITS, schemaMs: 60_000 }
const ask = (thread: SchemaThread, schema: object, limits = LOADER_LIMITS) =>
  thread.ask({ limits, schema: schema as never, checksValues: true })

test('a schema that takes too long is at fault, and those behind it are judged', async () => {
  const thread = new SchemaThread()
  const verdicts = await Promise.all([
    ask(thread, { type: 'object' }), ask(thread, large, hurried), ask(thread, { type: 'string' }), ask(thread, { type: 'text' }),
  ])
  expect(verdicts.map(({ verdict }) => verdict.ok)).toEqual([true, false, true, false])
  expect(verdicts[1]!.verdict).toMatchObject({ faults: [{ message: 'takes longer than 1 ms to compile' }] })
  expect((await ask(thread, large, patient)).verdict.ok).toBe(true)
})

test('values are checked there too', async () => {
  const thread = new SchemaThread()
  const schema = { type: 'object', properties: { a: { type: 'integer' } } } as const
  const check = (value: object) => thread.ask({ limits: LOADER_LIMITS, schema, checksValues: true, value: value as never })
  expect(await Promise.all([check({ a: 1 }), check({ a: 'x' })])).toMatchObject([{ verdict: { ok: true } }, { fault: { path: '/a' } }])
})

test('the host goes on meanwhile', async () => {
  const thread = new SchemaThread()
  await ask(thread, {})
  let turns = 0
  const counting = setInterval(() => turns++, 1)
  await ask(thread, large, patient)
  clearInterval(counting)
  expect(turns).toBeGreaterThan(0)
})

test('an extension whose schema takes too long is left out, and its neighbour is not', async () => {
  using home = new HomeFixture()
  home.extension(home.globalRoot, 'slow', manifestOf({ id: 'slow', tools: [toolOf({ name: 'slow', inputSchema: large })] }))
  const { extensions, diagnostics } = await home.load({ limits: { schemaMs: 1 } })
  expect(extensions).toEqual([])
  expect(diagnostics).toMatchObject([{ stage: 'configSchema', code: 'ConfigSchemaInvalid', extensionId: 'slow' }])
  expect((await home.load({ limits: { schemaMs: patient.schemaMs } })).extensions).toHaveLength(1)
})
