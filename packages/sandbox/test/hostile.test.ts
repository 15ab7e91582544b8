import type { CompartmentLimits, CompartmentSession, Placement } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { LONG, thoroughly } from '../../../scripts/thoroughly.ts'
import { createSandbox, type PooledSandbox } from '../src/index.ts'
import { codeOf, invocation, newSandbox, refusal, requestOf, REMOTE, running } from './fixture.ts'

const GREETER = running('return "hello " + args.name')

/**
 * One sandbox for all attacks of a placement, with an extension that must survive them. The corpus has more attacks.
 */
let sandbox: PooledSandbox
let neighbourAnswers: () => Promise<void>

async function open(placement: Placement): Promise<void> {
  sandbox = createSandbox({ workspace: '/', spares: { process: 0, thread: 0 } })
  const neighbour = await sandbox.open(requestOf({ placement, source: GREETER, id: 'neighbour' }))
  neighbourAnswers = async () => {
    expect(await neighbour.call(invocation({ name: 'you' }))).toBe('hello you')
    expect(neighbour.inFlight).toBe(0)
  }
}

async function hostile(
  placement: Placement, source: string, limits: Partial<CompartmentLimits> = {},
): Promise<CompartmentSession> {
  const session = await sandbox.open(requestOf({ placement, source, limits, id: 'hostile' }))
  onTestFinished(() => session.close())
  return session
}

/** Aborts in the same way as a deadline of the host. */
const deadline = (ms: number): AbortSignal => {
  const controller = new AbortController()
  setTimeout(() => controller.abort(new BulkheadError('ExecutionTimeout', 'too slow')), ms)
  return controller.signal
}

describe.each(REMOTE)('a hostile extension in a %s', (placement) => {
  beforeAll(() => open(placement))
  afterAll(() => sandbox.close())

  const loops = [
    ['in JavaScript', 'for (;;);'],
    ['in a regular expression', '/^(a+)+$/.test("a".repeat(40) + "b")'],
    ['in microtasks', 'for (;;) await null'],
  ] as const
  // A process is killed in the same way for all of them, and the corpus has them too.
  it.each(loops.slice(0, thoroughly(placement === 'process' ? 1 : 3, 3)))(
    'that loops forever %s is killed after the deadline of its call',
    async (_where, body) => {
      const session = await hostile(placement, running(body), { graceMs: 50 })
      const bystander = codeOf(session.call(invocation()))
      expect(await codeOf(session.call(invocation({}, { signal: deadline(100) })))).toBe('ExecutionTimeout')
      expect(await bystander).toBe('CompartmentKilled')
      expect(await session.ended).toMatchObject({ kind: 'failed', error: { code: 'CompartmentKilled' } })
      await neighbourAnswers()
      await session.close()
    },
  )

  it('that loops forever during its import is killed at startMs', async () => {
    const withSpare = newSandbox('/', 1)
    // With a spare that is ready, all of startMs is left for the import.
    await withSpare.warm(placement)
    expect(
      await codeOf(withSpare.open(requestOf({ placement, source: 'for (;;);', limits: { startMs: 300 } }))),
    ).toBe('CompartmentStartTimeout')
    await neighbourAnswers()
  })

  it('that loops forever in a phase is killed at phaseMs', async () => {
    const source = 'export default { activate() { for (;;); }, tools: { run: { execute() {} } } }'
    const session = await hostile(placement, source, { phaseMs: 100 })
    expect(await codeOf(session.lifecycle('activate'))).toBe('LifecycleTimeout')
    expect(await session.ended).toMatchObject({ kind: 'failed', error: { code: 'LifecycleTimeout' } })
    await neighbourAnswers()
  })

  it('that loops forever in deriveApprovalKey is killed after the deadline', async () => {
    const source = 'export default { tools: { run: { execute() {}, deriveApprovalKey() { for (;;); } } } }'
    const session = await hostile(placement, source, { graceMs: 50 })
    expect(await codeOf(session.deriveApprovalKey('run', {}, deadline(100)))).toBe('ExecutionTimeout')
    expect(await session.ended).toMatchObject({ kind: 'failed', error: { code: 'CompartmentKilled' } })
    await neighbourAnswers()
  })

  it.each([
    ['exits', 'process.exit(3)', /code 3/],
    ['throws without a catch', 'await new Promise(() => setTimeout(() => { throw new Error("boom") }))', /boom/],
    ['leaves a rejection unhandled', 'Promise.reject(new Error("left")); await new Promise(() => {})', /left/],
    [
      'throws null without a catch', 'await new Promise(() => setTimeout(() => { throw null }))',
      /crashed: uncaught error/,
    ],
  ])('that %s ends only its own compartment', async (_what, body, message) => {
    const session = await hostile(placement, running(body))
    const error = await refusal(session.call(invocation()))
    expect(error.code).toBe('CompartmentCrashed')
    expect(error.message).toMatch(message)
    expect(await session.ended).toMatchObject({ kind: 'failed', error: { code: 'CompartmentCrashed' } })
    expect(await codeOf(session.call(invocation()))).toBe('CompartmentGone')
    await neighbourAnswers()
  })

  it('that throws during its import is not opened', async () => {
    const opening = (source: string): Promise<BulkheadError> => refusal(sandbox.open(requestOf({ placement, source })))
    expect(await opening('throw new Error("not today")')).toMatchObject({
      code: 'CompartmentStartFailed', message: 'index.js could not be imported: not today (index.js, line 1)',
    })
    expect(await opening('throw null')).toMatchObject({ code: 'CompartmentStartFailed' })
    expect(await opening('this is not JavaScript')).toMatchObject({
      code: 'CompartmentStartFailed',
      message: expect.stringMatching(/^index\.js could not be imported: Unexpected .*\. Run "node --check" /),
    })
    expect(await opening('process.exit(0)')).toMatchObject({ code: 'CompartmentCrashed' })
    await neighbourAnswers()
  })

  it('that throws any kind of value fails only that call', async () => {
    const throwers = [
      'throw null',
      'throw undefined',
      'throw Symbol("s")',
      'throw () => {}',
      'throw new Proxy({}, new Proxy({}, { get() { throw new Error("trap") } }))',
      'const e = new Error("x"); for (const key of KEYS) Object.defineProperty(e, key, { get() { throw 1 } }); throw e',
      'const e = new Error("x"); e.cause = e; throw e',
      'throw new Error("x".repeat(5e6))',
      'throw Object.assign(new Error("x"), { data: { toJSON() { throw 1 } }, code: { toString() { throw 1 } } })',
      'throw JSON.parse(\'{"message":"m","__proto__":{"code":"HostClosed"},"constructor":1}\')',
    ]
    const source = `
      const KEYS = ['message', 'code', 'cause', 'data', 'stack', 'name']
      const throwers = [${throwers.map((body) => `() => { ${body} }`).join(', ')}]
      ${running('return throwers[args.at]?.() ?? "nothing"')}
    `
    const session = await hostile(placement, source)
    for (const at of throwers.keys()) {
      const error = await refusal(session.call(invocation({ at })))
      expect(error.code, throwers[at]).toBe('ToolExecutionFailed')
      expect(error.message.length).toBeLessThanOrEqual(10_000)
    }
    expect(await session.call(invocation({ at: -1 }))).toBe('nothing')
    await neighbourAnswers()
  })

  it('that sends updates without end has to wait, and stops when its call is cancelled', LONG, async () => {
    const source = running('for (let i = 0; i < 5000; i++) runtime.progress("x"); await new Promise(() => {})')
    const session = await hostile(placement, source, { messagesPerSecond: 1_000, graceMs: 20 })
    expect(await codeOf(session.call(invocation({}, { signal: deadline(1_000) })))).toBe('ExecutionTimeout')
    expect(await session.ended).toMatchObject({ error: { code: 'CompartmentKilled', data: { limit: 'graceMs' } } })
    await neighbourAnswers()
  })

  it('that logs without end has its log truncated, and is not killed', async () => {
    const source = running('for (let i = 0; i < 20000; i++) console.log("line " + i); return "done"')
    const request = requestOf({ placement, source, limits: { logBytes: 1_000 } })
    const session = await sandbox.open(request)
    expect(await session.call(invocation())).toBe('done')
    await expect.poll(() => request.logged.at(-1)?.text ?? '').toMatch(/logged more than 1000 bytes/)
    expect(request.logged.at(-1)).toMatchObject({ level: 'warn', code: 'LogTruncated' })
  })

  it('that sends many requests at once has to wait, and is not killed', LONG, async () => {
    const source = running(
      'return (await Promise.all(Array.from({ length: 3000 }, () => runtime.env.get("A")))).length',
    )
    const services = { env: new Map([['A', '1']]), envDeclared: new Set(['A']) }
    const session = await sandbox.open(
      requestOf({ placement, source, services, limits: { outstandingRequests: 16 } }),
    )
    expect(await session.call(invocation())).toBe(3000)
  })

  it('that returns a thenable which never settles is stopped by its deadline', async () => {
    const session = await hostile(placement, running('return { then() {} }'), { graceMs: 20 })
    expect(await codeOf(session.call(invocation({}, { signal: deadline(50) })))).toBe('ExecutionTimeout')
    await session.ended
    await neighbourAnswers()
  })
})
