import { BulkheadError, PLACEMENTS } from '@bulkhead/contract'
import { describe, expect, it } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import {
  codeOf, invocation, newSandbox, refusal, requestIn, running, temporaryFolder, toolOf, type RequestOptions,
} from './fixture.ts'

// `verifySandbox` of @bulkhead/conformance verifies what every sandbox must do. This is what ours does beyond that.

describe.each(PLACEMENTS)('a compartment in the placement %s', (placement) => {
  const open = async (options: Omit<RequestOptions, 'placement'>, workspace?: string) =>
    newSandbox(workspace).open(await requestIn({ placement, ...options }))

  it('passes arguments as large as a file may be, and limits what is returned separately', LONG, async () => {
    const workspace = await temporaryFolder()
    const bytes = 8 * 1024 * 1024
    const source = running(`
      const { bytes } = await runtime.fs.write('all', new Uint8Array(args.bytes).fill(200))
      const read = await runtime.fs.read('all')
      return [bytes, read.length, read.at(-1)]
    `)
    const tools = [toolOf('run', { fs: { read: ['**'], write: ['**'] } }, workspace)]
    const session = await open({ source, tools, limits: { outputBytes: 100 } }, workspace)
    expect(await session.call(invocation({ bytes }))).toEqual([bytes, bytes, 200])
  })

  it('says what to declare when a tool that may only read files tries to write', async () => {
    const workspace = await temporaryFolder()
    const source = running('return { has: "write" in runtime.fs, written: await runtime.fs[args.way]("x.txt") }')
    const session = await open({ source, tools: [toolOf('run', { fs: { read: ['**'] } }, workspace)] }, workspace)
    expect(await refusal(session.call(invocation({ way: 'write' })))).toMatchObject({
      code: 'CapabilityDenied', data: { undeclared: 'runtime.fs.write' },
      message: expect.stringContaining('Declare `requires.fs.write` with patterns'),
    })
    expect(await codeOf(session.call(invocation({ way: 'readText' })))).toBe('NotFound')
  })

  it('rejects an aborted call at once with its reason, and aborts the signal of the tool', async () => {
    const request = await requestIn({
      placement,
      source: running(`
        await new Promise((resolve) => {
          runtime.signal.addEventListener('abort', resolve)
          runtime.progress('waiting')
        })
        runtime.log.info('noticed')
      `),
    })
    const session = await newSandbox().open(request)
    const controller = new AbortController()
    const answer = session.call(invocation({}, {
      signal: controller.signal,
      onProgress: () => controller.abort(new BulkheadError('TurnCancelled', 'enough')),
    }))
    expect(await refusal(answer)).toMatchObject({ code: 'TurnCancelled', message: 'enough' })
    await expect.poll(() => request.logged.map((entry) => entry.text)).toEqual(['noticed'])
    await expect.poll(() => session.inFlight).toBe(0)
  })

  it('rejects a call at once when the queue is full', async () => {
    const source = running('await new Promise((resolve) => runtime.signal.addEventListener("abort", resolve))')
    const session = await open({ source, limits: { concurrentCalls: 1 } })
    const controller = new AbortController()
    const waiting = Array.from({ length: 17 }, () => session.call(invocation({}, { signal: controller.signal })))
    expect(await codeOf(session.call(invocation()))).toBe('TooManyCalls')
    controller.abort()
    expect(new Set(await Promise.all(waiting.map(codeOf)))).toEqual(new Set(['ToolCancelled']))
  })
})
