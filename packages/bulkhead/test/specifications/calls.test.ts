import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { canonicalCall } from '@bulkhead/contract/dialects'
import type { JsonObject } from '@bulkhead/kit/json'
import { expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import type { HookContext, ToolCall } from '../../src/index.ts'
import { createScriptedApprover, createTestHost } from '../../src/testing/index.ts'
import '../../src/testing/vitest.ts'
import { CACHE } from '../cache.ts'

const TEXT = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }

it('registers a tool contract of stud and a tool of grida', async () => {
  await using host = await createTestHost({ cache: CACHE })
  const stud = {
    kind: 'Tool' as const, contractVersion: '1.0.0', requiredCoreVersion: '^1.0.0',
    configSchema: { type: 'object', properties: {}, additionalProperties: false },
    loadedCardinality: 'unlimited', activeCardinality: 'unlimited', stateSlot: 'none',
    discoveryRules: { folder: 'tools' }, reloadBehavior: 'between-turns', name: 'loud', description: 'Says it loudly.',
    inputSchema: TEXT, outputSchema: { type: 'string' }, executor: 'local' as const, gated: false,
    deriveApprovalKey: ({ text }: { text: string }) => text,
    execute: async ({ text }: { text: string }) => ({ ok: true, value: text.toUpperCase() }),
  }
  const grida = {
    id: 'quiet', description: 'Says it quietly.', parameters: TEXT, requires: {},
    execute: async ({ text }: { text: string }) =>
      ({ type: 'output', data: text.toLowerCase(), metadata: { duration_ms: 0 } }),
  }
  await host.register([stud, grida])
  const session = await host.openSession({ mode: 'yolo' })
  expect(await session.call({ id: 'a', name: 'loud', arguments: { text: 'Hi' } })).toSucceedWith('HI')
  expect(await session.call({ id: 'b', name: 'quiet', arguments: { text: 'Hi' } })).toSucceedWith('hi')
})

it('refuses a call with unknown members, and an id that the session has used', async () => {
  await using host = await createTestHost({ cache: CACHE, tools: { echo: 'here' } })
  const session = await host.openSession()
  const call = { id: 'c', name: 'echo', arguments: {} }
  expect(await session.call({ ...call, trace: 1 } as ToolCall)).toFailWith('InputInvalid')
  const again = { ...call, id: 'd' }
  expect(await session.call(again)).toSucceedWith('here')
  expect(await session.call(again)).toFailWith('InputInvalid')
  expect(await (await host.openSession()).call(again)).toSucceedWith('here')
})

it('attempts are a setting, and an exception of a reading tool is tried again', async () => {
  let runs = 0
  const fails = () => {
    runs++
    throw new Error('ECONNRESET')
  }
  await using host = await createTestHost({
    cache: CACHE, config: { retries: { attempts: 2, backoffBase: 0, jitterMs: 0 } },
    tools: { look: { mode: 'read', idempotent: true, execute: fails }, act: { mode: 'safe_write', execute: fails } },
  })
  const session = await host.openSession({ mode: 'yolo' })
  expect(await session.call({ id: 'a', name: 'look', arguments: {} })).toFailWith('ToolExecutionFailed')
  expect(runs).toBe(2)
  await session.call({ id: 'b', name: 'act', arguments: {} })
  expect(runs).toBe(3)
})

it('hooks of the host run for every session', async () => {
  const seen: string[] = []
  const options = { hooks: { onAfterTool: ({ toolName }: HookContext) => void seen.push(toolName) } }
  await using host = await createTestHost({ cache: CACHE, tools: { echo: 'here' }, ...options })
  for (const id of ['a', 'b']) await (await host.openSession()).call({ id, name: 'echo', arguments: {} })
  expect(seen).toEqual(['echo', 'echo'])
})

it('a blank command is invalid, and no person is asked', async () => {
  const approver = createScriptedApprover([])
  await using host = await createTestHost({ cache: CACHE })
  const session = await host.openSession({ mode: 'ask', approver })
  expect(await session.call({ id: 'a', name: 'bash', arguments: { command: ' \n ' } })).toFailWith('InputInvalid')
  expect(approver.requests).toEqual([])
})

it('test_runner counts errors apart from failures, and keeps what a failing test printed', LONG, async () => {
  await using host = await createTestHost({ cache: CACHE })
  // The Python of the project has a report of pytest, so that the test needs neither.
  mkdirSync(join(host.workspace, '.venv/bin'), { recursive: true })
  writeFileSync(join(host.workspace, '.venv/pyvenv.cfg'), '')
  writeFileSync(join(host.workspace, '.venv/bin/python'), '#!/bin/sh\ncat report.xml\nexit 1\n', { mode: 0o755 })
  writeFileSync(join(host.workspace, 'report.xml'), '<?xml version="1.0"?><testsuites><testsuite name="pytest">'
    + '<testcase name="test_bad"><failure message="no">no</failure><system-out>CAPTURED</system-out></testcase>'
    + '<testcase name="test_fixed"><error message="fixture">fixture</error></testcase></testsuite></testsuites>')
  const call = { id: 'a', name: 'test_runner', arguments: { runner: 'pytest' } }
  expect(await (await host.openSession({ mode: 'yolo' })).call(call)).toMatchObject({
    type: 'output', data: { failed: 1, errors: 1, failures: [{ output: 'CAPTURED' }, { error: true }] },
  })
})

it('kits and guidance have the keys of morphix', async () => {
  await using host = await createTestHost({ cache: CACHE })
  const put = (folder: string, name: string, text: string) => {
    mkdirSync(join(host.home, folder), { recursive: true })
    writeFileSync(join(host.home, folder, name), text)
  }
  put('kits', 'tidy.yaml', `tool_kit: tidy
goal: Leave no stray files.
steps:
  - { order: 1, tool: list, note: Look at what is there. }
`)
  put('guidance', 'list.yaml', `tool: list
when_to_use: [before you guess a path]
when_not_to_use: [to search for text]
examples: ["list src"]
tips: [depth 2 is enough]
`)
  const { sections } = await host.promptSections(await host.openSession())
  const text = sections.map((section) => section.text).join('\n')
  expect(host.diagnostics).toEqual([])
  for (const part of ['Leave no stray files.', 'before you guess a path', 'to search for text', 'depth 2 is enough']) {
    expect(text).toContain(part)
  }
})

it('list_files lists a folder with its folders', async () => {
  await using host = await createTestHost({ cache: CACHE })
  mkdirSync(join(host.workspace, 'src/deep'), { recursive: true })
  const session = await host.openSession({ mode: 'yolo' })
  const given = { id: 'a', name: 'list_files', arguments: { path: '.', max_depth: 1 } }
  const call = canonicalCall(given, (name) => session.tools().find((tool) => tool.name === name))
  expect(call.name).toBe('list')
  expect(JSON.stringify(await session.call(call as ToolCall))).toContain('src')
})

it('an operation without an id is a tool with a stable name', LONG, async () => {
  const id = { name: 'id', in: 'path', required: true, schema: { type: 'string' } }
  const orders = { '/orders/{id}': { get: { parameters: [id], responses: {} } } }
  const offered = async (paths: JsonObject) => {
    const document = { openapi: '3.0.0', info: { title: 'x', version: '1' }, paths }
    await using host = await createTestHost({
      cache: CACHE, config: { openapi: { shop: { document, baseUrl: 'https://shop.example' } } },
    })
    await host.openSession()
    return host.tools().filter(({ layer }) => layer !== 'bundled').map(({ name }) => name)
  }
  expect(await offered(orders)).toEqual(['get_orders_by_id'])
  // Another operation before it changes nothing.
  expect(await offered({ '/a': { get: { responses: {} } }, ...orders })).toContain('get_orders_by_id')
})
