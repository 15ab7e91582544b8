import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { ONLY_IN_SOAK, thoroughly } from '../../../scripts/thoroughly.ts'
import { BUNDLED } from './bundled.ts'
import { CACHE, shareVerified } from './cache.ts'

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-signals-')) })
afterEach(() => rmSync(folder, { recursive: true }))

/** In a sandbox the process id differs, so the command line identifies the process. */
const isAlive = (mark: string): boolean => readdirSync('/proc').some((name) => {
  try {
    return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'utf8') === `sleep\0${mark}\0`
  } catch {
    return false
  }
})
const BIN = join(import.meta.dirname, '../src/bin.ts')
/** Starts a second program in the same process group. */
const commandOf = (mark: string): string => `sh -c 'sleep ${mark} & wait'`
let marks = 0

async function start() {
  mkdirSync(join(folder, 'home/.bulkhead'), { recursive: true })
  shareVerified(join(folder, 'home/.bulkhead'))
  const mark = `1000.${process.pid}${++marks}`
  const args = ['call', 'bash', '--mode', 'yolo', '--json', '--args', JSON.stringify({ command: commandOf(mark) })]
  const child = spawn(process.execPath, [...BUNDLED, BIN, ...args], {
    cwd: folder, stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env['PATH'], HOME: join(folder, 'home'), XDG_CACHE_HOME: CACHE,
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
    },
  })
  let stdout = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => { stdout += text })
  const ended = once(child, 'close')
  const early = ended.then(() => { throw new Error(`It ended before its command ran: ${stdout}`) })
  early.catch(() => undefined)
  while (!isAlive(mark)) await Promise.race([delay(100), early])
  return { child, ended, mark, stdout: () => stdout }
}

it.each(thoroughly<readonly NodeJS.Signals[]>(['SIGINT'], ['SIGINT', 'SIGTERM', 'SIGHUP']))(
  '%s ends a call and its processes, and the outcome is printed',
  async (signal) => {
    const { child, ended, mark, stdout } = await start()
    child.kill(signal)
    expect(await ended).toEqual([1, null])
    expect(JSON.parse(stdout())).toMatchObject({ type: 'error', error: { code: 'ToolCancelled' } })
    expect(isAlive(mark)).toBe(false)
  },
)

// The tests of the broker and of the sandbox kill a host as well.
it('a killed call leaves no process behind', ONLY_IN_SOAK, async () => {
  const { child, ended, mark } = await start()
  child.kill('SIGKILL')
  expect(await ended).toEqual([null, 'SIGKILL'])
  await expect.poll(() => isAlive(mark)).toBe(false)
})
