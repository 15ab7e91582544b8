import type { CompartmentLimits, CompartmentRequest, LogEntry } from '@bulkhead/contract'
import { BulkheadError, COMPARTMENT_LIMITS } from '@bulkhead/contract'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { KINDS } from '../src/wire/message.ts'
import { invocation, newSandbox, refusal, requestOf, running, temporaryFolder, toolOf } from './fixture.ts'
import { ScriptedPeer } from './scripted-peer.ts'

type Name = keyof CompartmentLimits
type Provoked = Promise<BulkheadError | LogEntry>

type Request = CompartmentRequest & { readonly logged: LogEntry[] }

const inProcess = (source: string, limits: Partial<CompartmentLimits>): Request =>
  requestOf({ placement: 'process', source, limits })
/** For limits that the host checks in the same way for both placements. A thread starts faster. */
const inThread = (source: string, limits: Partial<CompartmentLimits>): Request =>
  requestOf({ placement: 'thread', source, limits })

/** The error that the caller of a tool with this body gets. */
const called = (body: string, limits: Partial<CompartmentLimits>, request = inThread): Provoked =>
  newSandbox().open(request(running(body), limits)).then((session) => refusal(session.call(invocation())))

/** The error for code that bypasses the client-side limit and sends so many requests at once. */
async function sent(limits: Partial<CompartmentLimits>, questions: number): Provoked {
  const peer = new ScriptedPeer()
  const session = await peer.session(inThread('', limits))
  const answer = refusal(session.call(invocation()))
  await peer.next('execute')
  peer.send(...Array.from({ length: questions }, (_, id) => [KINDS.broker.request, id, 'state.read', ['c']]))
  return answer
}

/** The error for a call that may use files, commands and other tools. */
async function granted(body: string, limits: Partial<CompartmentLimits>): Provoked {
  const workspace = await temporaryFolder()
  await writeFile(join(workspace, 'a.txt'), 'two')
  const requires = { fs: { read: ['**'], write: ['**'] }, shell: [{ cmd: 'cat' }], capabilities: ['tools.call'] }
  const request = requestOf({
    placement: 'thread', source: running(body), limits, tools: [toolOf('run', requires, workspace)],
    services: { callTool: async () => ({ type: 'output', data: null, metadata: {} }) as never },
  })
  return refusal((await newSandbox(workspace).open(request)).call(invocation()))
}

/** `savedBytes` is a limit of the host, and is tested there. */
const PROVOKED: Readonly<Record<Exclude<Name, 'savedBytes'>, () => Provoked>> = {
  heapMb: () => called('const all = []; for (;;) all.push({ a: [1, 2, 3] })', { heapMb: 32 }, inProcess),
  memoryMb: () => called(
    'const all = []; for (;;) try { all.push(Buffer.alloc(16 * 1024 * 1024, 1)) } catch {}', { memoryMb: 192 },
    inProcess,
  ),
  cpuMs: () => called('for (;;);', { cpuMs: 300 }, inProcess),
  async phaseMs() {
    const source = 'export default { tools: { run: { execute() {} } }, init: () => new Promise(() => undefined) }'
    return refusal((await newSandbox().open(inThread(source, { phaseMs: 100 }))).lifecycle('init'))
  },
  async startMs() {
    const sandbox = newSandbox('/', 1)
    // With a spare that is ready, all of startMs is left for the import.
    await sandbox.warm('thread')
    return refusal(sandbox.open(inThread('for (;;);', { startMs: 300 })))
  },
  async graceMs() {
    const session = await newSandbox().open(inThread(running('for (;;);'), { graceMs: 20 }))
    const given = new AbortController()
    const call = refusal(session.call(invocation({}, { signal: given.signal })))
    given.abort(new BulkheadError('ExecutionTimeout', 'Its time is over.'))
    expect((await call).code).toBe('ExecutionTimeout')
    const end = await session.ended
    if (end.kind === 'closed') throw new Error('It was not ended for what it did.')
    return end.error
  },
  async concurrentCalls() {
    const session = await newSandbox().open(
      inThread(running('await new Promise(() => undefined)'), { concurrentCalls: 1 }),
    )
    const before = Array.from({ length: 17 }, () => refusal(session.call(invocation())))
    const error = await refusal(session.call(invocation()))
    await session.close()
    await Promise.all(before)
    return error
  },
  concurrentCommands: () => granted(
    'return Promise.all(Array.from({ length: 100 }, () => runtime.shell.run("cat")))', { concurrentCommands: 1 },
  ),
  messageBytes: () => called('return "x".repeat(5_000)', { messageBytes: 4_096 }),
  messagesPerSecond: () => sent({ messagesPerSecond: 100 }, 300),
  outstandingRequests: () => sent({ outstandingRequests: 100 }, 101),
  outputBytes: () => called('return "x".repeat(101)', { outputBytes: 100 }),
  async logBytes() {
    const request = inThread(running('runtime.log.info("x".repeat(200))'), { logBytes: 100 })
    await (await newSandbox().open(request)).call(invocation())
    return request.logged.at(-1)!
  },
  readBytes: () => granted('return runtime.fs.readText("a.txt")', { readBytes: 2 }),
  writtenBytes: () => granted('return runtime.fs.write("b.txt", "two")', { writtenBytes: 2 }),
  sentBytes: () => granted('return runtime.shell.run("cat", [], { input: "two" })', { sentBytes: 2 }),
  nestedCalls: () => granted('for (;;) await runtime.tools.call("other", {})', { nestedCalls: 2 }),
}

it.each(Object.entries(PROVOKED))('%s has its own error code, and the error names the limit', async (name, provoke) => {
  const met = await provoke()
  expect(met.code).toBe(COMPARTMENT_LIMITS[name as Name].error)
  if (met instanceof BulkheadError) expect(met.data).toMatchObject({ limit: name })
})
