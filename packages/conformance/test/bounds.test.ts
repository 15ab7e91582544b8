import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NO_GRANT } from '@bulkhead/contract'
import { packFolder } from '@bulkhead/loader'
import { createSandbox } from '@bulkhead/sandbox'
import { expect, it, onTestFinished } from 'vitest'
import { observeCalls } from '../src/calls.ts'
import { generateArguments } from '../src/generate.ts'
import { createRecorder } from '../src/recorder.ts'
import { PACKAGE_REQUIREMENTS } from '../src/package.ts'
import { OutOfTime, Patience } from '../src/patience.ts'
import { verifyPort } from '../src/ports/verify.ts'
import { callTool } from '../src/services.ts'
import { shout, extension as manifestOf } from './examples/parts.ts'
import { writeExample } from './examples/package-of.ts'

const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))

it('a run waits only so long for what hangs, and runs nothing afterwards', async () => {
  const patience = new Patience(20)
  await expect(patience.wait('"first"', 1_000, untilAborted)).rejects.toThrow(OutOfTime)
  expect(patience.reason).toBe('not run for lack of time: "first" hung, and the suite waits 0 s for what hangs')
  await expect(patience.wait('"second"', 1_000, async () => 'ran')).rejects.toThrow(OutOfTime)
})

it('a tool may use a power any number of times, and the first 100,000 uses are kept', async () => {
  const recorder = await createRecorder()
  onTestFinished(() => recorder.close())
  const use = { tool: 'look', part: 'net', subject: 'example.com' } as never
  for (let index = 0; index <= 100_000; index++) recorder.dryRun.used!(use)
  expect(recorder.uses).toHaveLength(100_000)
})

it.each([
  ['an optional member', { type: 'object', properties: { next: { $ref: '#' } } }],
  ['a required member', { type: 'object', properties: { next: { $ref: '#' } }, required: ['next'] }],
])('arguments of a schema that refers to itself have an end: %s', (_, schema) => {
  const made = generateArguments({ schema, accepts: () => true, seed: 1, runs: 2 })
  expect(made.some(({ kind }) => kind === 'valid')).toBe(true)
})

it('an experiment with a port that hangs is given up', async () => {
  const requirement = { id: 'one', level: 'must', statement: '', why: '', cure: '', spec: '' } as const
  const groups = { all: { requirements: [requirement], run: () => new Promise<never>(() => undefined) } }
  const { checks } = await verifyPort('store', groups, undefined, { patienceMs: 1 })
  expect(checks).toMatchObject([{ id: 'one', ok: null }])
})

it.each([[4, 'output'], [5, 'error']])('a tool that is %i deep gets an %s from another', async (depth, type) => {
  const own = { id: 'own', manifest: { tools: [shout({ name: 'outer' })] } } as never
  const outcome = await callTool('inner', {}, new AbortController().signal, {
    callId: `outer/nested-${depth}-1`, own, answers: new Map([['inner', 'known']]),
    power: () => NO_GRANT, find: () => undefined, sessionOf: () => Promise.reject(new Error('not used')),
  })
  expect(outcome).toMatchObject({ type, ...(type === 'error' && { error: { code: 'CapabilityDenied' } }) })
})

it('a tool that never answers is called twice', async () => {
  const workspace = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-bounds-')))
  onTestFinished(() => rmSync(workspace, { recursive: true }))
  const example = {
    manifest: manifestOf('sample', [shout({ timeoutMs: 20 })]),
    code: `export default { tools: { shout: { execute: (args, { signal }) => new Promise((_, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason))) } } }\n`,
  }
  const loader = { coreVersion: '1.0.0', roots: { global: null }, bundled: [] }
  const { extension } = await packFolder(writeExample(join(workspace, 'example'), example), { loader })
  const sandbox = createSandbox({ workspace, spares: { process: 0, thread: 0 } })
  onTestFinished(() => sandbox.close())
  const target = { extension, sandbox, workspace, patience: new Patience(), called: new Map() }
  const { calls } = await observeCalls(target, { seed: 1, repeats: false, progress: () => undefined })
  const made = calls.filter(({ error }) => !error?.message.startsWith('Not called'))
  expect(made).toHaveLength(2)
  expect(calls.length).toBeGreaterThan(10)
})

it.each([
  [214, undefined], [215, expect.stringMatching(/^the name is/)],
])('a package name has %i characters', (length, fault) => {
  const { check } = PACKAGE_REQUIREMENTS.find(({ id }) => id === 'package-name')!
  expect(check({ packageJson: { name: 'x'.repeat(length) } } as never)).toEqual(fault)
})
