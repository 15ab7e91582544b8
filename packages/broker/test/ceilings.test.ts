import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import {
  compileCeiling, compileGrant, DEFAULT_LIMITS, narrowPower, type BrokerMethod, type BulkheadError, type Ceiling,
  type CompartmentServices, type CompartmentTool,
} from '@bulkhead/contract'
import { requirementSet } from '@bulkhead/contract/validation'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { Broker } from '../src/broker.ts'
import { invocation, newSandbox, requestOf, running } from '../../sandbox/test/fixture.ts'
import { temporaryFolder } from './fixture.ts'

const EVERYTHING = {
  fs: { read: ['{workspace}/**'], write: ['{workspace}/**'] },
  net: { hosts: ['*', '127.0.0.1:$port', '127.0.0.2:$port'] },
  shell: [{ cmd: '*', args: [{ rest: true }] }], capabilities: ['session', 'interact'],
}
const SERVICES: CompartmentServices = {
  log: () => undefined, env: new Map([['A', 'a'], ['B', 'b']]), envDeclared: new Set(['A', 'B']),
  secrets: new Map(
    ['S', 'T'].map((name) => [name, { value: `canary-${name}-0123456789`, hosts: ['*'], commands: ['git'] }]),
  ),
  state: { read: async () => ({ kept: true }), write: async () => undefined },
  session: { read: async () => ({ id: 's', data: null }), write: async () => undefined },
  interact: async () => ({ status: 'rejected' }),
}

let workspace: string
let port: number
beforeEach(async () => {
  workspace = await temporaryFolder()
  for (const folder of ['src/deep', 'docs', '.hidden']) mkdirSync(join(workspace, folder), { recursive: true })
  for (const file of ['src/a.ts', 'src/b.md', 'src/deep/c.ts', 'docs/d.ts', 'e.ts']) writeFileSync(
    join(workspace, file), `needle in ${file}\n`,
  )
  const server = createServer((request, response) => {
    if (request.url === '/away') response.writeHead(302, { location: `http://127.0.0.2:${port}/` })
    response.end('here')
  })
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', () => resolve()))
  port = (server.address() as AddressInfo).port
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())))
})

const filled = <T>(value: T): T => JSON.parse(JSON.stringify(value).replaceAll('$port', String(port))) as T

/** A tool that requires everything, under these ceilings. */
function toolUnder(ceilings: readonly Ceiling[], requires: JsonObject = EVERYTHING): CompartmentTool {
  const values = { workspace: [workspace] }
  const asked = requirementSet.parse(filled(requires))
  const own = compileGrant(asked, values, {
    env: ['A', 'B'], secrets: [{ name: 'S', hosts: ['*'] }, { name: 'T', hosts: ['*'] }], state: ['own'],
  })
  const grant = ceilings.reduce((power, ceiling) => narrowPower(power, compileCeiling(filled(ceiling), values)), own)
  return { name: 'run', requires: asked as JsonObject, inputSchema: { type: 'object' }, grant }
}

function under(...ceilings: readonly Ceiling[]) {
  const tool = toolUnder(ceilings)
  const broker = new Broker({ tools: [tool], services: SERVICES, limits: DEFAULT_LIMITS }, workspace)
  onTestFinished(() => broker.close())
  broker.open({ callId: 'c', tool, signal: new AbortController().signal })
  return (method: BrokerMethod, ...args: readonly Json[]): Promise<Json> => broker.methods[method]('c', ...args)
    .catch((error: BulkheadError) => { if (error.code !== 'CapabilityDenied') throw error; return 'refused' })
}

describe('ceilings on files', () => {
  const SRC: Ceiling = { fs: { read: ['src/**'], write: ['src/**'] } }

  it('allow reading and writing only where grant and ceiling both match', async () => {
    const ask = under(SRC)
    expect(await ask('fs.read', 'src/a.ts', 'text', null)).toBe('needle in src/a.ts\n')
    // The second read uses the compiled patterns.
    expect(await ask('fs.read', 'src/a.ts', 'text', null)).toBe('needle in src/a.ts\n')
    for (const path of [
      'e.ts', 'docs/d.ts', '../x', '/etc/passwd', 'src/../e.ts',
    ]) expect(await ask('fs.read', path, 'text', null), path).toBe('refused')
    expect(await ask('fs.write', 'src/new.ts', 'text', 'x')).not.toBe('refused')
    for (const path of ['new.ts', 'docs/new.ts', 'srcs/x']) expect(await ask('fs.write', path, 'text', 'x'), path)
      .toBe('refused')
    expect(await ask('fs.edit', 'docs/d.ts', 'needle', 'x', false)).toBe('refused')
    expect(await ask('fs.remove', 'docs/d.ts')).toBe('refused')
    const both = ['src/newer.ts', 'docs/new.ts'].map((path) => ({ path, before: null, after: ['text', 'x'] }))
    expect(await ask('fs.apply', both)).toBe('refused')
    expect(await ask('fs.apply', both.slice(0, 1))).not.toBe('refused')
    expect(await ask('fs.stat', 'docs/d.ts')).toBe('refused')
    expect(await ask('fs.list', 'docs')).toBe('refused')
    expect(readFileSync(join(workspace, 'docs/d.ts'), 'utf8')).toBe('needle in docs/d.ts\n')
  })

  it('limit glob, find and search to paths that match every ceiling', async () => {
    const ask = under(SRC, { fs: { read: ['**/*.ts'] } })
    const found = async (method: BrokerMethod, ...args: readonly Json[]) => JSON.stringify(await ask(method, ...args))
    expect(await ask('fs.glob', '**', { path: 'src' })).toEqual(['src/a.ts', 'src/deep/c.ts'])
    for (const text of [
      await found('fs.find', '**/*', { path: 'src' }), await found('fs.search', 'needle', { path: 'src' }),
    ]) {
      expect(text).toContain('a.ts')
      expect(text).toContain('c.ts')
      for (const other of ['b.md', 'd.ts', 'e.ts']) expect(text).not.toContain(other)
    }
    expect(await ask('fs.read', 'src/b.md', 'text', null)).toBe('refused')
    expect(await ask('fs.write', 'src/a.ts', 'text', 'x')).toBe('refused')
  })

  it('allow watching only where grant and ceiling both match', async () => {
    const ask = under(SRC)
    expect(await ask('fs.watch', 'docs')).toBe('refused')
    expect(await ask('fs.watch', 'src')).not.toBe('refused')
  })
})

describe('ceilings on hosts', () => {
  it('narrow * to their own hosts, for names and addresses', async () => {
    const ask = under({ net: { hosts: ['127.0.0.1:$port'] } })
    expect(await ask('net.fetch', `http://127.0.0.1:${port}/`, {})).toMatchObject({ status: 200 })
    for (const url of [`http://127.0.0.2:${port}/`, 'http://docs.example.com/', `http://localhost:${port}/`]) {
      expect(await ask('net.fetch', url, {}), url).toBe('refused')
    }
  })

  it('apply to the target of a redirect', async () => {
    expect(await under({ net: { hosts: ['127.0.0.1:$port'] } })('net.fetch', `http://127.0.0.1:${port}/away`, {}))
      .toBe('refused')
    expect(await under({ net: { hosts: ['127.0.0.1:$port', '127.0.0.2:$port'] } })(
      'net.fetch', `http://127.0.0.1:${port}/away`, {},
    ))
      .toMatchObject({ status: 200 })
  })

  it('grant nothing that the tool did not require', async () => {
    const tool = toolUnder([{ net: { hosts: ['localhost:$port'] } }], { net: { hosts: ['*', '*:$port'] } })
    const broker = new Broker({ tools: [tool], services: SERVICES, limits: DEFAULT_LIMITS }, workspace)
    onTestFinished(() => broker.close())
    broker.open({ callId: 'c', tool, signal: new AbortController().signal })
    await expect(broker.methods['net.fetch']('c', `http://localhost:${port}/`, {}))
      .rejects.toMatchObject({ code: 'CapabilityDenied' })
  })
})

describe('ceilings on commands', () => {
  const LS: Ceiling = {
    shell: [{ cmd: 'printf', args: [{ wildcard: true }] }], fs: { read: ['src/**'], write: ['src/**'] },
  }

  it('narrow * to their own commands and arguments', async () => {
    const ask = under(LS)
    expect(await ask('shell.run', 'printf', ['hello'], {})).toMatchObject({ exitCode: 0, stdout: 'hello' })
    expect(await ask('shell.run', 'printf', ['%s', 'x'], {})).toBe('refused')
    expect(await ask('shell.run', 'id', [], {})).toBe('refused')
  })

  it('apply to every stage of a pipe, its files and its working folder', async () => {
    const ask = under(LS)
    const stage = (cmd: string, more: JsonObject = {}) => ({ cmd, args: ['x'], ...more })
    expect(await ask('shell.pipe', [stage('printf')], {})).toMatchObject({ stdout: 'x' })
    expect(await ask('shell.pipe', [stage('printf'), stage('cat')], {})).toBe('refused')
    expect(await ask('shell.pipe', [stage('printf', { stdout: { path: 'docs/out' } })], {})).toBe('refused')
    expect(await ask('shell.pipe', [stage('printf', { stdout: { path: 'src/out' } })], {}))
      .toMatchObject({ exits: [{ exitCode: 0 }] })
    expect(readFileSync(join(workspace, 'src/out'), 'utf8')).toBe('x')
    expect(await ask('shell.run', 'printf', ['x'], { cwd: 'docs' })).toBe('refused')
    expect(await ask('shell.run', 'printf', ['x'], { cwd: 'src' })).toMatchObject({ exitCode: 0 })
  })
})

describe('ceilings on variables, secrets, state and capabilities', () => {
  it('allow what they name', async () => {
    const ask = under({ env: ['A'], secrets: ['S'], net: { hosts: ['*'] }, state: true, capabilities: ['session'] })
    expect(await ask('env.get', 'A')).toBe('a')
    expect(await ask('env.get', 'B')).toBe('refused')
    expect(await ask('secrets.handle', 'S')).not.toBe('refused')
    expect(await ask('secrets.handle', 'T')).toBe('refused')
    expect(await ask('state.read')).toEqual({ kept: true })
    expect(await ask('session.read')).toEqual({ id: 's', data: null })
    expect(await ask('interact', { kind: 'Confirm', prompt: '?' })).toBe('refused')
  })

  it('deny what they do not name', async () => {
    const ask = under({ fs: { read: ['**'] } })
    for (const [method, ...args] of [
      ['env.get', 'A'], ['secrets.handle', 'S'], ['state.read'], ['state.write', {}], ['session.read'],
    ] as const) {
      expect(await ask(method, ...args), method).toBe('refused')
    }
  })

  it('deny what the ceiling of one call does not name, and not what other calls use', async () => {
    const tools = { wide: toolUnder([]), narrow: toolUnder([{ fs: { read: ['**'] } }]) }
    const broker = new Broker({ tools: [tools.wide], services: SERVICES, limits: DEFAULT_LIMITS }, workspace)
    const { signal } = new AbortController()
    for (const [callId, tool] of Object.entries(tools)) broker.open({ callId, tool, signal })
    expect(await broker.methods['session.read']('wide')).toEqual({ id: 's', data: null })
    await expect(broker.methods['session.read']('narrow')).rejects.toMatchObject({ code: 'CapabilityDenied' })
  })
})

it.each(
  ['inline', 'thread', 'process'] as const,
)('checks a call against its own narrower grant (%s)', async (placement) => {
  const tool = toolUnder([])
  const source = running(
    'return [await runtime.fs.readText("src/a.ts"), await runtime.fs.readText("e.ts").catch((error) => error.code)]',
  )
  const request = requestOf(
    { placement: placement === 'inline' ? 'thread' : placement, source, tools: [tool], services: SERVICES },
  )
  const module = {
    tools: {
      run: {
        execute: async (_: unknown, runtime: { fs: { readText(path: string): Promise<string> } }) => [
          await runtime.fs.readText('src/a.ts'),
          await runtime.fs.readText('e.ts').catch((error: BulkheadError) => error.code),
        ],
      },
    },
  }
  const session = await newSandbox(workspace).open(placement !== 'inline' ? request
    : { ...request, placement, extension: { ...request.extension, layer: 'bundled' }, code: {
      kind: 'module', module: module as never,
    } })
  expect(await session.call(invocation())).toEqual(['needle in src/a.ts\n', 'needle in e.ts\n'])
  const { grant } = toolUnder([{ fs: { read: ['src/**'] } }])
  expect(await session.call(invocation({}, { grant }))).toEqual(['needle in src/a.ts\n', 'CapabilityDenied'])
  expect(await session.call(invocation())).toEqual(['needle in src/a.ts\n', 'needle in e.ts\n'])
  await session.close()
})
