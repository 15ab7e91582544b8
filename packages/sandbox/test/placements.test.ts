import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { CompartmentRequest, CompartmentServices, InteractionRequest } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { BulkheadError, PLACEMENTS } from '@bulkhead/contract'
import { describe, expect, it } from 'vitest'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import { codeOf, invocation, newSandbox, refusal, requestIn, running, temporaryFolder, toolOf } from './fixture.ts'

describe.each(PLACEMENTS)('a compartment in the placement %s', (placement) => {
  it('passes arguments as large as a file may be, and limits what is returned separately', async () => {
    const workspace = await temporaryFolder()
    const bytes = 8 * 1024 * 1024
    const source = running(`
      const { bytes } = await runtime.fs.write('all', new Uint8Array(args.bytes).fill(200))
      const read = await runtime.fs.read('all')
      return [bytes, read.length, read.at(-1)]
    `)
    const tools = [toolOf('run', { fs: { read: ['**'], write: ['**'] } }, workspace)]
    const session = await newSandbox(workspace).open(await requestIn({ placement, source, tools, limits: { outputBytes: 100 } }))
    expect(await session.call(invocation({ bytes }))).toEqual([bytes, bytes, 200])
  })

  it('throws such an error when a tool may only read files and tries to write', async () => {
    const workspace = await temporaryFolder()
    const source = running('return { has: "write" in runtime.fs, written: await runtime.fs[args.way]("x.txt") }')
    const session = await newSandbox(workspace).open(await requestIn({ placement, source, tools: [toolOf('run', { fs: { read: ['**'] } }, workspace)] }))
    expect(await refusal(session.call(invocation({ way: 'write' })))).toMatchObject({
      code: 'CapabilityDenied', data: { undeclared: 'runtime.fs.write' }, message: expect.stringContaining('Declare `requires.fs.write` with patterns'),
    })
    expect(await codeOf(session.call(invocation({ way: 'readText' })))).toBe('NotFound')
  })

  it('runs the phases that the code has, with its configuration, and skips the others', async () => {
    const request = await requestIn({
      placement,
      config: { greeting: 'hello' },
      source: `export default {
        init({ config, log }) { log.info('init ' + config.greeting) },
        dispose({ log }) { throw new Error('cannot go') },
        tools: { run: { execute() {} } },
      }`,
    })
    const session = await newSandbox().open(request)
    expect([...session.offers.phases]).toEqual(['init', 'dispose'])
    await session.lifecycle('init')
    await session.lifecycle('activate')
    expect(request.logged.map((entry) => entry.text)).toEqual(['init hello'])
    const error = await refusal(session.lifecycle('dispose'))
    expect([error.code, error.message]).toEqual(['LifecycleFailure', 'cannot go'])
  })

  it('derives approval keys where the code offers it', async () => {
    const source = `export default { tools: {
      run: { execute() {}, deriveApprovalKey: (args) => 'city:' + args.city },
      odd: { execute() {}, deriveApprovalKey: () => 7 },
    } }`
    const session = await newSandbox().open(await requestIn({ placement, source, tools: [toolOf('run'), toolOf('odd')] }))
    const { signal } = new AbortController()
    expect([...session.offers.approvalKeys]).toEqual(['run', 'odd'])
    expect(await session.deriveApprovalKey('run', { city: 'Oslo' }, signal)).toBe('city:Oslo')
    expect(await codeOf(session.deriveApprovalKey('odd', {}, signal))).toBe('ApprovalKeyDerivationFailed')
  })

  it('reads and writes files inside the grant only', async () => {
    const workspace = await temporaryFolder()
    await writeFile(join(workspace, 'note.txt'), 'grüße')
    const tools = [toolOf('run', { fs: { read: ['**'], write: ['out.txt'] } }, workspace)]
    const source = running(`
      const { fs } = runtime
      const read = await fs.readText('note.txt')
      const bytes = (await fs.read('note.txt', { start: 2, end: 4 })).length
      const written = await fs.write('out.txt', read + '!')
      const refused = await fs.write('other.txt', 'x').then(() => 'written', (error) => error.code)
      const { kind } = await fs.stat('out.txt')
      const names = (await fs.list('.')).map((entry) => entry.name)
      return { read, bytes, written, refused, kind, names }
    `)
    const session = await newSandbox(workspace).open(await requestIn({ placement, source, tools }))
    expect(await session.call(invocation())).toEqual({
      read: 'grüße',
      bytes: 2,
      written: { bytes: 8, created: true },
      refused: 'CapabilityDenied',
      kind: 'file',
      names: ['note.txt', 'out.txt'],
    })
    expect(await readFile(join(workspace, 'out.txt'), 'utf8')).toBe('grüße!')
  })

  it('reads declared environment variables, and refuses the others', async () => {
    const source = running('return Promise.all(args.names.map((name) => runtime.env.get(name).catch((error) => error.code)))')
    const services = { env: new Map([['TOKEN', 'abc']]), envDeclared: new Set(['TOKEN', 'UNSET']) }
    const session = await newSandbox().open(await requestIn({ placement, source, services }))
    expect(
      await session.call(invocation({ names: ['TOKEN', 'UNSET', 'PATH'] })),
    ).toEqual(['abc', 'EnvNameNotSet', 'EnvNameUndeclared'])
  })

  it('reads and writes state through the host', async () => {
    let slot: Json = null
    const services = { state: { read: async () => slot, write: async (data: Json) => void (slot = data) } }
    const source = running(
      'const before = await runtime.state.read(); await runtime.state.write({ count: (before?.count ?? 0) + 1 }); return before',
    )
    const session = await newSandbox().open(await requestIn({ placement, source, services }))
    expect(await session.call(invocation())).toBeNull()
    expect(await session.call(invocation())).toEqual({ count: 1 })
    expect(slot).toEqual({ count: 2 })
  })

  it('asks the user through the host, and reports when there is none', async () => {
    const tools = [toolOf('run', { capabilities: ['interact'] })]
    const source = running('return { name: await runtime.interact.ask("Who?"), sure: await runtime.interact.confirm("Sure?") }')
    const asked: InteractionRequest[] = []
    const interact: NonNullable<CompartmentRequest['services']['interact']> = async (_callId, question) => {
      asked.push(question)
      return { status: 'accepted', value: question.kind === 'Confirm' ? true : 'Ada' }
    }
    const session = await newSandbox().open(await requestIn({ placement, source, tools, services: { interact } }))
    expect(await session.call(invocation())).toEqual({ name: 'Ada', sure: true })
    expect(asked).toEqual([{ kind: 'Ask', prompt: 'Who?' }, { kind: 'Confirm', prompt: 'Sure?' }])
    const alone = await newSandbox().open(await requestIn({ placement, source, tools }))
    expect(await codeOf(alone.call(invocation()))).toBe('InteractionUnavailable')
  })

  it('rejects a result that is not JSON or too large', async () => {
    const source = running(`
      const cycle = {}
      cycle.self = cycle
      return { map: new Map(), big: 'x'.repeat(5000), cycle, gone: { a: undefined } }[args.what]
    `)
    const session = await newSandbox().open(await requestIn({ placement, source, limits: { outputBytes: 4096 } }))
    expect(await codeOf(session.call(invocation({ what: 'map' })))).toBe('OutputMalformed')
    expect(await codeOf(session.call(invocation({ what: 'cycle' })))).toBe('OutputMalformed')
    expect(await codeOf(session.call(invocation({ what: 'big' })))).toBe('OutputTooLarge')
    expect(await session.call(invocation({ what: 'gone' }))).toEqual({})
    expect(await session.call(invocation({ what: 'absent' }))).toBeNull()
  })

  it('rejects an aborted call at once with its reason, and aborts the signal of the tool', async () => {
    const request = await requestIn({
      placement,
      source: running(`
        await new Promise((resolve) => { runtime.signal.addEventListener('abort', resolve); runtime.progress('waiting') })
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

  it('runs at most concurrentCalls calls at once, and the others afterwards', async () => {
    const source = `
      let running = 0, most = 0
      export default { tools: { run: { async execute(args, runtime) {
        most = Math.max(most, ++running)
        await runtime.interact.confirm('Go on?')
        running--
        return most
      } } } }
    `
    const held: (() => void)[] = []
    const interact: CompartmentServices['interact'] = () => new Promise((resolve) => {
      held.push(() => resolve({ status: 'accepted', value: true }))
    })
    const tools = [toolOf('run', { capabilities: ['interact'] })]
    const limits = { concurrentCalls: 2 }
    const session = await newSandbox().open(await requestIn({ placement, source, tools, limits, services: { interact } }))
    const calls = Array.from({ length: 34 }, () => session.call(invocation()))
    for (let left = calls.length; left > 0; left -= 2) {
      await expect.poll(() => held.length, { interval: 1 }).toBe(2)
      for (const goOn of held.splice(0)) goOn()
    }
    const answers = await Promise.all(calls)
    expect(Math.max(...answers as number[])).toBe(2)
    expect(session.inFlight).toBe(0)
  })

  it('rejects a call at once when the queue is full', async () => {
    const source = running('await new Promise((resolve) => runtime.signal.addEventListener("abort", resolve))')
    const session = await newSandbox().open(await requestIn({ placement, source, limits: { concurrentCalls: 1 } }))
    const controller = new AbortController()
    const waiting = Array.from({ length: 17 }, () => session.call(invocation({}, { signal: controller.signal })))
    expect(await codeOf(session.call(invocation()))).toBe('TooManyCalls')
    controller.abort()
    expect(new Set(await Promise.all(waiting.map(codeOf)))).toEqual(new Set(['ToolCancelled']))
  })

  it('rejects pending calls when it is closed, and later calls too', async () => {
    const session = await newSandbox().open(
      await requestIn({ placement, source: running('runtime.progress("on"); await new Promise(() => {})') }),
    )
    const started = Promise.withResolvers<void>()
    const answer = codeOf(session.call(invocation({}, { onProgress: () => started.resolve() })))
    await started.promise
    await session.close(new BulkheadError('HostClosed', 'bye'))
    expect(await answer).toBe('HostClosed')
    expect(await session.ended).toEqual({ kind: 'closed' })
    expect(await codeOf(session.call(invocation()))).toBe('HostClosed')
    await session.close()
  })

  it('is not opened when the code does not match the manifest', async () => {
    const sandbox = newSandbox()
    const open = async (source: string): Promise<string> => codeOf(sandbox.open(await requestIn({ placement, source })))
    const mismatches = [
      'export default { tools: { other: { execute() {} } } }',
      'export default { tools: { run: {} } }',
      'export default 1',
      'export default { tools: { run: { requires: { fs: { read: ["**"] } }, execute() {} } } }',
      'export default { tools: { run: { input: { type: "array" }, execute() {} } } }',
    ]
    // The same code checks them in a thread and in a process. Each opening starts one.
    const tried = thoroughly(placement === 'process' ? mismatches.slice(0, 1) : mismatches, mismatches)
    for (const source of tried) expect(await open(source), source).toBe('ExportsMismatch')
  })
})
