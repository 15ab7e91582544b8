import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import type { ApprovalRequest, BulkheadEvent, Outcome } from '@bulkhead/contract'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createHost, defineTool, type Host, type Session, type SessionOptions } from '../src/index.ts'
import { CACHE } from './cache.ts'
import { IN_THREADS, writeExtension } from './extension-folder.ts'

let folder: string
let host: Host
const events: BulkheadEvent[] = []
/** What the tool `wait` waits for. */
let waiting: PromiseWithResolvers<string>
let running = 0

/** A tool that calls another one and returns the code of its error. */
const SNEAK = `export default { tools: { sneak: { async execute({ name, args }, { tools }) {
  const { type, error, data } = await tools.call(name, args)
  return type === 'error' ? [error.code, error.data?.code ?? null] : { data }
} } } }`

beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-code-mode-')))
  mkdirSync(join(folder, 'ws'))
  for (const name of ['a', 'b', 'c']) writeFileSync(join(folder, `ws/${name}.txt`), `text of ${name}\n`)
  writeFileSync(join(folder, 'ws/dot.png'), Buffer.from('89504e470d0a1a0a', 'hex'))
  writeExtension(join(folder, 'home'), {
    id: 'sneaky', tools: [{ name: 'sneak', requires: { capabilities: ['tools.call', 'session'] } }],
  }, SNEAK)
  host = await createHost({
    workspace: join(folder, 'ws'), home: join(folder, 'home'), cache: CACHE, trust: 'declined', config: IN_THREADS,
  })
  host.on((event) => void events.push(event))
  await host.register([
    defineTool({
      name: 'wait', description: 'Waits.', input: { type: 'object', properties: {} }, mode: 'read',
      async execute(_, { signal }) {
        running++
        signal.addEventListener('abort', () => void running--)
        return Promise.race([
          waiting.promise,
          new Promise<never>((_, reject) => {
            signal.addEventListener('abort', () => reject(new Error('stopped')))
          }),
        ])
      },
    }),
    defineTool({
      name: 'my-tool', description: 'Has a name that is no identifier.', input: { type: 'object', properties: {} },
      mode: 'read', execute: () => 'mine',
    }),
  ])
})
afterAll(async () => {
  await host.close()
  rmSync(folder, { recursive: true })
})
beforeEach(() => {
  events.length = 0
  waiting = Promise.withResolvers()
  running = 0
})
const open: Session[] = []
afterEach(async () => {
  for (const session of open.splice(0)) await session.close()
})

async function opened(options: SessionOptions = {}): Promise<Session> {
  const session = await host.openSession({ codeMode: true, mode: 'yolo', ...options })
  open.push(session)
  return session
}
let calls = 0
const run = (session: Session, code: string) =>
  session.call({ id: `program${++calls}`, name: 'code_mode', arguments: { code } })
const valueOf = (outcome: Outcome) => {
  if (outcome.type === 'error') throw new Error(`${outcome.error.code}: ${outcome.error_text}`)
  return (outcome.data as { value: unknown }).value
}
const codeOf = (outcome: Outcome) => outcome.type === 'error' ? outcome.error.code : 'output'
const of = <Type extends BulkheadEvent['type']>(type: Type) =>
  events.filter((event): event is Extract<BulkheadEvent, { type: Type }> => event.type === type)
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await delay(1)
}

describe('code_mode', () => {
  it('is off unless it is asked for', async () => {
    const plain = await host.openSession({ mode: 'yolo' })
    expect(plain.tools().map(({ name }) => name)).not.toContain('code_mode')
    expect(host.tools().map(({ name }) => name)).not.toContain('code_mode')
    const outcome = await run(plain, 'return 1')
    expect(outcome).toMatchObject({
      error: { code: 'ToolsDisabled' }, error_text: expect.stringContaining('codeMode: true'),
    })
    await plain.close()
  })

  it('is the only tool that is offered, and declares the others', async () => {
    const session = await opened({ tools: ['read', 'wait', 'my-tool'] })
    const [tool, ...more] = host.offeredTools(session)
    expect([tool?.name, more]).toEqual(['code_mode', []])
    expect(tool!.description).toContain('declare const tools: {')
    expect(tool!.description).toMatch(/\n {2}read\(args: \{\n[^]*\n {4}path: string\n/)
    expect(tool!.description).toMatch(/\n {2}wait\(args\?: .*\): Promise<any>\n/)
    expect(tool!.description).toMatch(/\n {2}"my-tool"\(args\?/)
    expect(tool!.description).not.toMatch(/write\(/)
    const sub = await session.openSubagent()
    expect(host.offeredTools(sub).map(({ name }) => name)).toEqual(['code_mode'])
  })

  it('tells a program about the tools that its session may call, also if they were never listed', async () => {
    const session = await opened({
      tools: ['read', 'grep'], rules: [{ permission: 'grep', pattern: '*', action: 'deny' }],
    })
    const ask = "const of = (name) => catalog.describe(name).then(() => name, ({ code }) => code)"
    expect(
      valueOf(await run(session, `${ask}\nreturn [await of('read'), await of('grep'), await of('write')]`)),
    ).toEqual(['read', 'NotFound', 'NotFound'])
    expect(
      valueOf(await run(session, "return (await catalog.search('write files')).map(({ name }) => name)")),
    ).not.toContain('write')
  })

  it('can be used beside the other tools, and be forbidden, by configuration', async () => {
    const options = {
      workspace: join(folder, 'ws'), home: join(folder, 'none'), cache: CACHE, trust: 'declined',
    } as const
    const beside = await createHost({ ...options, config: { tools: { code_mode: { enabled: true } } } })
    const names = host.offeredTools(await opened()).length
    const session = await beside.openSession()
    const offered = beside.offeredTools(session)
    expect([names, offered.map(({ name }) => name)]).toEqual([1, expect.arrayContaining(['code_mode', 'read'])])
    expect(offered.find(({ name }) => name === 'code_mode')!.description).toContain('declare const tools')
    await beside.close()
    const never = await createHost({ ...options, config: { tools: { code_mode: { enabled: false } } } })
    await expect(never.openSession({ codeMode: true })).rejects.toMatchObject({ code: 'ToolsDisabled' })
    await never.close()
  })

  it('calls tools one after another and at once, and returns only the result', async () => {
    const session = await opened()
    const outcome = await run(session, `
      const names = (await tools.glob({ pattern: '*.txt' })).paths.toSorted()
      const texts = await Promise.all(names.map((path) => tools.read({ path })))
      const own = await tools['my-tool']()
      const { content: [image] } = await tools.read({ path: 'dot.png' })
      return { own, image: image.mimeType, all: texts.map(({ content }) => content.trim()).join(', ') }
    `)
    expect(valueOf(outcome)).toEqual({ own: 'mine', image: 'image/png', all: 'text of a, text of b, text of c' })
    const program = outcome.metadata.call_id
    const proposed = of('ToolInvocationProposed').filter(({ callId }) => callId !== program)
    expect(proposed.map(({ tool, parentCallId, program: by }) => [tool, parentCallId, by])).toEqual(
      ['glob', 'read', 'read', 'read', 'my-tool', 'read'].map((tool) => [tool, program, program]))
    expect(of('ToolInvocationDecided').filter(({ program: by }) => by === program)).toHaveLength(6)
    expect(of('ToolInvocationSucceeded')).toHaveLength(7)
  })

  it('throws the error of a call inside the program, with its line if it is not caught', async () => {
    const session = await opened({ rules: [{ permission: 'write', pattern: '*', action: 'deny' }] })
    expect(
      valueOf(
        await run(
          session,
          `
      const failed = []
      const calls = [
        () => tools.read({ path: 'none' }), () => tools.write({ path: 'x', content: '' }), () => tools.reed({}),
        () => tools.read(1), () => tools.code_mode({ code: '' }),
      ]
      for (const call of calls) {
        await call().catch((error) => failed.push([error.code, error instanceof Error, error.message.length > 5]))
      }
      return failed
    `,
        ),
      ),
    ).toEqual(
      ['NotFound', 'RuleDenied', 'ToolNotRegistered', 'InputInvalid', 'InputInvalid'].map((code) => [code, true, true]),
    )
    expect(await run(session, '\nawait tools.read({ path: "none" })'))
      .toMatchObject({ error: { code: 'ProgramFailed', data: { name: 'ToolCallError', line: 2, code: 'NotFound' } } })
  })

  it('uses the budget of the session for each call', async () => {
    const session = await opened({ budget: { calls: 3 } })
    const [first, second, third] = ['a', 'b', 'c'].map((name) => `await tools.read({ path: "${name}.txt" })`)
    expect(await run(session, `${first}; ${second}; return ${third}`))
      .toMatchObject({ error: { data: { code: 'BudgetExhausted' } } })
  })

  it('pauses while a person decides, and the person sees which tool asks', async () => {
    const asked: ApprovalRequest[] = []
    const session = await opened({
      mode: 'ask',
      approver: {
        async approve(request) {
          asked.push(request)
          await nextTurn()
          return { decision: request.argumentsText.includes('no.txt') ? 'reject' : 'once' }
        },
      },
    })
    const code = `
      await tools.write({ path: 'yes.txt', content: 'y' })
      return await tools.write({ path: 'no.txt', content: 'n' }).catch(({ code }) => code)
    `
    expect(valueOf(await run(session, code))).toBe('ApprovalDenied')
    expect(asked[0]).toMatchObject({ tool: 'write', calledBy: ['code_mode of the bundled extension code-mode 1.0.0'] })
    expect(readFileSync(join(folder, 'ws/yes.txt'), 'utf8')).toBe('y')
  })

  it('fails closed where a call would wait for an answer beyond the program', async () => {
    const session = await opened({ pause: true })
    expect(
      valueOf(
        await run(
          session, `return await tools.question({ questions: [{ question: 'Which?' }] }).catch(({ code }) => code)`,
        ),
      ),
    ).not.toBe('ClarificationNeeded')
    expect(await host.pausedCalls()).toEqual([])
  })

  it('is cancelled with its call, its session, and takes its calls with it', async () => {
    const stop = new AbortController()
    const session = await opened()
    const one = session.call(
      { id: 'one', name: 'code_mode', arguments: { code: 'await Promise.all([tools.wait(), tools.wait()])' } },
      { signal: stop.signal },
    )
    await until(() => running === 2)
    stop.abort()
    expect(codeOf(await one)).toBe('ToolCancelled')
    await until(() => running === 0)
    const two = run(session, 'await tools.wait()')
    await until(() => running === 1)
    session.cancel()
    expect(codeOf(await two)).toBe('SessionCancelled')
    await until(() => running === 0 && of('ToolInvocationCancelled').length === 5)
  })

  it('cancels the calls that are open when it ends, once each', async () => {
    const session = await opened()
    const started = run(
      session,
      'tools.wait(); tools.wait(); await tools.read({ path: "a.txt" }); await tools.read({ path: "a.txt" }); return 1',
    )
    expect(valueOf(await started)).toBe(1)
    await until(() => of('ToolInvocationCancelled').length === 2)
    expect(running).toBe(0)
  })

  it('explains which tools a program can call, at most', async () => {
    const session = await opened({ mode: 'ask' })
    const explained = async (code: string) =>
      (await session.explain({ id: 'x', name: 'code_mode', arguments: { code } })).program
    expect(await explained('const { write } = tools; return [await tools.read({}), await tools["nope"]()]')).toEqual([
      { tool: 'nope', may: [], gated: false, denied: 'There is no tool "nope".' },
      { tool: 'read', may: [`read ${folder}/ws`, `read ${folder}/ws/**/.*`], gated: false },
      { tool: 'write', may: [`write ${folder}/ws`], gated: true },
    ])
    const strict = await opened({ rules: [{ permission: 'read', pattern: '*', action: 'deny' }] })
    expect((await strict.explain({ id: 'x', name: 'code_mode', arguments: { code: 'tools.read()' } })).program)
      .toMatchObject([{ tool: 'read', denied: expect.stringMatching(/^the rule "read \*" of .* forbids it$/) }])
    expect((await explained('return tools[name]()'))!.length).toBe(session.tools().length - 1)
    expect((await session.explain({ id: 'y', name: 'read', arguments: { path: 'a.txt' } })).program).toBeUndefined()
  })
})

describe('the power of a program', () => {
  it('is that of the session, which no tool of a third party obtains', async () => {
    const session = await opened()
    const sneak = (name: string, args: object) =>
      session.call({ id: `s${++calls}`, name: 'sneak', arguments: { name, args } })
    expect(await sneak('read', { path: 'a.txt' })).toMatchObject({ data: ['CapabilityDenied', null] })
    expect(await sneak('code_mode', { code: 'return await tools.read({ path: "a.txt" })' })).toMatchObject({
      data: ['ProgramFailed', 'CapabilityDenied'],
    })
    // And a tool that a program calls has its own power, not that of the program.
    expect(valueOf(await run(session, 'return await tools.sneak({ name: "read", args: { path: "a.txt" } })')))
      .toEqual(['CapabilityDenied', null])
  })
})
