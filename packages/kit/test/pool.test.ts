import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { loadImages, PoolError, WorkPool, type PoolFault, type PoolOptions } from '../src/pool.ts'
import { ThreadImage } from '../src/thread-image.ts'
import type { Question } from './fixtures/pool-work.ts'

const ENTRY = new URL('fixtures/pool-work.ts', import.meta.url)
const options: PoolOptions = { heapMb: 64, threads: 1, waiting: 2, tasksPerThread: 1_000 }
/** For a machine that is busy. */
const LONG = { deadlineMs: 60_000 }

const poolOf = (changed: Partial<PoolOptions> = {}) =>
  new WorkPool<Question, unknown>(ENTRY, { ...options, ...changed })
const echo = (value: unknown): Question => ({ kind: 'echo', value })
const faultOf = (work: Promise<unknown>): Promise<PoolFault | undefined> =>
  work.then(
    () => undefined, (error: unknown) => (error instanceof PoolError ? error.fault : Promise.reject(error as Error)),
  )

const gates: Int32Array[] = []
afterEach(() => gates.splice(0).forEach(open))
/** A task that runs until its gate is opened. */
const gated = () => {
  const gate = new Int32Array(new SharedArrayBuffer(8))
  gates.push(gate)
  return { gate, question: { kind: 'wait', gate: gate.buffer } satisfies Question }
}
const open = (gate: Int32Array): void => {
  Atomics.store(gate, 0, 1)
  Atomics.notify(gate, 0)
}
const begun = async (gate: Int32Array): Promise<void> => await expect.poll(() => gate[1], { timeout: 30_000 }).toBe(1)

it('answers, and reports what a task throws', async () => {
  const pool = poolOf()
  expect(await pool.run(echo({ a: [1] }), LONG)).toEqual({ a: [1] })
  await expect(pool.run({ kind: 'throw' }, LONG)).rejects.toMatchObject({ fault: 'failed', message: 'in the work' })
  expect(await pool.run(echo(2), LONG)).toBe(2)
})

it('lets a bounded number of tasks wait, refuses the next one, and loses none', async () => {
  const pool = poolOf()
  const { gate, question } = gated()
  const first = pool.run(question, LONG)
  await begun(gate)
  const waiting = [1, 2].map((value) => pool.run(echo(value), LONG))
  await expect(pool.run(echo(3), LONG)).rejects.toMatchObject({
    fault: 'busy', message: expect.stringContaining('2 others wait'),
  })
  open(gate)
  expect(await Promise.all([first, ...waiting])).toEqual(['through', 1, 2])
  expect(await pool.run(echo(4), LONG)).toBe(4)
})

it('runs as many tasks at once as it has threads', async () => {
  const pool = poolOf({ threads: 2 })
  const [one, other] = [gated(), gated()]
  const both = [one, other].map(({ question }) => pool.run(question, LONG))
  await begun(one.gate)
  await begun(other.gate)
  open(one.gate)
  open(other.gate)
  expect(await Promise.all(both)).toEqual(['through', 'through'])
})

it('does not stop when a task is needed for another one', async () => {
  const pool = poolOf()
  const chained = async (depth: number): Promise<unknown> =>
    depth === 0 ? 'end' : await pool.run(echo(depth), LONG).then(() => chained(depth - 1))
  // As many chains as the pool takes: one works, two wait.
  expect(await Promise.all([chained(3), chained(3), chained(3)])).toEqual(['end', 'end', 'end'])
})

describe('a task ends', () => {
  const spinning = () => {
    const turns = new Int32Array(new SharedArrayBuffer(4))
    return { turns, question: { kind: 'spin', turns: turns.buffer } satisfies Question }
  }
  const isStill = async (turns: Int32Array): Promise<void> => {
    let last = -1
    await expect.poll(() => {
      const before = last
      last = turns[0]!
      return last === before
    }, { timeout: 30_000 }).toBe(true)
  }

  it('ends with its signal, also after it has begun', async () => {
    const pool = poolOf()
    const { turns, question } = spinning()
    const cancel = new AbortController()
    const work = pool.run(question, { ...LONG, signal: cancel.signal })
    await expect.poll(() => turns[0], { timeout: 30_000 }).not.toBe(0)
    cancel.abort(new Error('not needed any more'))
    await expect(work).rejects.toThrow('not needed any more')
    await isStill(turns)
    expect(await pool.run(echo(1), LONG)).toBe(1)
  })

  it('ends with its signal while it waits', async () => {
    const pool = poolOf()
    const { gate, question } = gated()
    const first = pool.run(question, LONG)
    await begun(gate)
    const cancel = new AbortController()
    const second = pool.run({ kind: 'count' }, { ...LONG, signal: cancel.signal })
    const third = pool.run({ kind: 'count' }, LONG)
    cancel.abort(new Error('not needed any more'))
    await expect(second).rejects.toThrow('not needed any more')
    open(gate)
    expect(await Promise.all([first, third])).toEqual(['through', 1])
    await expect(pool.run(echo(1), { ...LONG, signal: cancel.signal })).rejects.toThrow('not needed any more')
  })

  it('ends at its deadline, and those behind it are worked on', async () => {
    const pool = poolOf()
    const { turns, question } = spinning()
    const [late, next] = [pool.run(question, { deadlineMs: 50 }), pool.run(echo(1), LONG)]
    await expect(late).rejects.toMatchObject({ fault: 'deadline', message: 'it took longer than 50 ms' })
    await isStill(turns)
    expect(await next).toBe(1)
  })

  it('ends when it has used its processor time, which does not pass while it does not run', async () => {
    const pool = poolOf()
    const { turns, question } = spinning()
    expect(await faultOf(pool.run(question, { ...LONG, cpuMs: 50 }))).toBe('cpu')
    await isStill(turns)
    expect(await pool.run({ kind: 'sleep', ms: 900 }, { ...LONG, cpuMs: 300 })).toBe('awake')
  })

  it('ends when it needs too much memory, and no other task does', async () => {
    const pool = poolOf({ heapMb: 16 })
    const [large, next] = [pool.run({ kind: 'memory' }, LONG), pool.run(echo(1), LONG)]
    await expect(large).rejects.toMatchObject({ fault: 'memory', message: expect.stringContaining('16 MB') })
    expect(await next).toBe(1)
  })

  it('ends with its thread', async () => {
    const pool = poolOf()
    expect(await faultOf(pool.run({ kind: 'exit' }, LONG))).toBe('ended')
    expect(await pool.run(echo(1), LONG)).toBe(1)
  })
})

it('gives a task no files, network, processes, threads, environment or input', async () => {
  const pool = poolOf()
  const denied = 'ERR_ACCESS_DENIED'
  const expected = {
    read: denied, here: denied, own: denied, write: denied, connect: denied, lookup: denied, spawn: denied,
    thread: denied, environment: [], input: null,
  }
  expect(await pool.run({ kind: 'grants' }, LONG)).toEqual(expected)
  // A second thread, with code from memory.
  expect(await faultOf(pool.run({ kind: 'exit' }, LONG))).toBe('ended')
  expect(await pool.run({ kind: 'grants' }, LONG)).toEqual(expected)
})

it('replaces a thread after a number of tasks', async () => {
  const counting = async (tasksPerThread: number): Promise<unknown[]> => {
    const pool = poolOf({ tasksPerThread })
    const counts: unknown[] = []
    for (let task = 0; task < 4; task++) counts.push(await pool.run({ kind: 'count' }, LONG))
    return counts
  }
  expect(await Promise.all([1, 3, 4].map(counting))).toEqual([[1, 1, 1, 1], [1, 2, 3, 1], [1, 2, 3, 4]])
})

it('reports code that cannot be loaded', async () => {
  const missing = new WorkPool(new URL('fixtures/no-such-work.ts', import.meta.url), options)
  await expect(missing.load()).rejects.toMatchObject({
    fault: 'start', message: expect.stringContaining('no-such-work'),
  })
  expect(await faultOf(missing.run(1, LONG))).toBe('start')
})

it('reports that no thread can be started, each time', async () => {
  const pool = poolOf({ execArgv: ['--no-such-option'] })
  expect(await faultOf(pool.run(echo(1), LONG))).toBe('start')
  expect(await faultOf(pool.run(echo(1), LONG))).toBe('start')
})

it('reads its code once, and runs that after the files have changed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bulkhead-pool-'))
  const write = (what: string): void => {
    writeFileSync(join(folder, 'part.js'), `export const part = '${what}'`)
    writeFileSync(
      join(folder, 'work.js'), `import { part } from './part.js'; export const run = () => part + ' ${what}'`,
    )
  }
  write('first')
  const pool = new WorkPool<null, string>(pathToFileURL(join(folder, 'work.js')), { ...options, tasksPerThread: 1 })
  await pool.load()
  expect(pool.isLoaded).toBe(true)
  write('second')
  expect(await pool.run(null, LONG)).toBe('first first')
  expect(await pool.run(null, LONG)).toBe('first first')
  rmSync(folder, { recursive: true })
})

it('reads the code of all threads at once, and leaves out what cannot be loaded', async () => {
  const good = [poolOf(), poolOf()]
  const missing = new ThreadImage(new URL('fixtures/no-such-work.ts', import.meta.url))
  const alone = new ThreadImage(ENTRY)
  await expect(loadImages()).rejects.toMatchObject({ message: expect.stringContaining('no-such-work') })
  expect([...good, alone, missing].map(({ isLoaded }) => isLoaded)).toEqual([true, true, true, false])
  expect(await good[0]!.run(echo(1), LONG)).toBe(1)
})

it('does not read its code from disk again after a thread was idle', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bulkhead-pool-'))
  const file = join(folder, 'work.mjs')
  const code = (what: string) => `let count = 0; export const run = () => ++count + ' ${what}'`
  writeFileSync(file, code('first'))
  const pool = new WorkPool<null, string>(pathToFileURL(file), { ...options, idleMs: 1 })
  expect(await pool.run(null, LONG)).toBe('1 first')
  writeFileSync(file, code('second'))
  await expect.poll(() => pool.run(null, LONG), { timeout: 30_000, interval: 200 }).toBe('1 first')
  rmSync(folder, { recursive: true })
})
