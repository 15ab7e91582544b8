import { describe, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../scripts/thoroughly.ts'
import { invocation, newSandbox, requestOf, REMOTE, running, temporaryFolder, toolOf } from './fixture.ts'

const MANY = thoroughly(1_200, 3_000)
const limits = { messagesPerSecond: thoroughly(800, 2_000) }
/** Sending all of it takes twice the grace period. */
const TOO_MUCH = { messages: 6_000, limits: { messagesPerSecond: 50, graceMs: 60_000 } }

describe.each(REMOTE)('a tool that sends many messages from a %s', (placement) => {
  it('is not killed for flooding, and its updates arrive before its result', async () => {
    const source = running(`
      for (let at = 0; at < ${MANY}; at++) at % 2 ? runtime.update({ at }) : runtime.progress(String(at))
      await new Promise((turn) => setImmediate(turn))
      return 'done'
    `)
    const session = await newSandbox().open(requestOf({ placement, source, limits }))
    const received: unknown[] = []
    const receive = (what: unknown): void => void received.push(what)
    expect(await session.call(invocation({}, { onProgress: receive, onUpdate: receive }))).toBe('done')
    expect(received).toHaveLength(MANY)
    expect(received.slice(-2)).toEqual([String(MANY - 2), { at: MANY - 1 }])
  })

  it('stops sending when it is cancelled, and its compartment stays open', LONG, async () => {
    const source = running(`
      if (args.again) return 'still here'
      for (let at = 0; at < ${TOO_MUCH.messages}; at++) runtime.update(at)
      return 'done'
    `)
    const session = await newSandbox().open(requestOf({ placement, source, limits: TOO_MUCH.limits }))
    const cancelled = new AbortController()
    const call = session.call(invocation({}, { signal: cancelled.signal, onUpdate: () => cancelled.abort() }))
    await expect(call).rejects.toMatchObject({ code: 'ToolCancelled' })
    await session.quiet
    expect(await session.call(invocation({ again: true }))).toBe('still here')
  })

  it('can write more at once than fits into the memory of its compartment', LONG, async () => {
    const workspace = await temporaryFolder()
    // The memory of a thread is its heap only.
    const sampled = { process: { writes: 24, memoryMb: 160 }, thread: { writes: 8, heapMb: 48 } }
    const { writes, ...memory } = thoroughly(sampled[placement], { writes: 60, memoryMb: 256 })
    const source = running(`
      const text = 'a'.repeat(8_000_000)
      const written = await Promise.all(
        Array.from({ length: ${writes} }, () => runtime.fs.write('out.txt', text)),
      )
      return written.every(({ bytes }) => bytes === text.length)
    `)
    const tools = [toolOf('run', { fs: { write: ['**'] } }, workspace)]
    const session = await newSandbox(workspace).open(requestOf({ placement, source, tools, limits: memory }))
    expect(await session.call(invocation())).toBe(true)
  })
})
