import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { conform } from '@bulkhead/conformance'
import { createHost as createCore } from '@bulkhead/host'
import { createLoader, Installer } from '@bulkhead/loader'
import { createSandbox } from '@bulkhead/sandbox'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  createCommandClassifier, createHeadlessInteractor, createHost, createProgrammaticInteractor, createTerminalInteractor,
  openSqliteStore, type Host,
} from '../src/index.ts'
import { CACHE } from './cache.ts'

/** Values that the types reject, as a JavaScript caller may pass them. */
type Wrong = readonly [options: unknown, path: string]

let folder: string
let host: Host
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-options-'))
  host = await createHost({ workspace: folder, home: join(folder, 'home'), cache: CACHE, env: {} })
})
afterAll(async () => {
  await host.close()
  rmSync(folder, { recursive: true })
})

/** Accepts an exception or a rejection. */
const refusal = async (make: (options: never) => unknown, options: unknown): Promise<unknown> => {
  try {
    return { made: await make(options as never) }
  } catch (error) {
    return error
  }
}
const isRefusedAt = async (make: (options: never) => unknown, options: unknown, path: string): Promise<void> => {
  expect(await refusal(make, options)).toMatchObject({ name: 'BulkheadError', code: 'ConfigInvalid', data: { path } })
}

describe('createHost', () => {
  it.each<Wrong>([
    [undefined, ''], [{}, '/workspace'], [{ workspace: 5 }, '/workspace'], [{ home: 5 }, '/home'],
    [{ home: null }, '/home'], [{ trust: 'yes' }, '/trust'], [{ smokeCheck: {} }, '/smokeCheck'],
    [{ store: {} }, '/store'], [{ env: 'A=1' }, '/env'], [{ runAgent: 'x' }, '/runAgent'],
    [{ fetchHosts: 'localhost' }, '/fetchHosts'], [{ fetchHosts: [1] }, '/fetchHosts/0'],
    [{ projectFolder: 1 }, '/projectFolder'], [{ bundledFolder: 1 }, '/bundledFolder'], [{ cache: true }, '/cache'],
    [{ interactor: () => {} }, '/interactor'], [{ watch: 1 }, '/watch'], [{ config: 'x' }, '/config'],
    [{ mcp: { root: () => [] } }, '/mcp/root'], [{ workspaces: ['a'] }, '/workspaces'], [{ color: true }, '/color'],
  ])('rejects %j', async (options, path) => {
    const whole = path === '' || path === '/workspace' ? options : { workspace: folder, ...(options as object) }
    await isRefusedAt(createHost, whole, path)
  })

  it('the error names the option and its expected type', async () => {
    expect(await refusal(createHost, { workspace: folder, home: 5 }))
      .toHaveProperty('message', 'The option "home" of createHost cannot be the number 5. Pass a string.')
  })
})

describe('openSession', () => {
  it.each<Wrong>([
    [null, ''], ['ask', ''], [{ mode: 'careful' }, '/mode'], [{ rules: {} }, '/rules'], [{ rules: [5] }, '/rules/0'],
    [{ rules: [{ permision: 'x', pattern: '*', action: 'deny' }] }, '/rules/0/permision'],
    [{ budget: { call: 1 } }, '/budget/call'], [{ ceiling: { fss: {} } }, '/ceiling/fss'],
    [{ ceiling: { fs: { read: 'a' } } }, '/ceiling/fs/read'],
    [{ hooks: { beforeCall: () => {} } }, '/hooks/beforeCall'], [{ role: 1 }, '/role'],
    [{ roles: { allow_bash: 'no' } }, '/roles/allow_bash'], [{ tools: 'read' }, '/tools'], [{ tool: 'read' }, '/tool'],
    [{ agentic: true }, '/agentic'], [{ interactor: {} }, '/interactor'], [{ interactor: [{}] }, '/interactor'],
    [{ approver: () => {} }, '/approver'], [{ interactionTimeoutMs: '5' }, '/interactionTimeoutMs'],
    [{ pause: 1 }, '/pause'], [{ headless: 'x' }, '/headless'], [{ ceiling: 1 }, '/ceiling'],
    [{ budget: 5 }, '/budget'], [{ budget: { calls: 'ten' } }, '/budget/calls'], [{ workspace: 5 }, '/workspace'],
    [{ hooks: 5 }, '/hooks'], [{ hooks: [5] }, '/hooks'], [{ hooks: { onToolError: 5 } }, '/hooks/onToolError'],
    [{ watchdog: {} }, '/watchdog'], [{ watchdog: [() => {}, 5] }, '/watchdog'],
    [{ stateMachine: { id: 'x' } }, '/stateMachine'], [{ stateMachine: { stage: () => {} } }, '/stateMachine'],
    [{ guards: () => {} }, '/guards'], [{ budget: { calls: -1 } }, '/budget/calls'],
    [{ budget: { tokens: -1 } }, '/budget/tokens'], [{ budget: -1 }, '/budget'],
    [{ interactionTimeoutMs: 0 }, '/interactionTimeoutMs'],
    [{ guards: [{ id: 'x' }] }, '/guards/0'], [{ signal: new AbortController() }, '/signal'],
  ])('rejects %j', async (options, path) => {
    await isRefusedAt((given) => host.openSession(given), options, path)
    const session = await host.openSession()
    await isRefusedAt((given) => session.openSubagent(given), options, path)
    await session.close()
  })
})

const DESCRIPTOR = { id: 'x', manifest: { tools: [] }, code: {} }

describe('the exported factories', () => {
  it.each<readonly [name: string, make: (options: never) => unknown, ...Wrong]>([
    ['openSqliteStore', openSqliteStore, undefined, ''], ['openSqliteStore', openSqliteStore, {}, '/file'],
    ['openSqliteStore', openSqliteStore, { file: 5 }, '/file'],
    ['openSqliteStore', openSqliteStore, { file: 'x.db', maxBytes: '1' }, '/maxBytes'],
    ['createLoader', createLoader, null, ''], ['createLoader', createLoader, {}, '/coreVersion'],
    ['createLoader', createLoader, { coreVersion: '1.0.0', roots: {}, bundled: [] }, '/roots/global'],
    ['createLoader', createLoader, { coreVersion: '1.0.0', roots: { global: 5 }, bundled: [] }, '/roots/global'],
    ['createLoader', createLoader, { coreVersion: '1.0.0', roots: { global: null }, bundled: 5 }, '/bundled'],
    [
      'createLoader', createLoader,
      { coreVersion: '1.0.0', roots: { global: null }, bundled: [], limits: { files: '5' } }, '/limits/files',
    ],
    ['Installer', (options) => new Installer(options), {}, '/loader'],
    ['createSandbox', createSandbox, {}, '/workspace'],
    ['createSandbox', createSandbox, { workspace: '/x', idleMs: 'long' }, '/idleMs'],
    ['createSandbox', createSandbox, { workspace: '/x', idleMs: -1 }, '/idleMs'],
    ['createSandbox', createSandbox, { workspace: '/x', spares: { thread: 1e9 } }, '/spares/thread'],
    ['createSandbox', createSandbox, { workspace: '/x', spares: { process: -1 } }, '/spares/process'],
    ['createSandbox', createSandbox, { workspace: '/x', most: { hulls: 0.5 } }, '/most/hulls'],
    [
      'createLoader', createLoader,
      { coreVersion: '1.0.0', roots: { global: null }, bundled: [], limits: { files: -1 } }, '/limits/files',
    ],
    ['createSandbox', createSandbox, { workspace: '/x', most: 5 }, '/most'],
    ['createSandbox', createSandbox, { workspace: '/x', os: true }, '/os'],
    ['createSandbox', createSandbox, { workspace: '/x', operator: { path: '/bin' } }, '/operator/path'],
    ['createHost of the core', createCore, {}, '/report'],
    ['conform', conform, undefined, ''], ['conform', conform, { extension: DESCRIPTOR }, '/sandbox'],
    [
      'conform', conform, { extension: { ...DESCRIPTOR, manifest: {} }, sandbox: { open: () => {} }, workspace: '/x' },
      '/extension/manifest/tools',
    ],
    [
      'conform', conform, { extension: DESCRIPTOR, sandbox: { open: () => {} }, workspace: '/x', config: 'x' },
      '/config',
    ],
    ['createHeadlessInteractor', createHeadlessInteractor, {}, '/report'],
    ['createHeadlessInteractor', createHeadlessInteractor, null, '/report'],
    ['createTerminalInteractor', createTerminalInteractor, null, ''],
    ['createTerminalInteractor', createTerminalInteractor, {}, '/input'],
    ['createTerminalInteractor', createTerminalInteractor, { input: process.stdin, output: 'stderr' }, '/output'],
    ['createCommandClassifier', createCommandClassifier, 'rm', '/patterns'],
    ['createCommandClassifier', createCommandClassifier, [/rm/], '/patterns/0/id'],
    [
      'createCommandClassifier', createCommandClassifier, [{ id: 'x', pattern: /rm/, severity: 'critical' }],
      '/patterns/0/pattern',
    ],
    [
      'createCommandClassifier', createCommandClassifier, [{ id: 'x', pattern: 'rm', severity: 'bad' }],
      '/patterns/0/severity',
    ],
  ])('%s rejects %4$s', async (_, make, options, path) => {
    await isRefusedAt(make, options, path)
  })

  it('addHooks requires an object of functions', async () => {
    const session = await host.openSession()
    const add = (hooks: never) => session.addHooks(hooks)
    await isRefusedAt(add, undefined, '/hooks')
    await isRefusedAt(add, [{}], '/hooks')
    await isRefusedAt(add, { beforeToolExecution: false }, '/hooks/beforeToolExecution')
    session.addHooks({ beforeToolExecution: () => true })()
    await session.close()
  })

  it('a programmatic interactor rejects an invalid answer, and the question stays open', async () => {
    const person = createProgrammaticInteractor()
    await isRefusedAt((listener) => person.onQuestion(listener), undefined, '/listener')
    const request = { kind: 'Ask', prompt: '?' } as const
    const answer = person.interact(
      { correlationId: 'a', issuedAt: '', source: 'host', request }, new AbortController().signal,
    )
    await isRefusedAt((response) => person.answer('a', response), undefined, '/response')
    await isRefusedAt((response) => person.answer('a', response), 'yes', '/response')
    await isRefusedAt((response) => person.answer('a', response), { value: 'yes' }, '/response/status')
    await isRefusedAt((id) => person.answer(id, { status: 'rejected' }), 5, '/correlationId')
    person.answer('a', { status: 'accepted', value: 'yes' })
    expect(await answer).toEqual({ status: 'accepted', value: 'yes' })
  })

  it.each<readonly [name: string, ask: (of: Host, given: never) => unknown, ...Wrong]>([
    ['approvals.list', (of, filter) => of.approvals.list(filter), null, ''],
    ['approvals.list', (of, filter) => of.approvals.list(filter), { workspace: 5 }, '/workspace'],
    ['approvals.revoke', (of, filter) => of.approvals.revoke(filter), undefined, ''],
    ['approvals.revoke', (of, filter) => of.approvals.revoke(filter), { tol: 'write' }, '/tol'],
    ['register', (of, tools) => of.register(tools), undefined, '/tools/0'],
    ['register', (of, tools) => of.register(tools), ['x'], '/tools/0'],
    ['reload', (of, request) => of.reload(request), null, ''],
    ['reload', (of, request) => of.reload(request), { extensions: 'read' }, '/extensions'],
    ['switchWorkspace', (of, options) => of.switchWorkspace(folder, options), null, ''],
    ['switchWorkspace', (of, options) => of.switchWorkspace(folder, options), { trust: 'yes' }, '/trust'],
    ['mcp.connect', (of, names) => of.mcp.connect(names), 'files', '/names'],
    ['offeredTools', (of, session) => of.offeredTools(session), undefined, '/session'],
  ])('the host rejects %s with %4$s', async (_, ask, given, path) => {
    await isRefusedAt((options) => ask(host, options), given, path)
  })

  it('runWorkflow requires a function, and limits that are numbers', () => {
    expect(() => host.runWorkflow({ calls: 'ten' as never }, () => 1)).toThrow(
      expect.objectContaining({ code: 'ConfigInvalid', data: { path: '/limits/calls' } }),
    )
    expect(() => host.runWorkflow(undefined, 5 as never)).toThrow(
      expect.objectContaining({ code: 'ConfigInvalid', data: { path: '/work' } }),
    )
    expect(host.runWorkflow({ calls: 1 }, () => 1)).toBe(1)
  })
})

it('wrong options create no file', () => {
  expect(readdirSync(folder).filter((name) => name !== 'home')).toEqual([])
})
