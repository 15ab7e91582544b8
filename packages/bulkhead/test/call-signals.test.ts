import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-signals-')) })
afterEach(() => rmSync(folder, { recursive: true }))

const isAlive = (pid: number): boolean => existsSync(`/proc/${pid}`) && !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
const BIN = join(import.meta.dirname, '../src/bin.ts')
/** Starts another program that nothing but its process group binds to it. */
const COMMAND = `sh -c 'sleep 1000 & echo $! > inner; mv inner pid; wait'`

async function start() {
  const args = ['call', 'bash', '--mode', 'yolo', '--json', '--args', JSON.stringify({ command: COMMAND })]
  const child = spawn(process.execPath, [BIN, ...args], { cwd: folder, env: { PATH: process.env['PATH'], HOME: join(folder, 'home') }, stdio: ['ignore', 'pipe', 'inherit'] })
  let stdout = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => { stdout += text })
  const ended = once(child, 'close')
  while (!existsSync(join(folder, 'pid'))) await turn()
  return { child, ended, pid: Number(readFileSync(join(folder, 'pid'), 'utf8')), stdout: () => stdout }
}

it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('%s ends a call with what it runs, and its outcome is printed', async (signal) => {
  const { child, ended, pid, stdout } = await start()
  child.kill(signal)
  expect(await ended).toEqual([1, null])
  expect(JSON.parse(stdout())).toMatchObject({ type: 'error', error: { code: 'ToolCancelled' } })
  expect(isAlive(pid)).toBe(false)
})

it('a call that is killed does not leave what it ran', async () => {
  const { child, ended, pid } = await start()
  child.kill('SIGKILL')
  expect(await ended).toEqual([null, 'SIGKILL'])
  while (isAlive(pid)) await turn()
})
