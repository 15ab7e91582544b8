import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { createHost, openSqliteStore } from '../../src/index.ts'
import { BUNDLED } from '../bundled.ts'
import { CACHE } from '../cache.ts'
import { inside } from '../command-inside.ts'
import { useThreads, writeExtension } from '../extension-folder.ts'

const HOST = fileURLToPath(new URL('./fixtures/acting-host.ts', import.meta.url))
const WRITES = { fs: { write: ['{workspace}/*.txt'] } }

let folder: string
/** What a killed host left. Each test starts from it, because a process takes more than a second of CPU time. */
let left: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-unknown-'))
  left = mkdtempSync(join(tmpdir(), 'bulkhead-left-'))
  fill()
  writeFileSync(join(folder, 'stop'), '')
  const names = ['writes', 'waits', 'keeps', 'asks', 'lies', 'in_host', 'pay']
  const keys = ['between', 'within']
  await killAt([
    ...[...names, 'calls'].map((name) => ({ id: name, name })),
    ...keys.map((idempotencyKey) => ({ id: idempotencyKey, name: 'ships', idempotencyKey })),
  ], [...names, 'nested', ...keys])
  rmSync(join(folder, 'stop'))
  cpSync(folder, left, { recursive: true })
})
beforeEach(() => {
  rmSync(folder, { recursive: true })
  cpSync(left, folder, { recursive: true })
})
afterAll(() => {
  for (const one of [folder, left]) rmSync(one, { recursive: true, force: true })
})

function fill(): void {
  useThreads(join(folder, 'home'))
  writeExtension(join(folder, 'home'), {
    id: 'acts', stateSlot: { slotVersion: '1', schema: {} },
    tools: [
      { name: 'writes', requires: WRITES }, { name: 'waits', requires: WRITES }, { name: 'keeps' },
      { name: 'asks', requires: { capabilities: ['interact'] } }, { name: 'lies', requires: WRITES, effects: 'none' },
      { name: 'calls', requires: { ...WRITES, capabilities: ['tools.call'] } }, { name: 'nested', requires: WRITES },
      { name: 'ships', requires: { fs: { read: ['{workspace}'], write: ['{workspace}/*.txt'] } } },
    ],
  }, `const forever = () => new Promise(() => {})
  const report = (runtime) => { runtime.progress(runtime.toolName); return forever() }
  const write = async (_, runtime) => {
    await runtime.fs.write(runtime.toolName + '.txt', 'done')
    return report(runtime)
  }
  export default { tools: {
    writes: { execute: write }, lies: { execute: write },
    waits: { execute: (_, runtime) => report(runtime) },
    keeps: { async execute(_, runtime) { await runtime.state.write(1); return report(runtime) } },
    asks: { async execute(_, runtime) { runtime.progress('asks'); await runtime.interact.ask('Why?') } },
    calls: { execute: (_, runtime) => runtime.tools.call('nested', {}) }, nested: { execute: write },
    ships: { async execute(_, runtime) {
      const key = runtime.call.idempotencyKey
      const stops = async (at) => {
        if (key !== at || (await runtime.fs.list('.')).every(({ name }) => name !== 'stop')) return
        runtime.progress(at)
        await forever()
      }
      const packed = await runtime.step('pack', async () => {
        const name = 'packed-' + key + '-' + crypto.randomUUID() + '.txt'
        await runtime.fs.write(name, 'x')
        return { name }
      })
      await stops('between')
      const sent = await runtime.step('send', async () => {
        await runtime.fs.write('sent-' + key + '-' + crypto.randomUUID() + '.txt', packed.name)
        await stops('within')
        return 'sent'
      })
      return { packed: packed.name, sent, key }
    } },
  } }`)
  writeExtension(join(folder, 'home'), {
    id: 'pays', tools: [{ name: 'pay', requires: WRITES, verify: 'was_paid' }, { name: 'was_paid', requires: {} }],
  }, `export default { tools: {
    pay: { async execute(_, runtime) {
      await runtime.fs.write('paid.txt', 'done')
      runtime.progress('pay')
      await new Promise(() => {})
    } },
    was_paid: { execute: () => 'yes' },
  } }`)
}

/** Kills a host when each of its calls has reported. */
async function killAt(
  calls: readonly { readonly id: string; readonly name: string; readonly idempotencyKey?: string }[],
  reports: readonly string[],
) {
  const args = [...BUNDLED, HOST, folder, CACHE, JSON.stringify(calls)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const waiting = new Set(reports)
  for await (const line of createInterface({ input: child.stdout })) {
    // No call ends by itself.
    if (line.startsWith('{')) throw new Error(`A call ended: ${line}`)
    waiting.delete(line)
    if (waiting.size === 0) break
  }
  child.kill('SIGKILL')
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  expect(child.signalCode).toBe('SIGKILL')
}

/** Returns how the next host settles the calls of the killed one, by tool or by the key of the call. */
async function settledOf() {
  const store = await openSqliteStore({ file: join(folder, 'home/bulkhead.db') })
  const host = await createHost({ workspace: folder, home: join(folder, 'home'), cache: CACHE, store })
  const interrupted = await host.interruptedCalls()
  expect(await host.interruptedCalls()).toBe(interrupted)
  await host.close()
  return new Map(interrupted.map(({ outcome: { metadata: { tool, call_id }, error } }) =>
    [tool === 'ships' ? call_id : tool, error]))
}

it('a killed host leaves calls that began nothing, and calls with an unknown outcome', async () => {
  const settled = await settledOf()
  expect(readFileSync(join(folder, 'writes.txt'), 'utf8')).toBe('done')
  const codes = Object.fromEntries([...settled].map(([tool, { code }]) => [tool, code]))
  // The question of `asks` stays open.
  expect(codes).toEqual({
    writes: 'OutcomeUnknown', waits: 'CallInterrupted', keeps: 'OutcomeUnknown', lies: 'OutcomeUnknown',
    in_host: 'OutcomeUnknown', calls: 'OutcomeUnknown', nested: 'OutcomeUnknown', pay: 'OutcomeUnknown',
    between: 'CallInterrupted', within: 'OutcomeUnknown',
  })
  expect(settled.get('writes')).toMatchObject({
    retryable: false, data: { began: [{ what: 'writes writes.txt', attempt: 1 }], effects: 'once' },
  })
  expect(settled.get('lies')).toMatchObject({ data: { began: [{ what: 'writes lies.txt' }], effects: 'once' } })
  expect(settled.get('keeps')).toMatchObject({ data: { began: [{ what: 'writes the state of the extension' }] } })
  // What a tool began through another one makes the outcome of both unknown.
  for (const tool of ['calls', 'nested'])
    expect(settled.get(tool)).toMatchObject({ data: { began: [{ what: 'writes nested.txt' }] } })
  expect(settled.get('within')).toMatchObject({
    data: { began: [{ what: expect.stringMatching(/^writes sent-/), step: 'send' }] },
  })
})

it('the next command says how interrupted calls have ended, and which tool finds out, once', async () => {
  const run = () => inside(['call', 'was_paid', '--home', 'home'], folder)
  const { code, stdout, stderr } = await run()
  expect([code, stdout]).toEqual([0, 'yes\n'])
  expect(stderr).toMatch(/^Warning: OutcomeUnknown, a call of \S+: The call of "pay" .* had begun: "writes paid.txt"/m)
  expect(stderr).toMatch(/^Find out with: bulkhead call was_paid$/m)
  expect(stderr).toMatch(/^Warning: CallInterrupted, a call of \S+: The call of "waits" .* is safe to call again\.$/m)
  expect((await run()).stderr).not.toContain('a call of')
})

it('the command line repeats no call with the same idempotency key', async () => {
  const run = (args: string, key = 'k', ...more: readonly string[]) => inside(
    ['call', 'ships', '--args', args, '--idempotency-key', key, '--mode', 'yolo', '--home', 'home', ...more], folder)
  const first = await run('{}')
  expect(first.code).toBe(0)
  expect(first.stderr).not.toContain('Nothing was run')
  const second = await run('{}')
  expect(JSON.parse(second.stdout)).toEqual(JSON.parse(first.stdout))
  expect(second.stderr).toContain('This is the recorded outcome of an earlier call with this idempotency key. Nothing')
  // Without a name or a store, each call would run.
  expect(await run('{}', '')).toMatchObject({ code: 2, stderr: expect.stringMatching(/^--idempotency-key is empty/) })
  expect(await run('{}', 'k', '--no-store')).toMatchObject({
    code: 2, stderr: expect.stringMatching(/^--idempotency-key needs the store/),
  })
  expect(filesOf('sent-k')).toHaveLength(1)
  expect(await run('{"other":1}')).toMatchObject({ code: 1, stderr: expect.stringMatching(/^IdempotencyKeyReused /m) })
})

/** Calls the tool with steps, under a key. */
async function ship(idempotencyKey: string) {
  const store = await openSqliteStore({ file: join(folder, 'home/bulkhead.db') })
  const host = await createHost({ workspace: folder, home: join(folder, 'home'), cache: CACHE, store })
  const session = await host.openSession({ mode: 'yolo' })
  const outcome = await session.call({ id: 'again', name: 'ships', arguments: {}, idempotencyKey })
  const kept = await store.list('outcome')
  await host.close()
  return { outcome, kept: kept.map(({ key }) => key.split('/').slice(2)) }
}

const filesOf = (step: string): readonly string[] => readdirSync(folder).filter((name) => name.startsWith(`${step}-`))

it('a call that was killed between its steps continues under its key, without the steps that it had done', async () => {
  const [packed] = filesOf('packed-between')
  const { outcome, kept } = await ship('between')
  expect(outcome).toMatchObject({ type: 'output', data: { packed, sent: 'sent', key: 'between' } })
  expect([filesOf('packed-between'), filesOf('sent-between').length]).toEqual([[packed], 1])
  // The outcome is left, and not the steps.
  expect(kept).toContainEqual([])
  expect((await ship('between')).outcome).toMatchObject({ data: { packed }, metadata: { replayed: true } })
})

it('a call that was killed within a step has an unknown outcome, also under its key', async () => {
  const { outcome } = await ship('within')
  expect(outcome).toMatchObject({ error: { code: 'OutcomeUnknown' }, metadata: { replayed: true } })
  expect(filesOf('sent-within')).toHaveLength(1)
})
