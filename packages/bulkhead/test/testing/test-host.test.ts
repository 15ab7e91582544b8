import {
  cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it, vi } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { createFakeClock, createScriptedApprover, createTestHost as createWhole } from '../../src/testing/index.ts'
import '../../src/testing/vitest.ts'
import { CACHE } from '../cache.ts'

/** With the verification results of earlier hosts. */
const createTestHost: typeof createWhole = (options) => createWhole({ cache: CACHE, ...options })

it('is a real host in folders of its own, which are gone after it', async () => {
  const host = await createWhole()
  const session = await host.openSession({ mode: 'yolo' })
  expect(await session.call({ id: '1', name: 'write', arguments: { path: 'a.txt', content: 'hi' } }))
    .toSucceedWith({ path: 'a.txt', bytes: 2, created: true })
  expect(readFileSync(join(host.workspace, 'a.txt'), 'utf8')).toBe('hi')
  expect(existsSync(host.home)).toBe(true)
  await Promise.all([host.close(), host.close()])
  expect(existsSync(join(host.workspace, '..'))).toBe(false)
})

it('leaves a workspace of the caller in place', async () => {
  const workspace = mkdtempSync(join(tmpdir(), 'mine-'))
  await (await createTestHost({ workspace })).close()
  expect(existsSync(workspace)).toBe(true)
  rmSync(workspace, { recursive: true })
})

it('rejects unknown options and impossible tools, and leaves no folder', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'test-host-'))
  vi.stubEnv('TMPDIR', folder)
  await expect(createTestHost({ approvers: [] } as object)).rejects.toThrow('approver')
  await expect(createTestHost({ tools: { 'no name': 1 } })).rejects.toMatchObject({ code: expect.any(String) })
  await expect(createTestHost({ tools: { pay: 1, Pay: 2 } })).rejects.toMatchObject({ code: 'RegistrationConflict' })
  vi.unstubAllEnvs()
  expect(readdirSync(folder)).toEqual([])
  rmSync(folder, { recursive: true })
})

it('registers results, functions and definitions as tools', async () => {
  const lookUp = vi.fn<(args: { city: string }) => object>(({ city }) => ({ city, degrees: 21 }))
  await using host = await createTestHost({
    tools: {
      one: 1, nothing: null, weather: lookUp,
      pay: {
        input: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
        gated: true, execute: ({ sum }) => ({ paid: sum! }),
      },
    },
  })
  const session = await host.openSession()
  expect(await session.call({ id: '1', name: 'one', arguments: {} })).toSucceedWith(1)
  expect(await session.call({ id: '2', name: 'nothing', arguments: {} })).toSucceedWith(null)
  expect(await session.call({ id: '3', name: 'weather', arguments: { city: 'Oslo' } })).toSucceedWith({
    city: 'Oslo', degrees: 21,
  })
  expect(lookUp.mock.calls[0]![0]).toEqual({ city: 'Oslo' })
  expect(await session.call({ id: '4', name: 'pay', arguments: {} })).toFailWith('InputInvalid')
  expect(await session.call({ id: '5', name: 'pay', arguments: { sum: 1 } })).toFailWith('ApprovalDenied')
})

it('loads an extension from its folder, with its configuration and state', LONG, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'test-extension-'))
  cpSync(
    realpathSync(join(import.meta.dirname, '../../../contract/node_modules/zod')), join(folder, 'node_modules/zod'),
    { recursive: true },
  )
  writeFileSync(
    join(folder, 'package.json'),
    '{ "name": "counter", "version": "1.0.0", "type": "module", "description": "Counts." }',
  )
  writeFileSync(join(folder, 'index.ts'), `import { defineExtension } from '@bulkhead/contract/author'
import { z } from 'zod'
export default defineExtension({
  configSchema: z.strictObject({ step: z.int().default(2), name: z.string() }),
  stateSlot: { slotVersion: '1', schema: z.object({ count: z.int() }) },
  tools: { count: { description: 'Counts on.', async execute(_args, { config, state }) {
    const count = ((await state.read())?.count ?? 0) + config.step
    await state.write({ count })
    return { count, name: config.name }
  } } },
})
`)
  const inThreads = { config: { isolation: { global: 'thread' } } } as const
  try {
    await using host = await createTestHost({
      ...inThreads, extension: { folder, config: { name: 'mine' }, state: { count: 5 } },
    })
    const session = await host.openSession({ mode: 'yolo' })
    expect(await session.call({ id: '1', name: 'count', arguments: {} })).toSucceedWith({ count: 7, name: 'mine' })
    expect(await session.call({ id: '2', name: 'count', arguments: {} })).toSucceedWith({ count: 9, name: 'mine' })
    await expect(
      createTestHost({ extension: { folder: pathToFileURL(folder), config: { name: 1 } } }),
    ).rejects.toMatchObject({ code: 'ConfigSchemaViolation' })
    await expect(createTestHost({ extension: { folder: join(folder, 'gone') } })).rejects.toThrow('is not a folder')
  } finally {
    rmSync(folder, { recursive: true })
  }
})

it('asks the scripted approver in every session that brings none', async () => {
  const approver = createScriptedApprover(['once', { decision: 'reject', reason: 'too late' }])
  await using host = await createTestHost({ approver, tools: { pay: { gated: true, execute: () => 'paid' } } })
  const one = await host.openSession()
  const two = await host.openSession()
  const own = createScriptedApprover(['once'])
  const three = await host.openSession({ approver: own })
  expect(await one.call({ id: '1', name: 'pay', arguments: {} })).toSucceedWith('paid')
  expect(await two.call({ id: '2', name: 'pay', arguments: {} })).toMatchObject({
    error_text: expect.stringContaining('too late'),
  })
  expect(await three.call({ id: '3', name: 'pay', arguments: {} })).toSucceedWith('paid')
  expect(approver.requests.map(({ callId, tool }) => [callId, tool])).toEqual([['1', 'pay'], ['2', 'pay']])
  expect(own.requests).toHaveLength(1)
})

it('reports unused answers and unexpected questions when it closes, after it has removed its folders', async () => {
  const unused = await createTestHost({ approver: createScriptedApprover(['once', () => 'reject']) })
  await expect(unused.close()).rejects.toThrow('2 of 2 answers were not used: "once", a function.')
  expect(existsSync(unused.workspace)).toBe(false)
  const asked = await createTestHost({
    approver: createScriptedApprover([]), tools: { pay: { gated: true, execute: () => 'paid' } },
  })
  const outcome = await (await asked.openSession()).call({ id: '1', name: 'pay', arguments: {} })
  expect(outcome).toFailWith('ApprovalDenied')
  const message =
    /^Unexpected approval request for the tool "pay" .*: the script has no answers\. Add an answer for it\.$/
  await expect(asked.close()).rejects.toThrow(message)
  expect(outcome).toMatchObject({ error_text: expect.stringContaining('Unexpected approval request') })
})

it('runs calls on a fake clock, and closes although time stands still', async () => {
  const clock = createFakeClock()
  const started = Promise.withResolvers<void>()
  const hang = () => {
    started.resolve()
    return new Promise(() => undefined)
  }
  const host = await createTestHost({ clock, tools: { hang } })
  const session = await host.openSession()
  const late = session.call({ id: '1', name: 'hang', arguments: {} }, { timeoutMs: 60_000 })
  await started.promise
  await clock.advance(60_000)
  expect(await late).toFailWith('ExecutionTimeout')
  const open = session.call({ id: '2', name: 'hang', arguments: {} })
  await host.close()
  expect(await open).toFailWith('SessionCancelled')
})

it('replaces a bundled tool by a fake, under the policy of that tool', async () => {
  await using host = await createTestHost({ tools: { bash: { gated: true, execute: () => 'ran' } } })
  await host.reload()
  const session = await host.openSession({ mode: 'yolo' })
  const bash = (command: string) => session.call({ id: command, name: 'bash', arguments: { command } })
  expect(await bash('make all')).toSucceedWith('ran')
  expect(await bash('rm -rf /')).toFailWith('WatchdogDenied')
})
