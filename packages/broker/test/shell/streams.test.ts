import { execFile, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { Fifos } from '../../src/shell/streams.ts'

afterEach(() => vi.unstubAllEnvs())

const MKFIFO = ['/usr/bin/mkfifo', '/bin/mkfifo'].find((path) => existsSync(path))!

it('leaves no pipes behind during a shortage of descriptors', LONG, async () => {
  const fixture = join(import.meta.dirname, 'fixtures/crowded-pipes.ts')
  const script = 'ulimit -n 512; exec "$0" --no-warnings "$@"'
  const { stdout } = await promisify(execFile)('/bin/sh', ['-c', script, process.execPath, fixture, MKFIFO])
  expect(JSON.parse(stdout)).toEqual([['made', 0], ['ResourceBusy', 0], ['ResourceBusy', 0], ['ResourceBusy', 0]])
})

describe('the folder for pipes', () => {
  it('is another one if the temporary folder is missing', async () => {
    vi.stubEnv('TMPDIR', '/nowhere/at/all')
    const pipes = await Fifos.open(2, MKFIFO)
    expect(pipes.readEnd(0)).toBeTypeOf('number')
    await pipes.close()
  })

  it('is reported with all candidates if none is writable', LONG, () => {
    const script = `
      const { Fifos } = require(${JSON.stringify(join(import.meta.dirname, '../../src/shell/streams.ts'))})
      const opened = Fifos.open(1, ${JSON.stringify(MKFIFO)})
      opened.then(() => console.log('made'), ({ code, message }) => console.log(code, message))`
    // The permission model of Node simulates a read-only system. Only the cache of compiled sources is writable.
    const cache = process.env['NODE_COMPILE_CACHE']
    const { stdout } = spawnSync(process.execPath, [
      '--no-warnings', '--permission', '--allow-fs-read=*', '--allow-child-process',
      ...(cache === undefined ? [] : [`--allow-fs-write=${cache}`]), '-e', script,
    ], {
      encoding: 'utf8', env: { TMPDIR: '/a/place', ...(cache !== undefined && { NODE_COMPILE_CACHE: cache }) },
    })
    expect(stdout).toMatch(/^ToolExecutionFailed .*\/a\/place.*Set TMPDIR/)
  })
})
