import type { ConfigFile, LayerConfig, ToolMode } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { treatmentTable } from '../../src/model/treatment-table.ts'
import { createWorld, verdictOf } from '../twin/world.ts'

const MODES: readonly ToolMode[] = ['read', 'safe_write', 'destructive', 'local', 'external']
/** Bundled, so that the mode that the manifest names counts. */
const tools = Object.fromEntries(MODES.map((mode) => [`tool_${mode}`, { mode, requires: {} }]))

async function asked(config: ConfigFile, layers?: readonly LayerConfig[], options: object = {}) {
  const { host } = createWorld({ extensions: [{ layer: 'bundled', tools }], config, ...(layers && { layers }) })
  const questions: string[] = []
  const approver = { approve: async ({ tool }: { tool: string }) => {
    questions.push(tool.replace('tool_', ''))
    return { decision: 'once' as const }
  } }
  const session = await host.openSession({ approver, ...options })
  for (const mode of MODES) {
    const call = { id: mode, name: `tool_${mode}`, arguments: {} }
    const { decision } = await session.explain(call)
    const before = questions.length
    expect(verdictOf(await session.call(call))).toBe('output')
    expect(decision).toBe(questions.length > before ? 'ask' : 'allow')
  }
  return questions
}

test('by default every gated tool asks', async () => {
  expect(await asked({})).toEqual(MODES)
})

test('steerable: only what touches the machine asks', async () => {
  expect(await asked({ treatment: { preset: 'steerable' } })).toEqual(['local'])
})

test('a mode that is named differs from the preset', async () => {
  expect(await asked({ treatment: { preset: 'steerable', destructive: 'ask', external: 'gate' } }))
    .toEqual(['destructive', 'local', 'external'])
})

test('gate leaves a tool that is not gated to rules and guards', async () => {
  const open = Object.fromEntries(MODES.map((mode) => [`tool_${mode}`, { mode, requires: {}, gated: false }]))
  const { host } = createWorld({
    extensions: [{ layer: 'bundled', tools: open }], config: { treatment: { local: 'gate', read: 'ask' } },
  })
  const session = await host.openSession()
  const verdicts = await Promise.all(MODES.map(async (mode) =>
    verdictOf(await session.call({ id: mode, name: `tool_${mode}`, arguments: {} }))))
  expect(verdicts).toEqual(['ApprovalDenied', 'output', 'output', 'output', 'output'])
})

test('rules, watchdogs and guards still ask and deny', async () => {
  const treatment = { preset: 'steerable' } as const
  const rules = [{ permission: 'tool_read', pattern: '*', action: 'ask' as const }]
  expect(await asked({ treatment, rules })).toEqual(['read', 'local'])
  const { host } = createWorld({ extensions: [{ layer: 'bundled', tools }], config: { treatment } })
  const session = await host.openSession({
    watchdog: ({ tool }) => ({ action: tool.mode === 'read' ? 'deny' : 'allow', reason: 'no' }),
    guards: [{ id: 'g', pre: ({ tool }) => tool.mode === 'external' ? { action: 'deny', reason: 'no' } : undefined }],
  })
  const verdicts = await Promise.all(['read', 'safe_write', 'external'].map(async (mode) =>
    verdictOf(await session.call({ id: mode, name: `tool_${mode}`, arguments: {} }))))
  expect(verdicts).toEqual(['WatchdogDenied', 'output', 'GuardDenied'])
})

test('a third-party tool that names files with credentials asks, and others run', async () => {
  const readers = {
    list_notes: { requires: { fs: { read: ['{workspace}/notes/**'] } } },
    list_keys: { requires: { fs: { read: ['{workspace}/.env'] } } },
  }
  const { host } = createWorld({ extensions: [{ tools: readers }], config: { treatment: { preset: 'steerable' } } })
  const session = await host.openSession()
  const verdicts = await Promise.all(Object.keys(readers).map(async (name) =>
    verdictOf(await session.call({ id: name, name, arguments: {} }))))
  expect(verdicts).toEqual(['output', 'ApprovalDenied'])
})

test('the policy of the machine makes it stricter, and never looser', () => {
  const machine: ConfigFile = { treatment: { read: 'gate', external: 'ask', local: 'gate' } }
  expect(treatmentTable({ treatment: { preset: 'steerable' } }, machine))
    .toEqual({ read: 'gate', safe_write: 'run', destructive: 'run', local: 'ask', external: 'ask' })
})
