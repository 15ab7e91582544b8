import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { firstData } from '../../../../scripts/first-data.ts'
import { LONG, thoroughly } from '../../../../scripts/thoroughly.ts'
import { createHost, openSqliteStore } from '../../src/index.ts'
import { BUNDLED } from '../bundled.ts'
import { CACHE } from '../cache.ts'

const HOST = fileURLToPath(new URL('./fixtures/reporting-host.ts', import.meta.url))
const CALLS = ['a', 'b', 'c']
/** Hosts in processes of their own, beside the one in this process. */
const OTHERS = thoroughly(1, 3)

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-teller-')) })
afterEach(() => rmSync(folder, { recursive: true }))

const openStore = () => openSqliteStore({ file: join(folder, 'host.db') })

const openHost = async () =>
  createHost({ workspace: folder, home: join(folder, 'home'), cache: CACHE, store: await openStore() })

/** Writes the journal of a host whose process has ended. */
async function leaveCalls(...audited: readonly string[]): Promise<void> {
  const { pid } = spawnSync(process.execPath, ['--version'])
  const store = await openStore()
  const form = JSON.stringify({ form: 1, sessionId: 's', tool: 'hang', origin: null, effects: 'none' })
  const lines = [form, ...CALLS.map((id) => JSON.stringify([1, id, 0]))].map((line, index) => `+${index + 1} ${line}\n`)
  writeFileSync(join(folder, `host.db-notes-${pid}-0-gone`), lines.join(''))
  for (const callId of audited)
    await store.append({ type: 'ToolInvocationSucceeded', sessionId: 's', callId, at: new Date(0).toISOString() })
  await store.close()
}

async function startHost() {
  const child = spawn(process.execPath, [...BUNDLED, HOST, folder, CACHE], { stdio: ['pipe', 'pipe', 'inherit'] })
  expect(await firstData(child.stdout)).toBe('ready\n')
  return { begin: () => child.stdin.end('.'), output: text(child.stdout) }
}

it('one of several hosts that start after a crash reports interrupted calls, and the audit has them once', async () => {
  await leaveCalls()
  const hosts = await Promise.all(Array.from({ length: OTHERS }, startHost))
  for (const { begin } of hosts) begin()
  const host = await openHost()
  const here = (await host.interruptedCalls()).map(({ outcome }) => `reported ${outcome.metadata.call_id}\n`).join('')
  await host.close()
  const outputs = [here, ...await Promise.all(hosts.map(({ output }) => output))]
  expect(outputs.toSorted()).toEqual([
    ...Array<string>(OTHERS).fill(''), CALLS.map((id) => `reported ${id}\n`).join(''),
  ])
  const store = await openStore()
  const audit = (await store.records()).map(
    ({ record }) => record as { readonly callId?: string; readonly errorCode?: string },
  )
  expect(audit.filter(({ errorCode }) => errorCode === 'CallInterrupted').map(({ callId }) => callId)).toEqual(CALLS)
  expect([await store.list('call'), await store.work!.hosts()]).toEqual([[], []])
  await store.close()
})

it('a call whose end was recorded before its host was killed is not reported again', LONG, async () => {
  await leaveCalls('b')
  const host = await openHost()
  expect((await host.interruptedCalls()).map(({ outcome }) => outcome.metadata.call_id)).toEqual(['a', 'c'])
  await host.close()
  const store = await openStore()
  const audit = (await store.records()).map(
    ({ record }) => record as { readonly type: string; readonly callId?: string },
  )
  const ends = audit.filter(({ type }) => /^ToolInvocation(?:Succeeded|Failed|Cancelled)$/.test(type))
  expect(ends.map(({ callId }) => callId).toSorted()).toEqual(CALLS)
  expect(await store.work!.hosts()).toEqual([])
  await store.close()
})
