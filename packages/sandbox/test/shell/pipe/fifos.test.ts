import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const MKFIFO = ['/usr/bin/mkfifo', '/bin/mkfifo'].find((path) => existsSync(path))!

it('pipes for which there are too few descriptors leave none behind', async () => {
  const fixture = join(import.meta.dirname, 'fixtures/crowded-pipes.ts')
  const script = 'ulimit -n 512; exec "$0" --no-warnings "$@"'
  const { stdout } = await promisify(execFile)('/bin/sh', ['-c', script, process.execPath, fixture, MKFIFO])
  expect(JSON.parse(stdout)).toEqual([['made', 0], ['ResourceBusy', 0], ['ResourceBusy', 0], ['ResourceBusy', 0]])
})
