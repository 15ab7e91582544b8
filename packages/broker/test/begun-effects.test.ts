import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  BROKER_METHODS, BulkheadError, DEFAULT_LIMITS, type BrokerMethod, type ChangeRecorder,
} from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { expect, it, onTestFinished } from 'vitest'
import { needs } from '../../../scripts/machine.ts'
import { Broker } from '../src/broker.ts'
import { temporaryFolder, toolOf } from './fixture.ts'
import { serve } from './net/loopback.ts'
import { any } from './shell/shell-setup.ts'

/** A call that may do everything, and what it noted. */
async function openCall(begin?: (what: string) => void, changes?: ChangeRecorder) {
  const workspace = await temporaryFolder()
  const file = (path: string): string => join(workspace, path)
  for (const path of ['a.txt', 'b.txt', 'c.txt', 'd/e.txt']) {
    mkdirSync(join(file(path), '..'), { recursive: true })
    writeFileSync(file(path), 'old')
  }
  const server = await serve((_request, response) => response.end('here'))
  const stored: string[] = []
  const tool = toolOf('act', {
    net: { hosts: [server.place] }, shell: [...any('touch'), ...any('cat')] as unknown as Json,
    capabilities: ['session', 'interact'], fs: { read: ['**'], write: ['**'] },
  }, workspace)
  const broker = new Broker({
    tools: [tool], limits: DEFAULT_LIMITS, code: { kind: 'module', module: { tools: {} } },
    services: {
      log: () => undefined, env: new Map([['NAME', 'value']]), envDeclared: new Set(['NAME']),
      state: { read: async () => null, write: async () => void stored.push('state') },
      session: { read: async () => ({ id: 's', data: null }), write: async () => void stored.push('session') },
      interact: async () => ({ status: 'accepted', value: 'yes' }), changes,
    },
  }, workspace)
  const noted: string[] = []
  broker.open({
    callId: 'one', tool, signal: new AbortController().signal,
    beginEffect(what) {
      noted.push(what)
      begin?.(what)
      return undefined
    },
  })
  onTestFinished(() => broker.close())
  const ask = (method: BrokerMethod, ...args: readonly Json[]): Promise<Json> => broker.methods[method]('one', ...args)
  return { ask, noted, file, server, stored, url: `${server.base}/x?key=value` }
}

type Opened = Awaited<ReturnType<typeof openCall>>

interface Act {
  readonly what: string | RegExp
  readonly args: (opened: Opened) => readonly Json[]
  /** Whether it has happened. */
  readonly done: (opened: Opened) => boolean
}

const content = ({ file }: Opened, path: string): string => readFileSync(file(path), 'utf8')

/** Every method that can have an effect. Of others nothing is noted. */
const ACTS: Partial<Record<BrokerMethod, readonly Act[]>> = {
  'fs.write': [{
    what: 'writes a.txt', args: () => ['a.txt', 'text', 'new'], done: (opened) => content(opened, 'a.txt') === 'new',
  }],
  'fs.edit': [{
    what: 'edits a.txt', args: () => ['a.txt', 'old', 'new'], done: (opened) => content(opened, 'a.txt') === 'new',
  }],
  'fs.apply': [{
    what: 'changes a.txt, b.txt', done: (opened) => content(opened, 'b.txt') === 'new',
    args: () => [['a.txt', 'b.txt'].map((path) => ({ path, before: ['text', 'old'], after: ['text', 'new'] }))],
  }],
  'fs.remove': [
    { what: 'removes a.txt', args: () => ['a.txt'], done: ({ file }) => !existsSync(file('a.txt')) },
    { what: 'removes d', args: () => ['d', true], done: ({ file }) => !existsSync(file('d/e.txt')) },
  ],
  'net.fetch': [{
    what: /^POST http:\/\/127\.0\.0\.1:\d+\/x$/, done: ({ server }) => server.seen.length > 0,
    args: ({ url }) => [url, { method: 'POST', body: { kind: 'text', content: 'x' } }],
  }],
  'shell.run': [{
    what: /^runs touch .*made$/, done: ({ file }) => existsSync(file('made')),
    args: ({ file }) => ['touch', [file('made')]],
  }],
  'shell.pipe': [
    {
      what: /^runs touch .*made \| cat$/, done: ({ file }) => existsSync(file('made')),
      args: ({ file }) => [[{ cmd: 'touch', args: [file('made')] }, { cmd: 'cat' }]],
    },
    {
      what: 'runs cat a.txt', done: ({ file }) => existsSync(file('out')),
      args: () => [[{ cmd: 'cat', args: ['a.txt'], stdout: { path: 'out' } }], { wall: 'look' }],
    },
  ],
  'state.write': [{
    what: 'writes the state of the extension', args: () => [1], done: ({ stored }) => stored.includes('state'),
  }],
  'session.write': [{
    what: 'writes what the extension keeps for the session', args: () => [1],
    done: ({ stored }) => stored.includes('session'),
  }],
}

/** Noted by the host, by the store of changes, or without an effect. */
const OTHERS: ReadonlySet<BrokerMethod> = new Set<BrokerMethod>([
  'fs.read', 'fs.list', 'fs.stat', 'fs.glob', 'fs.find', 'fs.search', 'fs.watch', 'fs.watch.next', 'fs.undo',
  'net.read', 'env.get', 'secrets.handle', 'state.read', 'interact', 'tools.call', 'session.read', 'step.begin',
  'step.end', 'progress', 'update', 'log',
])
const CASES = Object.entries(ACTS)
  .flatMap(([method, acts]) => acts.map((act) => [method as BrokerMethod, act] as const))

const unavailable = (): never => { throw new BulkheadError('StoreUnavailable', 'The disk is full.') }

it('every method of the broker is known to have effects or not', () => {
  expect(Object.keys(BROKER_METHODS).toSorted()).toEqual([...Object.keys(ACTS), ...OTHERS].toSorted())
})

it.each(CASES)('%s is noted before it happens', async (method, { what, args, done }) => {
  const seen: boolean[] = []
  const opened: Opened = await openCall(() => void seen.push(done(opened)))
  await opened.ask(method, ...args(opened))
  expect(new Set(opened.noted)).toEqual(new Set([expect.stringMatching(what)]))
  expect(seen[0]).toBe(false)
  expect(done(opened)).toBe(true)
})

it.each(CASES)('%s does not happen if it cannot be noted', async (method, { args, done }) => {
  const opened = await openCall(unavailable)
  await expect(opened.ask(method, ...args(opened))).rejects.toMatchObject({ code: 'StoreUnavailable' })
  expect(done(opened)).toBe(false)
})

const UNDONE = CASES.filter(([method]) => /^(fs|shell)\./.test(method))

it.each(UNDONE)('%s is not noted if what undo needs cannot be recorded', async (method, { args, done }) => {
  const opened = await openCall(undefined, { file: unavailable, command: unavailable, undone: unavailable })
  await expect(opened.ask(method, ...args(opened))).rejects.toMatchObject({ code: 'StoreUnavailable' })
  expect(opened.noted).toEqual([])
  expect(done(opened)).toBe(false)
})

it('a change of several files is not noted if one of them cannot be recorded', async () => {
  let left = 1
  const file = async (): Promise<void> => { if (left-- === 0) unavailable() }
  const opened = await openCall(undefined, { file, command: unavailable, undone: unavailable })
  const { args, done } = ACTS['fs.apply']![0]!
  await expect(opened.ask('fs.apply', ...args(opened))).rejects.toMatchObject({ code: 'StoreUnavailable' })
  expect(opened.noted).toEqual([])
  expect(done(opened)).toBe(false)
})

it('nothing is noted of reading, of a question, and of what is refused', async () => {
  const { ask, noted, url } = await openCall()
  await ask('fs.read', 'a.txt', 'text', null)
  await ask('net.fetch', url)
  await ask('net.fetch', url, { method: 'HEAD' })
  await ask('interact', { kind: 'Confirm', prompt: 'Really?' })
  await ask('state.read')
  await ask('session.read')
  for (const [method, ...args] of [
    ['fs.write', '/etc/hosts', 'text', 'x'], ['fs.edit', 'a.txt', 'not in it', 'x'], ['fs.remove', '.', true],
    ['net.fetch', 'http://example.com/', { method: 'POST' }], ['shell.run', 'rm', ['a.txt']],
  ] as const) expect(await ask(method, ...args as readonly Json[]).catch(() => 'refused')).toBe('refused')
  expect(noted).toEqual([])
})

it('long words are cut', async () => {
  const { ask, noted } = await openCall()
  await ask('shell.run', 'touch', ['x'.repeat(250)])
  expect(noted).toEqual([`runs touch ${'x'.repeat(188)}…`])
})

it('a command that can only look is not noted where that wall stands', needs('bubblewrap'), async () => {
  const { ask, noted } = await openCall()
  await ask('shell.pipe', [{ cmd: 'cat', args: ['a.txt'] }], { wall: 'look' })
  expect(noted).toEqual([])
})
