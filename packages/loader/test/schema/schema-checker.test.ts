import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { MessageChannel } from 'node:worker_threads'
import { ThreadImage } from '@bulkhead/kit/thread-image'
import { expect, test } from 'vitest'
import { LOADER_LIMITS } from '../../src/model/limits.ts'
import { SchemaWorkerClient, workerRights } from '../../src/schema/schema-checker.ts'
import { HomeFixture, manifestOf, toolOf } from '../home-fixture.ts'
import type { ProbedData } from './schema-probe.ts'

const large = {
  type: 'object' as const,
  properties: Object.fromEntries(Array.from({ length: 100 }, (_, index) => [
    `p${index}`, { type: 'string', minLength: 1, pattern: `^a{${index}}$` },
  ])),
}
const hurried = { ...LOADER_LIMITS, schemaMs: 1 }
/** Long enough for a busy machine. */
const unhurried = { ...LOADER_LIMITS, schemaMs: 60_000 }
const ask = (thread: SchemaWorkerClient, schema: object, limits = LOADER_LIMITS) =>
  thread.request({ limits, schema: schema as never, compiles: true })

test('refuses a schema that takes too long, and checks those behind it', async () => {
  const thread = new SchemaWorkerClient()
  const verdicts = await Promise.all([
    ask(thread, { type: 'object' }), ask(thread, large, hurried), ask(thread, { type: 'string' }),
    ask(thread, { type: 'text' }),
  ])
  expect(verdicts.map(({ verdict }) => verdict.ok)).toEqual([true, false, true, false])
  expect(verdicts[1]!.verdict).toMatchObject({
    faults: [{ message: expect.stringMatching(/more than 1 ms of CPU time|within 12 ms/) }],
  })
})

/** Behaves like the schema thread, and answers after it slept for some ms, or never. */
const sleeper = (ms: number): ThreadImage => new ThreadImage(new URL(`data:text/javascript,${encodeURIComponent(`
  import { parentPort } from 'node:worker_threads'
  const cpuMs = () => { const { user, system } = process.threadCpuUsage(); return (user + system) / 1000 }
  export const run = () => {
  parentPort.on('message', ({ id }) => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${ms})
    parentPort.postMessage({ reply: { id, verdict: { ok: true, subschemas: 1 } }, cpuMs: cpuMs() })
  })
  parentPort.postMessage({ cpuMs: cpuMs() })
  }
`)}`))

test('does not count time in which the thread does not run', async () => {
  const { verdict } = await ask(new SchemaWorkerClient(sleeper(900)), {}, { ...LOADER_LIMITS, schemaMs: 300 })
  expect(verdict).toEqual({ ok: true, subschemas: 1 })
})

test('gives up on a thread that never answers', async () => {
  const { verdict } = await ask(new SchemaWorkerClient(sleeper(2 ** 31)), {}, { ...LOADER_LIMITS, schemaMs: 10 })
  expect(verdict).toEqual({ ok: false, faults: [{ path: '', message: 'did not compile within 120 ms' }] })
})

test('checks values too', async () => {
  const thread = new SchemaWorkerClient()
  const schema = { type: 'object', properties: { a: { type: 'integer' } } } as const
  const check = (value: object) =>
    thread.request({ limits: LOADER_LIMITS, schema, compiles: true, value: value as never })
  expect(await Promise.all([check({ a: 1 }), check({ a: 'x' })])).toMatchObject([
    { verdict: { ok: true } }, { fault: { path: '/a' } },
  ])
})

test('does not block the host while it checks a large schema', async () => {
  const thread = new SchemaWorkerClient()
  await ask(thread, {})
  let turns = 0
  const counting = setInterval(() => turns++, 1)
  expect((await ask(thread, large, unhurried)).verdict.ok).toBe(true)
  clearInterval(counting)
  expect(turns).toBeGreaterThan(0)
})

test('leaves out only the extension whose schema takes too long', async () => {
  using home = new HomeFixture()
  home.extension(home.globalRoot, 'slow', manifestOf({
    id: 'slow', tools: [toolOf({ name: 'slow', inputSchema: large })],
  }))
  const { extensions, diagnostics } = await home.load({ limits: { schemaMs: 1 } })
  expect(extensions).toEqual([])
  expect(diagnostics).toMatchObject([{ stage: 'configSchema', code: 'ConfigSchemaInvalid', extensionId: 'slow' }])
  expect((await home.load({ limits: { schemaMs: 60_000 } })).extensions).toHaveLength(1)
})

test('denies the thread access to files once it handles untrusted input', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bulkhead-schema-'))
  const file = join(folder, 'file')
  writeFileSync(file, 'x')
  const { port1, port2: port } = new MessageChannel()
  const { env, execArgv } = workerRights(folder)
  const worker = new ThreadImage(new URL('schema-probe.ts', import.meta.url)).start({ port } satisfies ProbedData, {
    env, execArgv, transferList: [port],
  })
  expect(await once(worker, 'message')).toEqual([{ cpuMs: expect.any(Number) }])
  port1.postMessage(file)
  expect(await once(port1, 'message')).toMatchObject([['ERR_ACCESS_DENIED', 'ERR_ACCESS_DENIED']])
  await worker.terminate()
  rmSync(folder, { recursive: true })
})

test.each([['code', true], ['co*de', false]])('shares a compile cache in %s: %s', async (name, keeps) => {
  const folder = mkdtempSync(join(tmpdir(), 'bulkhead-schema-'))
  const env = { ...process.env, NODE_COMPILE_CACHE: join(folder, name), NODE_DISABLE_COMPILE_CACHE: undefined }
  const child = fileURLToPath(new URL('schema-child.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [child], { env })
  const { ok, added } = JSON.parse(stdout) as { readonly ok: boolean; readonly added: number }
  expect(ok).toBe(true)
  // The modules of the thread.
  expect(added > 10).toBe(keeps)
  rmSync(folder, { recursive: true })
})
