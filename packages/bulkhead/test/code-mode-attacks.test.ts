import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BulkheadEvent, Outcome } from '@bulkhead/contract'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import { createHost, defineTool, type Host, type Session } from '../src/index.ts'
import { CACHE } from './cache.ts'

let folder: string
let host: Host
let session: Session
const events: BulkheadEvent[] = []
const seen: unknown[] = []

beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-program-attacks-')))
  mkdirSync(join(folder, 'ws'))
  writeFileSync(join(folder, 'ws/a.txt'), 'text\n')
  host = await createHost({
    workspace: join(folder, 'ws'), home: join(folder, 'home'), cache: CACHE, trust: 'declined',
    config: { extensions: { 'code-mode': { limits: { heapMb: 32, nestedCalls: 200 } } } },
  })
  host.on((event) => void events.push(event))
  await host.register(
    defineTool({
      name: 'echo', description: 'Returns its arguments.', input: { type: 'object', additionalProperties: true },
      mode: 'read', gated: false,
      execute: (args) => {
        seen.push(args)
        return args
      },
    }),
  )
  session = await host.openSession({
    codeMode: true, mode: 'yolo', tools: ['read', 'echo'],
    rules: [{ permission: 'read', pattern: '*', action: 'deny' }],
  })
})
afterAll(async () => {
  await host.close()
  rmSync(folder, { recursive: true })
})
beforeEach(() => {
  events.length = 0
  seen.length = 0
})

let calls = 0
const run = (code: string, timeoutMs?: number): Promise<Outcome> =>
  session.call(
    { id: `p${++calls}`, name: 'code_mode', arguments: { code } }, timeoutMs === undefined ? {} : { timeoutMs },
  )
const valueOf = (outcome: Outcome): unknown =>
  outcome.type === 'output' ? (outcome.data as { value: unknown }).value : outcome.error
const callsOf = (tool: string) =>
  events.filter((event) => event.type === 'ToolInvocationStarted' && event.tool === tool).length

describe('a program of code_mode cannot', () => {
  it('call what the session is not offered, or is denied, by whichever name', async () => {
    expect(
      valueOf(
        await run(`
      const tried = [
        'write', 'bash', 'task', 'code_exec', 'code_mode', '__proto__', 'constructor', 'read', 'READ',
        'read\\u0000', '', '../read', 'x'.repeat(1e5),
      ]
      const codes = []
      for (const name of tried) {
        codes.push(await tools[name]({ path: 'a.txt' }).then(() => 'output', ({ code }) => code))
      }
      return codes
    `),
      ),
    ).toEqual([
      ...Array.from({ length: 4 }, () => 'ToolNotRegistered'), 'InputInvalid', 'InputInvalid', 'ToolNotRegistered',
      'RuleDenied', 'ToolNotRegistered', 'InputInvalid', 'InputInvalid', 'InputInvalid', 'InputInvalid',
    ])
    expect(events.filter(({ type }) => type === 'ToolInvocationStarted')).toHaveLength(1)
  })

  it('choose the id of a call, pollute prototypes of the host, or use its runtime except to call tools', async () => {
    expect(valueOf(await run(`
      await tools.echo({ id: 'x', callId: 'y', sessionId: 'z', program: 'w', parent: null })
      const hostile = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}')
      for (const args of [hostile, { nested: [hostile] }]) await tools.echo(args).catch(() => undefined)
      const { default: runner } = await import('./index.js')
      const call = () => { throw new Error('no more') }
      const forged = await runner.tools.program.execute({ callsTools: true }, { tools: { call } })
      const names = Object.values({ tools, catalog, globalThis }).flatMap((value) => Reflect.ownKeys(value).map(String))
      const found = names.filter((name) => ['runtime', 'fs', 'net', 'shell', 'session', 'callBroker'].includes(name))
      return [forged.fault.message, found, typeof tools.then, Object.isFrozen(catalog)]
    `))).toEqual(['no more', [], 'undefined', true])
    const made = events.filter((event) => event.type === 'ToolInvocationProposed' && event.tool === 'echo')
    expect(made[0]).toMatchObject({
      sessionId: session.id, callId: expect.stringMatching(new RegExp(`^p${calls}\\.\\d+$`)), program: `p${calls}`,
    })
    expect(made.every((event) => 'program' in event && event.program === `p${calls}`)).toBe(true)
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
    expect(
      seen.every((args) => Object.getPrototypeOf(args) === Object.prototype || Object.getPrototypeOf(args) === null),
    ).toBe(true)
  })

  it('make more calls than it may, or keep the host busy with them', async () => {
    expect(valueOf(await run(`
      const codes = {}
      const call = async () => {
        const code = await tools.echo({}).then(() => 'output', (error) => error.code)
        codes[code] = (codes[code] ?? 0) + 1
      }
      for (let round = 0; round < ${thoroughly(2, 20)}; round++) await Promise.all(Array.from({ length: 1_000 }, call))
      return [codes.output, Object.keys(codes).toSorted()]
    `))).toEqual([200, ['TooManyNestedCalls', 'output']])
    expect(callsOf('echo')).toBe(200)
  })

  it('run for ever, before, during or after its calls', async () => {
    const endings = thoroughly(
      ['await tools.echo({}); for (;;);'],
      ['await tools.echo({}); for (;;);', 'await new Promise(() => setInterval(() => 0, 10))', '}; for (;;); {'],
    )
    for (const code of endings) {
      expect(await run(code, thoroughly(500, 2_000))).toMatchObject({
        type: 'error', error: { code: 'ExecutionTimeout' },
      })
    }
  })

  it('return more than a model may see, or than a result may have', async () => {
    expect(await run('return "x".repeat(9e6)')).toMatchObject({ error: { code: 'OutputTooLarge' } })
    const long = await run('return "y".repeat(1e6)')
    expect(long.metadata).toMatchObject({ truncated: true, output_path: expect.any(String) })
    expect(JSON.stringify(long).length).toBeLessThan(300_000)
  })

  it('present its errors as those of the host or of a person', async () => {
    for (const code of thoroughly(
      ['SessionCancelled'],
      ['SessionCancelled', 'ApprovalDenied', 'HostClosed', 'ResourceBusy', 'CompartmentGone', 'ExecutionTimeout'],
    )) {
      const outcome = await run(
        `const claimed = { class: 'Cancellation', retryable: true, terminal: true }
        throw Object.assign(new Error('x'), { code: ${JSON.stringify(code)}, ...claimed })`,
      )
      expect(outcome).toMatchObject({
        error: { code: 'ProgramFailed', class: 'ToolTerminal', retryable: false }, completion: { needsFollowup: true },
        metadata: { attempt: 1 },
      })
    }
  })
})
