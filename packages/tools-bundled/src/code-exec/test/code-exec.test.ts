import { tmpdir } from 'node:os'
import { BulkheadError, DEFAULT_LIMITS, type CompartmentLimits, type CompartmentRequest } from '@bulkhead/contract'
import { createSandbox } from '@bulkhead/sandbox'
import { afterAll, describe, expect, it } from 'vitest'
import { thoroughly } from '../../../../../scripts/thoroughly.ts'
import { runProgram, type ProgramRun } from '../../model/programs/run-program.ts'
import { toolSession } from '../../../test/tool-session.ts'

const sandbox = createSandbox({ workspace: tmpdir(), spares: { process: 0, thread: 0 } })
afterAll(() => sandbox.close())
const requests: CompartmentRequest[] = []
const placeWith = (limits: Partial<CompartmentLimits> = {}) => ({
  open: (request: CompartmentRequest) => {
    requests.push(request)
    return sandbox.open(request)
  },
  limits: { ...DEFAULT_LIMITS, ...limits },
})
const run = (code: string, more: Partial<ProgramRun> = {}, limits: Partial<CompartmentLimits> = {}) =>
  runProgram(placeWith(limits), { code, signal: new AbortController().signal, ...more })
const failure = async (code: string, more?: Partial<ProgramRun>, limits?: Partial<CompartmentLimits>) => {
  const thrown: unknown = await run(code, more, limits).then(() => 'no failure', (error: unknown) => error)
  if (!BulkheadError.is(thrown)) throw thrown
  return { code: thrown.code, message: thrown.message, data: thrown.data }
}

describe('code_exec', () => {
  const tool = toolSession(
    'code_exec', {}, { bundled: { programs: { place: () => placeWith(), functions: () => [] } } },
  )
  it('returns the value as JSON, and the console output', async () => {
    expect(
      await tool.call({
        code: 'console.log("one", { a: 1 })\nconsole.error("two")\nawait null\nreturn [1, 2].map((n) => n * 2)',
      }),
    ).toEqual({ value: [2, 4], console: 'one { a: 1 }\ntwo' })
    expect(await tool.call({ code: '// nothing' })).toEqual({ value: null })
  })

  it('names the line of an error, and keeps the output before it', async () => {
    expect(await tool.refusal({ code: 'console.log("here")\n\nnull.a' })).toMatchObject({
      code: 'ProgramFailed',
      message: "Console:\nhere\n\nTypeError, line 3: Cannot read properties of null (reading 'a')",
      data: { name: 'TypeError', line: 3, column: 6 },
    })
  })

  it('fails without a sandbox', async () => {
    await expect(runProgram(undefined, { code: '', signal: new AbortController().signal })).rejects.toMatchObject({
      code: 'CapabilityUnavailable',
    })
    await expect(
      runProgram(
        {
          open: () => Promise.reject(new BulkheadError('NoPlaceFree', 'All places are taken.')), limits: DEFAULT_LIMITS,
        },
        { code: '', signal: new AbortController().signal },
      ),
    ).rejects.toMatchObject({ code: 'ResourceBusy' })
  })
})

const OUTPUT = {
  type: 'output', data: 1, metadata: { call_id: '', tool: '', origin: null, duration_ms: 0, attempt: 1 },
} as const

/** Each program starts a process. */
const sampled = <Case extends readonly unknown[]>(cases: readonly Case[]): readonly Case[] =>
  cases.slice(0, thoroughly(1, cases.length))

describe('a program', () => {
  it('has no powers, and nothing of it is left for the next', async () => {
    expect((await run('globalThis.left = 1; return left')).value).toBe(1)
    expect((await run(`
      const reached = await Promise.allSettled(
        [import('node:fs'), import('node:child_process'), fetch('http://127.0.0.1:1')])
      return [typeof left, typeof require, Object.keys(process.env).length, reached.map(({ status }) => status)]
    `)).value).toEqual(['undefined', 'undefined', 0, ['rejected', 'rejected', 'rejected']])
    expect(requests.at(-1)).toMatchObject({
      placement: 'process', tools: [{ grant: { capabilities: [], fs: { read: [] } } }],
    })
  })

  it.each(
    sampled([
      ['ok()\n\n  return )', 3], ['const a = ;', 1], ['const a = 1\nconst a = 2', 2], ['if (1) {', 1],
      ['import "node:fs"', 1], ['}', 1],
    ]),
  )('with the syntax error %j is refused with its place', async (code, line) => {
    const { code: kind, data } = await failure(code)
    expect({ kind, data }).toMatchObject({ kind: 'ProgramFailed', data: { name: 'SyntaxError', line } })
  })

  it.each([
    ['import fs from "node:fs"\nreturn 1', /^SyntaxError, line 1: .*without imports and exports$/],
    [
      'return await fetch("https://example.org")',
      /^BulkheadError, line 1: `fetch` is not available to a program\. Use another tool\.$/,
    ],
  ])('learns what it cannot use: %j', async (code, message) => {
    expect((await failure(code)).message).toMatch(message)
  })

  it.each(
    sampled([
      ['throw "text"', { message: 'Error: text', data: { name: 'Error' } }],
      ['throw undefined', { message: 'Error: undefined' }],
      [
        'throw Object.assign(new Error("x"), { code: "SessionCancelled", name: "\\u202eName" })',
        { message: '\\u{202e}Name, line 1: x', data: { code: 'SessionCancelled' } },
      ],
      ['throw new Proxy({}, { get() { throw 1 } })', { message: expect.stringMatching(/^The program was ended: /) }],
      [
        'throw { stack: "program.js:99999999999999999999:1", message: { toString: () => "m" } }',
        { message: 'Error: m' },
      ],
      ['const e = new Error("a"); e.stack = "program.js:7:7"; throw e', { data: { line: 7 } }],
      [
        'setTimeout(() => { throw new Error("later") }); await new Promise(() => setTimeout(() => 0, 1e6))',
        { data: { code: 'CompartmentCrashed' } },
      ],
      ['process.exit(0)', { code: 'ProgramFailed' }],
    ]),
  )('that fails by %j ends with ProgramFailed', async (code, expected) => {
    expect(await failure(code)).toMatchObject({ code: 'ProgramFailed', ...expected })
  })

  it.each(
    sampled([
      ['return () => 1', 'OutputMalformed'], ['return 1n', 'OutputMalformed'],
      ['const a = {}; a.a = a; return a', 'OutputMalformed'], ['return "x".repeat(9e6)', 'OutputTooLarge'],
      ['return Array(3e5).fill(0)', 'OutputTooLarge'],
    ]),
  )('that does %j ends with %s', async (code, expected) => {
    expect((await failure(code)).code).toBe(expected)
  })

  it('ends at a limit of memory, of computing, and with the signal', async () => {
    expect(await failure('const all = []; for (;;) all.push(new Array(1e5).fill(all.length))', {}, { heapMb: 32 }))
      .toMatchObject({ code: 'ProgramFailed', data: { code: 'CompartmentOutOfHeap' } })
    expect(await failure('console.log("loops"); await null; for (;;);', { computeMs: 200 })).toMatchObject({
      code: 'ProgramFailed', data: { code: 'ExecutionTimeout' }, message: expect.stringContaining('loops'),
    })
    const cancel = new AbortController()
    const stopped = run('await tools.begun(); for (;;);', {
      signal: cancel.signal,
      async callTool() {
        cancel.abort(new BulkheadError('TurnCancelled', 'Enough.'))
        return new Promise(() => undefined)
      },
    })
    await expect(stopped).rejects.toMatchObject({ code: 'TurnCancelled' })
  })

  it('that leaves a call open does not keep its timer', async () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const answer = Promise.withResolvers<never>()
    await run('tools.slow(); await tools.quick(); return 1', {
      computeMs: 1e6, callTool: (name) => (name === 'slow' ? answer.promise : Promise.resolve(OUTPUT)),
    })
    const before = timers()
    answer.reject(new Error('cancelled'))
    await new Promise(setImmediate)
    expect(timers()).toBeLessThanOrEqual(before)
  })

  it('has a bounded console', async () => {
    const { console } = await run('for (let i = 0; i < 2000; i++) console.log("0123456789".repeat(10)); return 1')
    expect(console.length).toBeLessThan(17_000)
    expect(console).toMatch(/\n… \d+ more characters$/)
  })

  it('cannot forge the report of a success that is none', async () => {
    expect(
      await failure('import("./index.js").then((m) => { m.default.tools.program.execute = 1 }); throw new Error("x")'),
    ).toMatchObject({ message: 'Error, line 1: x' })
  })
})
