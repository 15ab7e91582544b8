import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { firstData } from '../../../../../scripts/first-data.ts'
import { LONG } from '../../../../../scripts/thoroughly.ts'
import { Setup } from './setup.ts'

let setup: Setup
beforeEach(() => { setup = new Setup() })
afterEach(() => setup.close())

const isGone = (pid: number): boolean => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return true
  }
}

/** A host in its own process, with the process ids of its server and of the child of the server. */
async function host(end: 'exit' | 'wait') {
  const local = setup.notedRaw('child')
  const command = local.type === 'local' ? local.command : []
  const child = spawn(process.execPath, [join(import.meta.dirname, 'fixtures/host.ts'), end, ...command], {
    cwd: setup.folder, stdio: ['ignore', 'pipe', 'inherit'],
  })
  const line = await firstData(child.stdout)
  const server = Number(/started (\d+)/.exec(setup.notes[0]!)![1])
  return { child, server, started: Number(line) }
}

it('ends its servers and their children when the host exits', async () => {
  const { server, started } = await host('exit')
  await expect.poll(() => [server, started].filter((pid) => !isGone(pid))).toEqual([])
  expect(server).not.toBe(started)
})

it('lets the system end a server when the host is killed', LONG, async () => {
  const { child, server, started } = await host('wait')
  child.kill('SIGKILL')
  await expect.poll(() => isGone(server)).toBe(true)
  // When a server is killed with its host, no process remains to end what the server started.
  if (!isGone(started)) process.kill(started, 'SIGKILL')
})
