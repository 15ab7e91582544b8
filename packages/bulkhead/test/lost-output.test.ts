import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import { BUNDLED } from './bundled.ts'

let folder: string
/** Writing to it fails, as on a full disk. */
let unwritable: number
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-lost-'))
  writeFileSync(join(folder, 'out'), '')
  unwritable = openSync(join(folder, 'out'), 'r')
})
afterEach(() => {
  closeSync(unwritable)
  rmSync(folder, { recursive: true })
})

const start = (args: readonly string[], stdout: number | 'pipe', stderr: number | 'pipe') =>
  spawn(process.execPath, [...BUNDLED, join(import.meta.dirname, '../src/bin.ts'), ...args], {
    cwd: folder, env: { HOME: join(folder, 'home'), NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] },
    stdio: ['ignore', stdout, stderr],
  })

it.each(
  thoroughly([[['tools', '--help']]], [[['tools', '--help']], [['--help']], [['tools']], [['tools', '--json']]]),
)('%j reports that standard output cannot be written', async (args) => {
  const child = start(args, unwritable, 'pipe')
  const [stderr, [code]] = await Promise.all([text(child.stderr!), once(child, 'close')])
  expect({ code, stderr }).toEqual({
    code: 1, stderr: expect.stringMatching(/^Cannot write to standard output: E[A-Z]+: .*\n$/),
  })
})

it('an unwritable standard error does not change the exit code', async () => {
  const child = start(['fly'], 'pipe', unwritable)
  const [stdout, [code]] = await Promise.all([text(child.stdout!), once(child, 'close')])
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
})
