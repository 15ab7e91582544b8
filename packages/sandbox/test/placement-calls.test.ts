import type { BulkheadError, CompartmentSession, LogEntry } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { PLACEMENTS } from '@bulkhead/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSandbox } from '../src/index.ts'
import { invocation, refusal, requestIn, toolOf } from './fixture.ts'

/** The bodies of tools that share a compartment, because they need no grant and do not disturb each other. */
const SHARED = {
  miss: 'return runtime[args.part].anything()',
  echo: 'return args',
  talk: 'runtime.progress("half"); runtime.update({ done: 1 }); runtime.log.warn("careful"); await null; return null',
  mumble: 'runtime.update({ a: () => 1 }); runtime.update(2); return null',
  fail: 'throw Object.assign(new Error("no"), { code: args.code, data: { at: 1 }, cause: new Error("deeper") })',
}
const tools = Object.entries(SHARED).map(([name, body]) => `${name}: { async execute(args, runtime) { ${body} } }`)

describe.each(PLACEMENTS)('a call in the placement %s', (placement) => {
  const sandbox = createSandbox({ workspace: '/', spares: { process: 0, thread: 0 } })
  let session: CompartmentSession
  let logged: LogEntry[]

  beforeAll(async () => {
    const source = `export default { tools: { ${tools.join(', ')} } }`
    const request = await requestIn({ placement, source, tools: Object.keys(SHARED).map((name) => toolOf(name)) })
    session = await sandbox.open(request)
    logged = request.logged
  })
  afterAll(() => sandbox.close())

  it('throws an error that says what to declare for a missing part of the runtime', async () => {
    const parts = ['fs', 'net', 'shell', 'env', 'secrets', 'state', 'interact', 'tools', 'session']
    const missing = (part: string): Promise<BulkheadError> =>
      refusal(session.call(invocation({ part }, { tool: 'miss' })))
    const refusals = await Promise.all(parts.map(missing))
    expect(refusals.map(({ code, data }) => [code, data]))
      .toEqual(parts.map((part) => ['CapabilityDenied', { undeclared: `runtime.${part}` }]))
    expect(refusals[0]!.message).toBe(
      '`runtime.fs` is not available, because nothing was granted for it. '
        + 'Declare `requires.fs` with patterns of paths to read or to write for the tool.',
    )
    expect((await missing('sf')).code).toBe('ToolExecutionFailed')
  })

  it('carries strings of any length and content, wherever they are', async () => {
    const long = ['x'.repeat(10_000), '\u00fc\u{1f600}"\\\n'.repeat(5_000), `${'y'.repeat(5_000)}\ud800`]
    const args = { long: long[0]!, list: [1, { deep: [long[1]!, 'short'] }, long[0]!], empty: '', half: long[2]! }
    expect(await session.call(invocation(args, { tool: 'echo' }))).toEqual({ ...args, half: long[2]!.toWellFormed() })
  })

  it('delivers progress, updates and logs', async () => {
    const received: Json[] = []
    logged.length = 0
    const receive = (what: Json): void => void received.push(what)
    await session.call(invocation({}, { tool: 'talk', callId: 'c1', onProgress: receive, onUpdate: receive }))
    expect(received).toEqual(['half', { done: 1 }])
    expect(logged).toEqual([{ level: 'warn', text: 'careful', callId: 'c1' }])
  })

  it('logs which progress and updates could not be sent', async () => {
    const received: Json[] = []
    logged.length = 0
    await session.call(invocation({}, { tool: 'mumble', onUpdate: (partial) => received.push(partial) }))
    expect(received).toEqual([2])
    await session.call(invocation({}, { tool: 'mumble' }))
    expect(logged).toMatchObject([{ level: 'warn', text: expect.stringMatching(/^update was not sent: /) }, {}])
  })

  it('keeps the error code of a tool where the tool may use it, and replaces it otherwise', async () => {
    const failing = (code: string): Promise<BulkheadError> =>
      refusal(session.call(invocation({ code }, { tool: 'fail' })))
    expect(await failing('ResourceBusy')).toMatchObject({ code: 'ResourceBusy', message: 'no', data: { at: 1 } })
    expect(await failing('SessionCancelled'))
      .toMatchObject({ code: 'ToolExecutionFailed', data: { code: 'SessionCancelled' } })
  })
})
