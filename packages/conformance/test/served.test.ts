import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CompartmentLimits } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { packFolder } from '@bulkhead/loader'
import { createSandbox } from '@bulkhead/sandbox'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { conform, createRecorder, type CheckResult, type SuiteOptions } from '../src/index.ts'
import { LONG, thoroughly } from '../../../scripts/thoroughly.ts'
import { extension, input, WORD } from './examples/parts.ts'
import { writeExample, type Example } from './examples/package-of.ts'

const loader = { coreVersion: '1.0.0', roots: { global: null }, bundled: [] }
let folder: string
beforeAll(() => { folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-served-'))) })
afterAll(() => rmSync(folder, { recursive: true }))

let count = 0
/** In threads, because processes take long to start. `opened` counts compartments. */
async function run(
  example: Example, options: SuiteOptions = {}, limits: Partial<CompartmentLimits> = {},
): Promise<{ readonly results: readonly CheckResult[]; readonly opened: number }> {
  const workspace = join(folder, `workspace-${++count}`)
  mkdirSync(workspace)
  writeFileSync(join(workspace, 'README.md'), 'Some words.\n')
  const { extension: packed } = await packFolder(writeExample(join(folder, `example-${count}`), example), { loader })
  const recorder = await createRecorder()
  const sandbox = createSandbox({ workspace, dryRun: recorder.dryRun, spares: { process: 0, thread: 0 } })
  let opened = 0
  const inThreads: typeof sandbox = {
    ...sandbox,
    open: (request) => {
      opened++
      return sandbox.open({ ...request, placement: 'thread', limits: { ...request.limits, ...limits } })
    },
  }
  try {
    return { results: await conform({ extension: packed, sandbox: inThreads, workspace, recorder }, options), opened }
  } finally {
    await sandbox.close()
    await recorder.close()
  }
}

const faults = (results: readonly CheckResult[]): readonly string[] =>
  results.filter(({ ok, level }) => ok !== true && level === 'must').map(({ id, evidence }) => `${id}: ${evidence}`)

const tool = (name: string, capability: string, more: JsonObject = {}): JsonObject => ({
  name, description: `Uses ${capability} as honest tools do.`, inputSchema: input({ text: WORD }),
  requires: { capabilities: [capability] }, ...more,
})

/** Three honest tools, each of which fails if its capability is not served. */
const HONEST: Example = {
  manifest: extension('honest', [
    tool('call_upper', 'tools.call'), tool('remember_text', 'session'), tool('ask_colour', 'interact'),
    { name: 'upper_text', description: 'Returns the text in capital letters.', inputSchema: input({ text: WORD }) },
  ]),
  code: `export default { tools: {
    call_upper: { async execute({ text }, runtime) {
      const outcome = await runtime.tools.call('upper_text', { text })
      if (outcome.type === 'error') throw new Error(outcome.error_text)
      return { text: outcome.data.text }
    } },
    remember_text: { async execute({ text }, { session }) {
      const { texts = [] } = await session.read() ?? {}
      await session.write({ texts: [...texts, text].slice(-3) })
      return { session: await session.id(), texts: (await session.read()).texts.length }
    } },
    ask_colour: { async execute({ text }, { interact }) {
      if (!await interact.confirm('Choose a colour?')) throw new Error('declined')
      const colour = await interact.select(text, [{ label: 'red' }, { label: 'blue' }])
      const many = await interact.selectMany(text, [{ label: 'red' }, { label: 'blue' }])
      const form = await interact.form(text, { type: 'object', required: ['size'], properties: {
        size: { type: 'integer', minimum: 3 }, shade: { type: 'string', enum: ['dark', 'light'] } } })
      if (!(form.size >= 3)) throw new Error('the form has no size')
      const answer = await interact.ask('Which shade?')
      return { colour, many, answer, password: (await interact.password('Key?')).length }
    } },
    upper_text: { execute: ({ text }) => ({ text: String(text).toUpperCase() }) },
  } }\n`,
}

it('serves tools.call, session and interact', async () => {
  const { results } = await run(HONEST, { only: ['call-succeeds', 'power-declared', 'power-used-capabilities'] })
  expect(results.map(({ id, ok, evidence }) => [id, ok, evidence])).toEqual([
    ['call-succeeds', true, undefined], ['power-declared', true, undefined],
    ['power-used-capabilities', true, undefined],
  ])
})

const openedFor = async (...only: readonly string[]) => {
  const { results, opened: started } = await run(HONEST, { only })
  expect(faults(results)).toEqual([])
  return started
}

it('starts only the compartments that the chosen requirements need', async () => {
  expect(await openedFor('manifest', 'package-version')).toBe(0)
  expect(await openedFor('exports')).toBe(1)
  // One to start and stop it, and one for the calls.
  expect(await openedFor('call-succeeds')).toBe(2)
})

it('starts more compartments for requirements on lifecycles and on calls at once', LONG, async () => {
  expect(await openedFor('lifecycle-order')).toBe(1)
  expect(await openedFor('start-log')).toBe(1)
  expect(await openedFor('lifecycle-order', 'dispose-idempotent')).toBe(2)
  expect(await openedFor('restarts')).toBe(20)
  if (thoroughly(false, true)) expect(await openedFor('lifecycle')).toBe(24)
  // Two more for repeated calls and one for those at once.
  expect(await openedFor('call-parallel')).toBe(5)
})

it('a tool that calls itself is denied where a host denies it', LONG, async () => {
  const { results } = await run(
    {
      manifest: extension('deep', [
        tool('dig_deeper', 'tools.call', {
          outputSchema: { type: 'object', properties: { depth: { type: 'integer' } } },
        }),
      ]),
      code: `export default { tools: { dig_deeper: { async execute({ text }, { tools }) {
      const outcome = await tools.call('dig_deeper', { text })
      if (outcome.type === 'error' && outcome.error.code !== 'CapabilityDenied') throw new Error(outcome.error_text)
      return { depth: outcome.type === 'error' ? 0 : outcome.data.depth + 1 }
    } } } }\n`,
    },
    { only: ['call-succeeds'] },
  )
  expect(faults(results)).toEqual([])
})

const reader = (requires: JsonObject): Example => ({
  manifest: extension('csv-reader', [{
    name: 'read_table', description: 'Reads a table and counts its rows.', inputSchema: input({ text: WORD }), requires,
  }]),
  code: `export default { tools: { read_table: { execute: () => { throw new Error('There is no table.') } } } }\n`,
})

const alwaysFails = async (_: string, requires: JsonObject): Promise<void> => {
  const { results } = await run(reader(requires), { only: ['call-succeeds'] })
  expect(faults(results)).toEqual([expect.stringMatching(/^call-succeeds: read_table: all .* There is no table\.$/)])
}
it('a tool that always fails does not conform', () => alwaysFails('nothing', {}))
it.each<readonly [string, JsonObject]>([
  ['a host', { net: { hosts: ['api.example.com'] } }], ['a command', { shell: [{ cmd: 'git' }] }],
])('a tool that always fails does not conform, if it declares %s', LONG, alwaysFails)

it('reports an undeclared power first, also if the tool hides the denial', async () => {
  const { results } = await run({
    manifest: extension('hidden', ['loud', 'quiet', 'elsewhere'].map((name) => ({
      name, description: `Fetches a page, and is ${name} about failures.`, inputSchema: input({ text: WORD }),
      ...(name === 'elsewhere' && { requires: { net: { hosts: ['api.example.com'] } } }),
    }))),
    code: `const get = async (url) => (await fetch(url)).json()
      const hidden = () => { throw new Error('The service is down.') }
      export default { tools: {
        loud: { execute: () => get('https://api.example.com/') },
        quiet: { execute: () => get('https://api.example.com/').catch(hidden) },
        elsewhere: { execute: () => get('https://other.example.com/').catch(hidden) },
      } }\n`,
  }, { only: ['call-succeeds', 'error-text', 'power-declared', 'power-used-hosts'] })
  expect(results.map(({ id }) => id)[0]).toBe('power-declared')
  expect(results[0]).toMatchObject({ ok: false, evidence: expect.stringMatching(/^loud: .*fetch.*net/) })
  expect(results.find(({ id }) => id === 'call-succeeds')).toMatchObject({
    ok: false, evidence: expect.stringMatching(/because .*net/),
  })
  const {
    results: [quiet],
  } = await run(
    {
      manifest: extension('hidden', [
        { name: 'quiet', description: 'Fetches a page and hides failures.', inputSchema: input({ text: WORD }) },
      ]),
      code: `export default { tools: { quiet: { execute: () => fetch('https://api.example.com/v1').catch(() => { `
        + `throw new Error('Down.') }) } } }\n`,
    },
    { only: ['power-declared', 'call-succeeds'] },
  )
  expect(quiet).toMatchObject({
    id: 'power-declared', ok: false,
    evidence: 'quiet: it uses net (GET https://api.example.com/v1), which its requires does not declare',
  })
})

async function hangs(body: string): Promise<void> {
  const { results } = await run({
    manifest: extension('hanging', ['hang', 'other'].map((name) => ({
      name, description: `Does ${name} things for a long time.`, inputSchema: input({ text: WORD }), timeoutMs: 1_000,
    }))),
    code: `export default { tools: { hang: { execute() { ${body} } }, other: { execute: () => 1 } } }\n`,
  }, { only: ['calls', 'reload', 'abort'], budgetMs: 1_000 })
  const found = new Map(results.map(({ id, ok, evidence }) => [id, { ok, evidence }]))
  expect(found.get('call-in-time')).toEqual({
    ok: false, evidence: expect.stringMatching(/^hang .*longer than 1000 ms/),
  })
  const reason = 'not run for lack of time: "hang" hung, and the suite waits 1 s for what hangs'
  for (const id of ['call-parallel', 'input-satisfiable', 'reload', 'abort'])
    expect(found.get(id)).toEqual({ ok: null, evidence: reason })
}
it('a tool that waits for ever costs the budget and no more, and what was not run is said', () =>
  hangs('return new Promise(() => {})'))
it('a tool that computes for ever costs the budget and no more, and what was not run is said', LONG, () =>
  hangs('for (;;);'))

it('a call that may take longer than the budget is not judged', async () => {
  const { results } = await run(
    {
      manifest: extension('slow', [
        {
          name: 'wait', description: 'Waits for a very long time.', inputSchema: input({ text: WORD }),
          timeoutMs: 60_000,
        },
      ]),
      code: 'export default { tools: { wait: { execute: () => new Promise(() => {}) } } }\n',
    },
    { only: ['calls'], budgetMs: 500 },
  )
  expect(new Set(results.map(({ ok }) => ok))).toEqual(new Set([null]))
  expect(results[0]!.evidence).toContain('"wait" hung, and the suite waits 0.5 s')
})

it('the budget holds for approval keys and for configurations', LONG, async () => {
  const manifest = extension(
    'hanging', [{ name: 'shout', description: 'Returns the text it gets.', inputSchema: input({ text: WORD }) }],
    { configSchema: input({ size: { type: 'integer', minimum: 1, maximum: 9, description: 'A size.' } }, []) },
  )
  const { results } = await run({
    manifest, code: `export default {
      init: ({ config }) => config.size === undefined ? undefined : new Promise(() => {}),
      tools: { shout: { execute: ({ text }) => ({ text }) } } }\n`,
  }, { only: ['config', 'reload'], budgetMs: 500 }, { phaseMs: 300 })
  const found = new Map(results.map(({ id, ok, evidence }) => [id, { ok, evidence }]))
  expect(found.get('config-valid')).toEqual({ ok: false, evidence: expect.stringContaining('init: LifecycleTimeout') })
  expect(found.get('config-missing')).toEqual({
    ok: null, evidence: 'not run for lack of time: init hung, and the suite waits 0.5 s for what hangs',
  })
  expect(found.get('reload')?.ok).toBe(null)
  const { results: keys } = await run({
    manifest, code: `export default { tools: { shout: {
      execute: ({ text }) => ({ text }), deriveApprovalKey: () => new Promise(() => {}) } } }\n`,
  }, { only: ['keys'], budgetMs: 500 })
  expect(new Set(keys.map(({ ok }) => ok))).toEqual(new Set([null]))
  expect(keys[0]!.evidence).toContain('deriveApprovalKey of "shout" hung')
})

it('a phase that hangs is run once', async () => {
  const { results, opened } = await run({
    ...HONEST, code: HONEST.code.replace('{ tools:', '{ init: () => new Promise(() => {}), tools:'),
  }, { only: ['lifecycle', 'calls'] }, { phaseMs: 300 })
  const found = new Map(results.map(({ id, ok, evidence }) => [id, { ok, evidence }]))
  expect(found.get('lifecycle-order')).toEqual({
    ok: false, evidence: expect.stringContaining('init: LifecycleTimeout'),
  })
  expect(found.get('restarts')).toEqual({
    ok: null, evidence: 'not run for lack of time: init took longer than its deadline',
  })
  expect(opened).toBe(1)
})
