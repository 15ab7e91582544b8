import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LONG } from '../../../../../../scripts/thoroughly.ts'
import { AccountServer } from '../fixtures/account-server.ts'
import { now, resolved, Setup } from '../setup.ts'

const PROCESS = join(import.meta.dirname, '../fixtures/calling-process.ts')

let setup: Setup
let server: AccountServer
const ending: (() => unknown)[] = []
/** For both tests, because each process takes half a second of CPU time. */
let processes: readonly Awaited<ReturnType<typeof start>>[]
beforeAll(async () => {
  setup = new Setup()
  server = await new AccountServer().open()
  const servers = setup.open({ credentials: join(setup.folder, 'oauth'), cache: join(setup.folder, 'cache') })
  servers.offer(resolved({ ship: { type: 'remote', url: server.url } }))
  await servers.signIn('ship', { show: (page) => void fetch(page), signal: now() })
  processes = await Promise.all([start(), start()])
  expect(await Promise.all(processes.map(({ call }) => call()))).toEqual(['called', 'called'])
})
afterAll(async () => {
  for (const end of ending.splice(0)) await end()
  await setup.close()
  server.close()
})

/** A process with the same credentials. */
async function start() {
  const args = ['--no-warnings', PROCESS, server.url, join(setup.folder, 'oauth'), join(setup.folder, 'cache')]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  ending.push(() => child.kill('SIGKILL'))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const next = async () => (await lines.next()).value as string | undefined
  expect(await next()).toBe('ready')
  const call = () => {
    child.stdin.write('call\n')
    return next()
  }
  return { child, call }
}

/** Resolves when the server has rejected so many requests. */
async function rejected(count: number): Promise<void> {
  const before = server.rejections
  while (server.rejections < before + count) await once(server.events, 'rejected')
}

it('two processes spend a refresh token once: the other one uses the tokens of the first', async () => {
  const before = server.issued
  for (const round of [1, 2, 3]) {
    server.valid.clear()
    const both = rejected(2)
    server.beforeToken = () => both
    expect(await Promise.all(processes.map(({ call }) => call()))).toEqual(['called', 'called'])
    expect(server.issued).toBe(before + round)
  }
})

it('a process that is killed during a refresh does not stop the other', LONG, async () => {
  const [first, second] = processes as [Awaited<ReturnType<typeof start>>, Awaited<ReturnType<typeof start>>]
  const before = server.issued
  server.valid.clear()
  const asked = Promise.withResolvers<void>()
  const gone = once(first.child, 'close')
  server.beforeToken = () => {
    asked.resolve()
    server.beforeToken = async () => undefined
    return gone
  }
  void first.call()
  await asked.promise
  const outcome = second.call()
  first.child.kill('SIGKILL')
  expect(await outcome).toBe('called')
  expect(server.issued).toBe(before + 1)
})
