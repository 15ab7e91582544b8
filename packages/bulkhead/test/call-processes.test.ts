import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { needs } from '../../../scripts/machine.ts'
import { BUNDLED } from './bundled.ts'
import { CACHE, shareVerified } from './cache.ts'
import { writeExtension } from './extension-folder.ts'

const BIN = join(import.meta.dirname, '../src/bin.ts')
const NOTING = pathToFileURL(join(import.meta.dirname, 'fixtures/noting-starts.mjs')).href

// Without bubblewrap, the command line of a hull goes through a pipe.
const OPTIONS = { ...needs('bubblewrap'), tags: ['walls', 'long'] }

it('bulkhead call starts a process for its tool, and none for a next one', OPTIONS, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bulkhead-starts-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const home = join(folder, 'home/.bulkhead')
  mkdirSync(home, { recursive: true })
  shareVerified(home)
  // As long as a host waits before it starts a spare, and longer.
  const code = `const execute = () => new Promise((resolve) => setTimeout(resolve, 500, 'rested'))
    export default { tools: { rest: { execute } } }`
  writeExtension(home, { id: 'rest', tools: [{ name: 'rest' }] }, code)
  const env = {
    PATH: process.env['PATH'], HOME: join(folder, 'home'), XDG_CACHE_HOME: CACHE, STARTS: join(folder, 'starts'),
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
  }
  const args = [...BUNDLED, '--import', NOTING, BIN, 'call', 'rest', '--mode', 'yolo', '--json']
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder, env })
  expect(JSON.parse(stdout)).toMatchObject({ type: 'output', data: 'rested' })
  const starts = readFileSync(env.STARTS, 'utf8').split('\n').filter((line) => line.includes('--permission'))
  expect(starts).toHaveLength(1)
})
