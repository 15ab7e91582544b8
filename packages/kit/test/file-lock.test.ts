import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { LockError, withFileLock } from '@bulkhead/kit/file-lock'

const HOLDER = join(import.meta.dirname, 'fixtures/lock-holder.ts')

let folder: string
let lock: string
const ending: (() => unknown)[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'file-lock-'))
  lock = join(folder, 'some.lock')
})
afterEach(async () => {
  for (const end of ending.splice(0)) await end()
  rmSync(folder, { recursive: true })
})

function start(...args: readonly string[]) {
  const child = spawn(process.execPath, [HOLDER, lock, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  ending.push(() => child.kill('SIGKILL'))
  return child
}

it('one process at a time runs under it, and sees what the one before wrote', async () => {
  const counter = join(folder, 'counter')
  writeFileSync(counter, '0')
  const children = [start(counter, '25'), start(counter, '25')]
  const here = Array.from({ length: 25 }, () => withFileLock(lock, async () => {
    const before = Number(readFileSync(counter, 'utf8'))
    await new Promise(setImmediate)
    writeFileSync(counter, String(before + 1))
  }, { waitMs: 60_000 }))
  const ends = await Promise.all([...children.map((child) => once(child, 'close')), ...here])
  expect(ends.slice(0, 2)).toEqual([[0, null], [0, null]])
  expect(readFileSync(counter, 'utf8')).toBe('75')
})

it('a process that is killed does not keep it', async () => {
  const child = start()
  await once(child.stdout, 'data')
  await expect(withFileLock(lock, () => 'taken', { waitMs: 0 })).rejects.toMatchObject({
    name: 'LockError', isBusy: true,
  })
  const waiting = withFileLock(lock, () => 'taken', { waitMs: 60_000 })
  child.kill('SIGKILL')
  expect(await waiting).toBe('taken')
})

it('is free again after an error, and the wait for it can be ended', async () => {
  await expect(withFileLock(lock, () => { throw new Error('of the work') })).rejects.toThrow('of the work')
  const cancel = new AbortController()
  await withFileLock(lock, async () => {
    const waiting = withFileLock(lock, () => 'never', { waitMs: 60_000, signal: cancel.signal })
    cancel.abort()
    await expect(waiting).rejects.toThrow('abort')
  })
  expect(await withFileLock(lock, () => 'free')).toBe('free')
})

it('has a file that only this user can open, and says why it cannot be created', async () => {
  await withFileLock(lock, () => undefined)
  expect(statSync(lock).mode & 0o777).toBe(0o600)
  await withFileLock(join(folder, 'new/x.lock'), () => undefined)
  expect(statSync(join(folder, 'new')).mode & 0o777).toBe(0o700)
  await expect(withFileLock(join(lock, 'x.lock'), () => 1)).rejects.toThrow(LockError)
})

it('writes nothing, so that it works on a full disk', () => {
  const code = 'const { withFileLock } = await import(process.argv[1]); '
    + "await withFileLock(process.argv[2], () => console.log('held'))"
  // No write to any file is allowed.
  const { stdout, stderr } = spawnSync('sh', [
    '-c', 'ulimit -f 0; exec "$0" "$@"', process.execPath, '--input-type=module', '-e', code,
    fileURLToPath(import.meta.resolve('@bulkhead/kit/file-lock')), lock,
  ], { encoding: 'utf8' })
  expect([stdout, stderr, statSync(lock).size]).toEqual(['held\n', '', 0])
})
