import { DEFAULT_LIMITS } from '@bulkhead/contract'
import type { BrokerMethod, BulkheadError, CompartmentServices, Layer, LogEntry } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { describe, expect, it } from 'vitest'
import { Broker, type BrokerRequest } from '../src/broker.ts'
import { toolOf } from './fixture.ts'

function brokerOf(services: Partial<CompartmentServices> = {}): Broker {
  const tools = [toolOf('plain'), toolOf('reader', { fs: { read: ['docs/**'] } }, '/nowhere')]
  return new Broker(
    {
      tools, services: { log: () => undefined, env: new Map(), envDeclared: new Set(), ...services },
      limits: DEFAULT_LIMITS,
    },
    '/nowhere',
  )
}

function open(broker: Broker, callId: string, tool: string, signal = new AbortController().signal): () => void {
  const call = {
    callId, tool: toolOf(tool, tool === 'reader' ? { fs: { read: ['docs/**'] } } : {}, '/nowhere'), signal,
  }
  broker.open(call)
  return () => broker.end(call)
}

/** Like the gate of the sandbox: any known method with any JSON arguments. */
const ask = (broker: Broker, method: BrokerMethod, ...args: readonly Json[]): Promise<string> =>
  broker.methods[method](args[0], ...args.slice(1)).then(() => 'granted', (error: { code: string }) => error.code)

describe('the broker', () => {
  it('denies a power that another tool of the compartment declared', async () => {
    const broker = brokerOf()
    open(broker, 'a', 'plain')
    open(broker, 'b', 'reader')
    expect(await ask(broker, 'fs.read', 'a', 'docs/x', 'text', null)).toBe('CapabilityDenied')
    expect(await ask(broker, 'fs.read', 'b', 'docs/x', 'text', null)).toBe('NotFound')
    for (const method of [
      'fs.write', 'env.get', 'state.read', 'interact', 'tools.call', 'net.fetch', 'shell.run',
    ] as const) {
      expect(await ask(broker, method, 'b', 'x'), method).toBe('CapabilityDenied')
    }
  })

  it('names the missing declaration to an author, and an alternative to the caller of a bundled tool', async () => {
    const tool = toolOf('all', {
      fs: { read: ['docs/**'] }, net: { hosts: ['example.com', 'localhost:1'] }, shell: [{ cmd: 'git', args: ['log'] }],
    }, '/nowhere')
    const services = { log: () => undefined, env: new Map(), envDeclared: new Set<string>() }
    const refusals = async (layer: Layer, more: Pick<BrokerRequest, 'code'> = {}): Promise<readonly string[]> => {
      const broker = new Broker({
        tools: [tool], services, limits: DEFAULT_LIMITS, extension: { id: 'x', version: '1.0.0', layer }, ...more,
      }, '/nowhere')
      broker.open({ callId: 'a', tool, signal: new AbortController().signal })
      return Promise.all([
        broker.methods['fs.read']('a', '/etc/passwd', 'text', null),
        broker.methods['net.fetch']('a', 'http://example.com:22/', {}),
        broker.methods['shell.run']('a', 'rm', []), broker.methods['shell.run']('a', 'git', ['push']),
      ].map((asked) => asked.then(() => 'granted', ({ code, message }: BulkheadError) => `${code}: ${message}`)))
    }
    expect(await refusals('global')).toEqual([
      'CapabilityDenied: "/etc/passwd" is outside what the tool may read. Declare it in `requires.fs`, or use a path '
        + 'inside.',
      'CapabilityDenied: The tool may not reach the host example.com:22. Declare it in `requires.net.hosts`; without '
        + 'a port it means 80 and 443.',
      'CapabilityDenied: The tool all may not run "rm". Declare it in `requires.shell` by its bare name.',
      'CapabilityDenied: The tool all may run "git", but not with these arguments. Declare a pattern for each in '
        + '`requires.shell`.',
    ])
    const toCallers = await refusals('bundled')
    expect(toCallers).toEqual([
      'CapabilityDenied: "/etc/passwd" is outside what the tool may read. Use a path inside the workspace that is '
        + 'not in a folder of the host.',
      'CapabilityDenied: The tool may not reach the host example.com:22. Use another host or port, or ask the '
        + 'operator to allow this one.',
      'CapabilityDenied: The tool all may not run "rm". Use a different command, or ask the operator to allow this '
        + 'one.',
      'CapabilityDenied: The tool all may run "git", but not with these arguments. Use other arguments, or ask the '
        + 'operator to allow these.',
    ])
    expect(await refusals('global', { code: { kind: 'module', module: { tools: {} } } })).toEqual(toCallers)
  })

  it('denies requests for a call that is not running', async () => {
    const broker = brokerOf()
    const close = open(broker, 'b', 'reader')
    for (const callId of ['other', null, 5, ['b'], { b: 1 }, '__proto__']) {
      expect(await ask(broker, 'fs.read', callId, 'docs/x', 'text', null)).toBe('CapabilityDenied')
    }
    close()
    expect(await ask(broker, 'fs.read', 'b', 'docs/x', 'text', null)).toBe('CapabilityDenied')
  })

  it('rejects every request of a cancelled call', async () => {
    const broker = brokerOf()
    const controller = new AbortController()
    open(broker, 'b', 'reader', controller.signal)
    controller.abort()
    expect(await ask(broker, 'progress', 'b', 'x')).toBe('ToolCancelled')
  })

  it('counts empty log lines against the limit', async () => {
    const logged: LogEntry[] = []
    const services = {
      log: (entry: LogEntry) => void logged.push(entry), env: new Map(), envDeclared: new Set<string>(),
    }
    const broker = new Broker({ tools: [], services, limits: { ...DEFAULT_LIMITS, logBytes: 100 } }, '/nowhere')
    for (let line = 0; line < 1_000; line++) await broker.methods.log(null, 'info', '')
    expect(logged).toHaveLength(100)
    expect(logged.at(-1)).toMatchObject({ code: 'LogTruncated' })
  })

  it('rejects arguments of the wrong type', async () => {
    const broker = brokerOf({ envDeclared: new Set(['A']), interact: async () => ({ status: 'timeout' }) })
    open(broker, 'b', 'reader')
    expect(await ask(broker, 'fs.read', 'b', 5)).toBe('InputInvalid')
    expect(await ask(broker, 'fs.read', 'b')).toBe('InputInvalid')
    expect(await ask(broker, 'fs.read', 'b', 'docs/x', 'text', 'range')).toBe('InputInvalid')
    expect(await ask(broker, 'progress', 'b', { text: 1 })).toBe('InputInvalid')
    expect(await ask(broker, 'progress', 'b', 'x'.repeat(10_001))).toBe('InputInvalid')
    expect(await ask(broker, 'env.get', 'b', ['A'])).toBe('InputInvalid')
  })

  it('reads and writes session data only for tools that declare session', async () => {
    const tool = toolOf('noter', { capabilities: ['session'] })
    const asked: Json[] = []
    const session = {
      read: async (callId: string) => ({ id: `session of ${callId}`, data: null }),
      write: async (callId: string, data: Json) => void asked.push([callId, data]),
    }
    const services = { log: () => undefined, env: new Map(), envDeclared: new Set<string>(), session }
    const broker = new Broker({ tools: [tool, toolOf('plain')], services, limits: DEFAULT_LIMITS }, '/nowhere')
    broker.open({ callId: 'a', tool, signal: new AbortController().signal })
    open(broker, 'b', 'plain')
    expect(await broker.methods['session.read']('a')).toEqual({ id: 'session of a', data: null })
    expect(await ask(broker, 'session.write', 'a', { some: 'thing' })).toBe('granted')
    expect(asked).toEqual([['a', { some: 'thing' }]])
    expect(await ask(broker, 'session.read', 'b')).toBe('CapabilityDenied')
  })

  it('calls another tool with the call id of the host, for tools that declare tools.call', async () => {
    const tool = toolOf('caller', { capabilities: ['tools.call', 'session'] })
    const asked: Json[] = []
    const callTool: NonNullable<CompartmentServices['callTool']> = async (callId, name, args) => {
      asked.push([callId, name, args])
      return { ok: true } as never
    }
    const session = {
      read: async (callId: string) => ({ id: callId, data: null }),
      write: async (callId: string, data: Json) => void asked.push([callId, data]),
    }
    const brokerWith = (services: Partial<CompartmentServices>) => {
      const broker = new Broker({
        tools: [tool], services: { log: () => undefined, env: new Map(), envDeclared: new Set(), ...services },
        limits: DEFAULT_LIMITS,
      }, '/nowhere')
      broker.open({ callId: '1', hostCallId: 'c', tool, signal: new AbortController().signal })
      return broker
    }
    const broker = brokerWith({ callTool, session })
    expect(await ask(broker, 'tools.call', '1', 'other', { a: 1 })).toBe('granted')
    expect(await ask(broker, 'tools.call', '1', 'other')).toBe('granted')
    expect(await broker.methods['session.read']('1')).toEqual({ id: 'c', data: null })
    expect(await ask(broker, 'session.write', '1')).toBe('granted')
    expect(asked).toEqual([['c', 'other', { a: 1 }], ['c', 'other', {}], ['c', null]])
    for (const name of [
      '', 'two words', '../other', 'x'.repeat(65), 1, null,
    ]) expect(await ask(broker, 'tools.call', '1', name), String(name)).toBe('InputInvalid')
    const without = brokerWith({})
    expect(await ask(without, 'tools.call', '1', 'other')).toBe('CapabilityUnavailable')
    expect(await ask(without, 'session.read', '1')).toBe('CapabilityUnavailable')
  })

  it('returns only variables that are declared and set', async () => {
    const tool = toolOf('plain')
    const services = {
      log: () => undefined, env: new Map([['HOME_PORT', 'Oslo'], ['SECRET', 'x']]),
      envDeclared: new Set(['HOME_PORT', 'UNSET']),
    }
    const broker = new Broker({ tools: [tool], services, limits: DEFAULT_LIMITS }, '/nowhere')
    broker.open({ callId: 'a', tool, signal: new AbortController().signal })
    expect(await broker.methods['env.get']('a', 'HOME_PORT')).toBe('Oslo')
    expect([await ask(broker, 'env.get', 'a', 'SECRET'), await ask(broker, 'env.get', 'a', 'UNSET')])
      .toEqual(['EnvNameUndeclared', 'EnvNameNotSet'])
  })

  it('hides causes and stack traces from a compartment', async () => {
    const broker = brokerOf({
      state: { read: () => Promise.reject(new Error('password=hunter2 in /home/ada')), write: async () => undefined },
    })
    open(broker, 'a', 'plain')
    const error = await broker.methods['state.read']('a').then(
      () => undefined,
      (thrown: unknown) => thrown as Error & { code: string },
    )
    expect(error).toMatchObject({ code: 'InternalError', message: 'The broker failed to answer the request.' })
    expect([error?.stack, error?.cause]).toEqual([undefined, undefined])
  })
})
