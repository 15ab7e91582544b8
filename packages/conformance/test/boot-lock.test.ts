import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { acquireLock } from '../../../scripts/boot/lock.mjs'
import { identityOf, isRunning } from '../../../scripts/boot/process-identity.mjs'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-lock-'))
  file = join(folder, 'lock')
})
afterEach(() => rmSync(folder, { recursive: true }))

const holders = (): unknown => JSON.parse(readFileSync(file, 'utf8'))
const neverWaits = (pid: number | undefined): void => {
  throw new Error(`waits for ${pid}`)
}

/** A process that runs until it is killed, seen while it ran. */
async function startProcess() {
  const program = 'process.stdout.write("up"); setInterval(() => {}, 1e6)'
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'ignore'] })
  await once(child.stdout, 'data')
  const identity = identityOf(child.pid!)
  const stop = async () => {
    child.kill('SIGKILL')
    await once(child, 'close')
  }
  return { identity, stop }
}

it('is held by one and free after its release', async () => {
  const lock = await acquireLock(file, neverWaits)
  expect(holders()).toEqual([identityOf(process.pid)])
  lock.release()
  expect(existsSync(file)).toBe(false)
  const again = await acquireLock(file, neverWaits)
  again.release()
})

it('is taken over from a process that has ended', async () => {
  const { identity, stop } = await startProcess()
  await stop()
  writeFileSync(file, JSON.stringify([identity]))
  const lock = await acquireLock(file, neverWaits)
  expect(holders()).toEqual([identityOf(process.pid)])
  lock.release()
})

it('is waited for while its owner runs, and taken when that ends', async () => {
  const { identity, stop } = await startProcess()
  writeFileSync(file, JSON.stringify([identity]))
  const waitedFor = Promise.withResolvers<number | undefined>()
  const acquired = acquireLock(file, waitedFor.resolve)
  expect(await waitedFor.promise).toBe(identity.pid)
  await stop()
  const lock = await acquired
  lock.release()
})

it('is waited for while a child of its dead owner runs', async () => {
  const owner = await startProcess()
  const child = await startProcess()
  await owner.stop()
  writeFileSync(file, JSON.stringify([owner.identity, child.identity]))
  const waitedFor = Promise.withResolvers<number | undefined>()
  const acquired = acquireLock(file, waitedFor.resolve)
  expect(await waitedFor.promise).toBe(child.identity.pid)
  await child.stop()
  const lock = await acquired
  lock.release()
})

it('is not owed to a process that only has the number of its owner', async () => {
  const { identity, stop } = await startProcess()
  expect(isRunning(identity)).toBe(true)
  expect(isRunning({ ...identity, born: 'long ago' })).toBe(false)
  writeFileSync(file, JSON.stringify([{ ...identity, born: 'long ago' }]))
  const lock = await acquireLock(file, neverWaits)
  lock.release()
  await stop()
})

it('is taken over when its maker died before signing it', async () => {
  writeFileSync(file, '')
  const aMinuteAgo = Date.now() / 1000 - 60
  utimesSync(file, aMinuteAgo, aMinuteAgo)
  const lock = await acquireLock(file, neverWaits)
  expect(holders()).toEqual([identityOf(process.pid)])
  lock.release()
})

it('goes to one at a time when many find it abandoned', async () => {
  const { identity, stop } = await startProcess()
  await stop()
  writeFileSync(file, JSON.stringify([identity]))
  let inside = 0
  const turns = Array.from({ length: 5 }, async () => {
    const lock = await acquireLock(file, () => {})
    inside += 1
    expect(inside).toBe(1)
    await new Promise(setImmediate)
    inside -= 1
    lock.release()
  })
  await Promise.all(turns)
})
